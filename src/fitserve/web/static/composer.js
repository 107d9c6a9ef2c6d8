// The box in which questions are written: text, pictures, what it will cost, send and stop.
import { choose, clear, send, startAt, stop } from "./chats.js";
import { write } from "./draft.js";
import { Icon, IconButton } from "./icons.js";
import { Meter, useMeter } from "./meter.js";
import { Problem } from "./problem.js";
import { store } from "./store.js";
import { t } from "./texts.js";
import { Tray } from "./tray.js";
import { add } from "./tray_store.js";
import { html, useEffect, useLayoutEffect, useRef, useState } from "./view.js";

const touch = matchMedia("(pointer: coarse)");
const FILES = "image/*,.heic,.heif,.avif,.tif,.tiff,.bmp";

export function Composer({ state }) {
  const { chat, draft, pictures, asksPicture, problem } = state;
  const field = useRef(null);
  const files = useRef(null);
  const answering = !!chat?.answering;
  const meter = useMeter(state);

  useEffect(() => { if (!touch.matches) field.current.focus(); }, [chat?.id]);
  useLayoutEffect(() => grow(field.current), [draft]);

  const submit = async (policy) => {
    await send(policy);
    field.current?.focus();
  };
  const keys = (event) => {
    if (event.isComposing || event.keyCode === 229) return; // Enter ends what an input method composes
    if (event.key === "Enter" && !event.shiftKey && !touch.matches) {
      event.preventDefault();
      submit();
    } else if (event.key === "ArrowUp" && !draft && chat?.turns.length && !answering) {
      event.preventDefault();
      store.set({ editing: { turn: chat.turns.length - 1 } });
    }
  };
  const paste = (event) => {
    const { files: pasted, types } = event.clipboardData;
    if (!pasted.length || types.includes("text/plain")) return; // a table from an office program is text first
    event.preventDefault();
    add(pasted);
  };

  return html`
    <form class="composer" aria-label=${t("page.question")} onSubmit=${(event) => { event.preventDefault(); submit(); }}>
      ${problem && html`<${Problem} problem=${problem}><${IconButton} icon="close" label=${t("page.close")} class="quiet dismiss" onClick=${() => store.set({ problem: null })} /></${Problem}>`}
      ${asksPicture && html`<${NewPicture} answer=${submit} />`}
      <${NearlyFull} meter=${meter} />
      <div class="box">
        <${Tray} pictures=${pictures} />
        <textarea id="question" ref=${field} rows="1" enterkeyhint="send" aria-label=${t("page.question")} placeholder=${t("page.type_here")}
          value=${draft} onInput=${(event) => write(event.target.value)} onKeyDown=${keys} onPaste=${paste}></textarea>
        <div class="row">
          <input ref=${files} id="files" type="file" class="unseen" multiple accept=${FILES} tabindex="-1" aria-hidden="true" onChange=${(event) => { add(event.target.files); event.target.value = ""; }} />
          <${IconButton} icon="attach" label=${t("page.attach")} class="quiet attach" onClick=${() => files.current.click()} />
          <${IconButton} icon="clear" label=${t("page.clear")} class="quiet clear" disabled=${!chat?.turns.length || chat.since === chat.turns.length} onClick=${() => { clear(); field.current.focus(); }} />
          <${Meter} meter=${meter} />
          ${answering
            ? html`<button type="button" class="strong round stop" aria-label=${t("page.stop")} title=${t("page.stop")} onClick=${() => { stop(); field.current.focus(); }}><${Icon} name="stop" /></button>`
            : html`<button type="submit" class="strong round send" aria-label=${t("page.send")} title=${t("page.send")} disabled=${!draft.trim() && !pictures.length}><${Icon} name="send" /></button>`}
        </div>
      </div>
    </form>`;
}

function grow(field) {
  field.style.height = "auto";
  field.style.height = `${Math.min(field.scrollHeight, innerHeight * 0.4)}px`;
}

function NewPicture({ answer }) {
  const [remember, setRemember] = useState(true);
  const first = useRef(null);
  useEffect(() => first.current.focus(), []);
  const say = async (policy) => {
    if (remember) await choose({ new_picture: policy });
    answer(policy);
  };
  return html`
    <div class="asking" role="group" aria-label=${t("page.new_picture")}>
      <p>${t("page.new_picture")}</p>
      <button ref=${first} type="button" class="plain" onClick=${() => say("start_over")}>${t("page.new_topic")}</button>
      <button type="button" class="plain" onClick=${() => say("keep")}>${t("page.compare")}</button>
      <label><input type="checkbox" checked=${remember} onChange=${(event) => setRemember(event.target.checked)} /> ${t("page.remember")}</label>
    </div>`;
}

function NearlyFull({ meter }) {
  if (!meter?.nearly_full) return null;
  return html`
    <div class="asking" role="status">
      <p>${meter.too_many_pictures ? t("page.too_many_pictures", { pictures: meter.pictures, most: meter.most_pictures }) : t("page.nearly_full")}</p>
      ${meter.since_after_drop !== null && html`<button type="button" class="plain" onClick=${() => startAt(meter.since_after_drop)}>${t("page.drop_oldest")}</button>`}
    </div>`;
}
