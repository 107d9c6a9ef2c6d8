// One question and its answer, with what can be done to each.
import { Answer } from "./answer.js";
import { again, edit, undo } from "./chats.js";
import { copy } from "./clipboard.js";
import { Icon, IconButton } from "./icons.js";
import { Problem } from "./problem.js";
import { store } from "./store.js";
import { t } from "./texts.js";
import { html, useLayoutEffect, useRef, useState } from "./view.js";

// `chat` only for the last turn: what concerns the whole chat is said there.
export function Turn({ turn, at, chat, editing }) {
  const growing = !!chat?.answering;
  const told = chat?.problem || chat?.notices.includes(turn.unfinished); // how it ended stands below already
  return html`
    <article class=${`turn ${turn.sent ? "" : "unsent"}`} aria-label=${t("page.turn", { number: at + 1 })}>
      ${editing ? html`<${Editor} turn=${turn} at=${at} />` : html`<${Question} turn=${turn} at=${at} />`}
      <div class="reply" aria-busy=${String(growing)}>
        ${turn.thinking && html`<${Thinking} text=${turn.thinking} growing=${growing && !turn.answer} />`}
        ${growing && !turn.answer && !turn.thinking && html`<p class="waiting"><span class="dots" aria-hidden="true"></span>${t("page.waiting")}</p>`}
        ${turn.answer && html`<${Answer} text=${turn.answer} growing=${growing} />`}
        ${turn.unfinished && !told && html`<p class="notice unfinished">${turn.unfinished}</p>`}
        ${chat?.problem && html`<${Problem} problem=${chat.problem}><button type="button" class="plain" onClick=${() => again()}>${t("page.try_again")}</button></${Problem}>`}
        ${chat?.notices.map((notice) => html`<p class="notice">${notice}</p>`)}
        ${!growing && html`<${Foot} turn=${turn} chat=${chat} />`}
      </div>
    </article>`;
}

const Question = ({ turn, at }) => html`
  <div class="question">
    ${turn.pictures.length > 0 && html`<ul class="pictures">${turn.pictures.map((picture) => html`<li><${Sent} picture=${picture} /></li>`)}</ul>`}
    <p class="said">${turn.question}</p>
    <div class="tools">
      <${Copy} text=${turn.question} label=${t("page.copy_question")} />
      <${IconButton} icon="edit" label=${t("page.edit")} onClick=${() => store.set({ editing: { turn: at } })} />
    </div>
  </div>`;

const Sent = ({ picture }) => html`
  <figure>
    <a href=${picture.url} target="_blank" rel="noopener"><img src=${picture.url} alt=${picture.name} width=${picture.width} height=${picture.height} /></a>
    <figcaption>${[picture.cost, ...picture.notices].map((line) => html`<span>${line}</span>`)}</figcaption>
  </figure>`;

const Thinking = ({ text, growing }) => html`
  <details class="thinking">
    <summary>${growing ? html`<span class="dots" aria-hidden="true"></span>${t("page.thinking_now")}` : t("page.thinking")}</summary>
    <div class="thought">${text}</div>
  </details>`;

function Foot({ turn, chat }) {
  const setAside = chat && turn.pictures.length > 0 && chat.since > 0 && chat.since === chat.turns.length - 1;
  return html`
    <div class="tools">
      ${turn.answer && html`<${Copy} text=${turn.answer} label=${t("page.copy_answer")} />`}
      ${chat && !chat.problem && html`<${IconButton} icon="again" label=${t("page.again")} onClick=${() => again()} />`}
      ${chat?.can_undo && html`<${IconButton} icon="undo" label=${t("page.undo")} onClick=${undo} />`}
      ${setAside && html`<button type="button" class="quiet small" onClick=${() => again(true)}>${t("page.compare_after_all")}</button>`}
      ${turn.figures && html`<span class="figures">${turn.figures}</span>`}
    </div>`;
}

function Copy({ text, label }) {
  const [done, setDone] = useState(false);
  const click = async () => {
    await copy(text);
    setDone(true);
    store.set({ announced: t("page.copied") });
    setTimeout(() => setDone(false), 1500);
  };
  return html`<${IconButton} icon=${done ? "done" : "copy"} label=${done ? t("page.copied") : label} onClick=${click} />`;
}

function Editor({ turn, at }) {
  const [text, setText] = useState(turn.question);
  const [pictures, setPictures] = useState(turn.pictures);
  const field = useRef(null);
  useLayoutEffect(() => { field.current.focus(); field.current.setSelectionRange(text.length, text.length); }, []);
  const submit = (event) => {
    event?.preventDefault();
    if (text.trim() || pictures.length) edit(at, text, pictures.map((picture) => picture.id));
  };
  const cancel = () => { store.set({ editing: null }); document.getElementById("question")?.focus(); };
  const keys = (event) => {
    if (event.isComposing || event.keyCode === 229) return;
    if (event.key === "Enter" && !event.shiftKey) submit(event);
    else if (event.key === "Escape") { event.stopPropagation(); cancel(); }
  };
  return html`
    <form class="question editor" onSubmit=${submit}>
      ${pictures.length > 0 && html`<ul class="pictures">${pictures.map((picture) => html`
        <li><img src=${picture.url} alt=${picture.name} width=${picture.width} height=${picture.height} />
          <${IconButton} icon="close" label=${t("page.remove", { name: picture.name })} class="quiet remove" onClick=${() => setPictures(pictures.filter((one) => one !== picture))} /></li>`)}</ul>`}
      <textarea ref=${field} aria-label=${t("page.edit")} rows="3" value=${text} onInput=${(event) => setText(event.target.value)} onKeyDown=${keys}></textarea>
      <div class="row"><button type="submit" class="strong">${t("page.send")}</button><button type="button" class="plain" onClick=${cancel}>${t("page.cancel")}</button></div>
    </form>`;
}
