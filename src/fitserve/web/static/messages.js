// The conversation: its turns, where the context begins, and the way down to the newest word.
import { add } from "./tray_store.js";
import { startAt } from "./chats.js";
import { Icon } from "./icons.js";
import { isDemo, t } from "./texts.js";
import { Turn } from "./turn.js";
import { html, useEffect, useLayoutEffect, useMemo, useRef, useState } from "./view.js";

const NEAR_PX = 90; // so near to the end, the page follows what is written

export function Messages({ state }) {
  const { chat, editing, place } = state;
  const list = useRef(null);
  const follows = useRef(true);
  const [away, setAway] = useState(false);
  const turns = chat?.turns ?? [];

  const follow = () => { if (follows.current && list.current) list.current.scrollTop = list.current.scrollHeight; };
  useLayoutEffect(follow);
  useEffect(() => { follows.current = true; setAway(false); }, [chat?.id, turns.length]);
  useEffect(() => { // pictures, formulas and colours come after the text
    const observer = new ResizeObserver(follow); // it still looks once when the list has gone
    observer.observe(list.current.firstElementChild);
    return () => observer.disconnect();
  }, []);
  const scrolled = () => {
    if (!list.current) return;
    const { scrollHeight, scrollTop, clientHeight } = list.current;
    follows.current = scrollHeight - scrollTop - clientHeight < NEAR_PX;
    setAway(!follows.current);
  };
  const toEnd = () => { follows.current = true; follow(); };

  return html`
    <div class="messages" ref=${list} onScroll=${scrolled} tabindex="0" role="region" aria-label=${t("page.conversation")} data-answering=${String(!!chat?.answering)} data-turns=${turns.length} data-state=${chat ? `${chat.id}:${chat.version}` : ""}>
      <div class="sheet">
        ${!turns.length && (place.id && !chat ? null : html`<${Invitation} demo=${isDemo || state.status?.model === "demo"} />`)}
        ${turns.map((turn, at) => html`<${Fixed} key=${at} turn=${turn} at=${at} chat=${at === turns.length - 1 || at === chat.since ? chat : chat.id} since=${chat.since} editing=${editing?.turn === at} last=${at === turns.length - 1} />`)}
        ${chat && chat.since > 0 && chat.since === turns.length && html`<${Beginning} chat=${chat} />`}
      </div>
    </div>
    ${away && html`<button type="button" class="to-end" aria-label=${t("page.to_end")} title=${t("page.to_end")} onClick=${toEnd}><${Icon} name="down" /></button>`}`;
}

// A turn is drawn again only when something of it has changed.
const Fixed = ({ turn, at, chat, since, editing, last }) =>
  useMemo(() => html`
    ${since > 0 && at === since && html`<${Beginning} chat=${chat} />`}
    <${Turn} turn=${turn} at=${at} chat=${last ? chat : null} editing=${editing} />`, [turn, at, chat, since, editing, last]);

function Beginning({ chat }) {
  const before = Math.min(chat.since_before ?? 0, chat.since - 1);
  return html`
    <div class="beginning" role="separator"><span>${t("page.not_sent_above")}</span>
      <button type="button" class="quiet small" onClick=${() => startAt(Math.max(0, before))}>${t("page.bring_back")}</button>
    </div>`;
}

function Invitation({ demo }) {
  const sample = async () => {
    const picture = await (await fetch("/static/sample.png")).blob();
    add([new File([picture], "sample.png", { type: "image/png" })]);
    document.getElementById("question").focus();
  };
  return html`
    <div class="invitation">
      <h2>${t("page.invitation")}</h2>
      <p>${t("page.invitation_how")}</p>
      ${demo && html`<p>${t("page.demo_asks")}</p>`}
      <button type="button" class="plain" onClick=${sample}>${t("page.try_sample")}</button>
    </div>`;
}
