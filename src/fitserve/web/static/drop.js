// Files may be dropped anywhere on the page.
import { add } from "./tray_store.js";
import { t } from "./texts.js";
import { html, useEffect, useState } from "./view.js";

const carriesFiles = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files");

export function DropZone() {
  const [over, setOver] = useState(false);
  useEffect(() => {
    let depth = 0;
    const enter = (event) => { if (carriesFiles(event)) { depth += 1; setOver(true); } };
    const leave = (event) => { if (carriesFiles(event)) { depth = Math.max(0, depth - 1); if (!depth) setOver(false); } };
    const allow = (event) => carriesFiles(event) && event.preventDefault();
    const drop = (event) => {
      if (!event.dataTransfer?.files.length) return;
      event.preventDefault();
      depth = 0;
      setOver(false);
      add(event.dataTransfer.files);
      document.getElementById("question")?.focus();
    };
    const events = { dragenter: enter, dragleave: leave, dragover: allow, drop };
    for (const [name, act] of Object.entries(events)) addEventListener(name, act);
    return () => { for (const [name, act] of Object.entries(events)) removeEventListener(name, act); };
  }, []);
  return over && html`<div class="drop" aria-hidden="true"><p>${t("page.drop_here")}</p></div>`;
}
