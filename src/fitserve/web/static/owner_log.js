// A log, followed: its last lines, then what is added, by what matters or by a word. Lines are text, never markup.
import { deployment, owner } from "./owner_api.js";
import { Problem } from "./problem.js";
import { t } from "./texts.js";
import { html, useEffect, useLayoutEffect, useRef, useState } from "./view.js";

const EVERY_MS = 1500;
const MOST = 2000; // lines kept in the page

export function Log({ name }) {
  const [of, setOf] = useState("engine");
  const [trouble, setTrouble] = useState(false);
  const [word, setWord] = useState("");
  const [follows, setFollows] = useState(true);
  const { lines, problem } = useLines(name, { of, trouble, word }, follows);
  return html`
    <section aria-label=${t("owner.log")}>
      <h3>${t("owner.log")}</h3>
      <div class="filters">
        <label>${t("owner.log_of")} <select value=${of} onChange=${(event) => setOf(event.target.value)}>${["engine", "runner", "page"].map((one) => html`<option value=${one}>${t(`owner.log_${one}`)}</option>`)}</select></label>
        <label><input type="checkbox" checked=${trouble} onChange=${(event) => setTrouble(event.target.checked)} /> ${t("owner.log_trouble")}</label>
        <label>${t("owner.log_word")} <input type="search" value=${word} onInput=${(event) => setWord(event.target.value)} /></label>
        <label><input type="checkbox" checked=${follows} onChange=${(event) => setFollows(event.target.checked)} /> ${t("owner.log_follow")}</label>
      </div>
      ${problem && html`<${Problem} problem=${problem} />`}
      <${Lines} lines=${lines} follows=${follows} />
    </section>`;
}

function useLines(name, { of, trouble, word }, follows) {
  const [told, setTold] = useState({ lines: [], problem: null });
  useEffect(() => {
    let ended = false;
    let again = 0;
    let place = "";
    const look = async () => {
      try {
        if (!document.hidden && (follows || !place)) {
          const asked = new URLSearchParams({ of, trouble: trouble ? "1" : "0", word, place });
          const part = await owner("GET", deployment(name, `/logs?${asked}`));
          if (ended) return;
          if (!place || part.lines.length) setTold((before) => ({ lines: [...(place ? before.lines : []), ...part.lines].slice(-MOST), problem: null }));
          place = part.place;
        }
      } catch (problem) {
        if (!ended) setTold((before) => ({ ...before, problem }));
      }
      if (!ended) again = setTimeout(look, EVERY_MS);
    };
    again = setTimeout(look, word ? 250 : 0); // while somebody types
    return () => { ended = true; clearTimeout(again); };
  }, [name, of, trouble, word, follows]);
  return told;
}

function Lines({ lines, follows }) {
  const place = useRef(null);
  useLayoutEffect(() => { if (follows) place.current.scrollTop = place.current.scrollHeight; }, [lines, follows]);
  return html`
    <pre class="log" ref=${place} tabindex="0" role="log" aria-live="off" aria-label=${t("owner.log")} translate="no">${
      lines.length ? lines.map((line) => html`<span class=${line.level.toLowerCase()}>${line.text}${"\n"}</span>`) : t("owner.log_empty")
    }</pre>`;
}
