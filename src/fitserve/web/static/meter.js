// What fills the model's window: a bar, and on demand its parts. The draft counts too.
import { api } from "./api.js";
import { count, t } from "./texts.js";
import { html, useEffect, useState } from "./view.js";

const PAUSE_MS = 350; // after the last change of the draft

export function useMeter({ chat, draft: text, pictures, settings }) {
  const [drafted, setDrafted] = useState(null);
  const ids = pictures.filter((one) => one.state === "ready").map((one) => one.picture.id);
  useEffect(() => {
    if (!chat || chat.answering || (!ids.length && !text.trim())) {
      setDrafted(null);
      return undefined;
    }
    const draft = { text, pictures: ids, new_picture: settings.new_picture };
    const timer = setTimeout(() => api("POST", `chats/${chat.id}/meter`, draft).then(setDrafted, () => {}), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [chat?.id, chat?.version, text, ids.join(), settings.new_picture]);
  return drafted ?? chat?.meter;
}

export function Meter({ meter }) {
  if (!meter) return html`<span class="grow"></span>`;
  const about = meter.estimated ? "page.meter_about" : "page.meter";
  const line = meter.window ? t(about, { used: count(meter.used), window: count(meter.window) }) : t("page.meter_unknown", { used: count(meter.used) });
  return html`
    <details class="meter grow over">
      <summary title=${t("page.meter_what")}>
        ${meter.window && html`<progress class=${meter.nearly_full ? "full" : ""} max=${meter.window} value=${Math.min(meter.used, meter.window)} aria-label=${t("page.meter_what")}></progress>`}
        <span>${line}</span>
      </summary>
      <dl>${meter.parts.map((part) => html`<div><dt>${name(part)}</dt><dd>${part.estimated ? "≈ " : ""}${count(part.tokens)}</dd></div>`)}</dl>
    </details>`;
}

const name = ({ kind, turn, name: file }) => t(`page.part_${kind}`, { number: turn === null ? "" : turn + 1, name: file });
