// The chats that were, and what a reader has chosen.
import { choose, guarded, newChat, remove, removeAll, rename } from "./chats.js";
import { copy } from "./clipboard.js";
import { Icon, IconButton } from "./icons.js";
import { address } from "./places.js";
import { narrow, store } from "./store.js";
import { language, moment, t } from "./texts.js";
import { html, useState } from "./view.js";

export function Drawer({ state }) {
  const { drawer, chats, place, settings } = state;
  const asked = chats.filter((chat) => chat.turns);
  const close = () => narrow() && store.set({ drawer: false });
  return html`
    ${drawer && html`<button type="button" class="veil" tabindex="-1" aria-hidden="true" onClick=${close}></button>`}
    <nav class=${`drawer ${drawer ? "open" : ""}`} aria-label=${t("page.chats")} hidden=${!drawer}>
      <div class="row">
        <button type="button" class="plain new" onClick=${() => { newChat(); close(); document.getElementById("question")?.focus(); }}><${Icon} name="plus" /> ${t("page.new_chat")}</button>
        <${IconButton} icon="close" label=${t("page.close")} class="quiet narrow-only" onClick=${close} />
      </div>
      ${asked.length
        ? html`<ul class="chats">${asked.map((chat) => html`<${Entry} key=${chat.id} chat=${chat} current=${place.id === chat.id} close=${close} />`)}</ul>`
        : html`<p class="empty">${t("page.no_chats")}</p>`}
      <${Settings} settings=${settings} any=${chats.length > 0} />
    </nav>`;
}

function Entry({ chat, current, close }) {
  const [naming, setNaming] = useState(false);
  if (naming) return html`<li><${Name} chat=${chat} done=${() => setNaming(false)} /></li>`;
  return html`
    <li class=${current ? "current" : ""}>
      <a href=${address({ name: "chat", id: chat.id })} aria-current=${current ? "page" : null} onClick=${close}>
        <span class="name">${chat.name || t("page.untitled")}</span>
        <span class="when">${chat.answering ? t("page.answering") : moment(chat.updated)}</span>
      </a>
      <details class="more over">
        <summary aria-label=${t("page.more", { name: chat.name })} title=${t("page.more", { name: chat.name })}>⋯</summary>
        <div class="menu">
          <a class="item" href=${`/api/chats/${chat.id}/export?as=markdown&language=${language}`} download>${t("page.export_markdown")}</a>
          <a class="item" href=${`/api/chats/${chat.id}/export?as=json`} download>${t("page.export_json")}</a>
          <a class="item" href=${`/api/chats/${chat.id}/export?as=zip&language=${language}`} download>${t("page.export_zip")}</a>
          <button type="button" class="item" onClick=${() => copyChat(chat.id)}>${t("page.copy_chat")}</button>
          <button type="button" class="item" onClick=${() => setNaming(true)}>${t("page.rename")}</button>
          <${Sure} class="item danger" label=${t("page.delete")} sure=${t("page.delete_sure")} act=${() => remove(chat.id)} />
        </div>
      </details>
    </li>`;
}

const copyChat = guarded(async (id) => {
  const response = await fetch(`/api/chats/${id}/export?as=markdown&language=${language}`);
  await copy(await response.text());
  store.set({ announced: t("page.copied") });
});

function Name({ chat, done }) {
  const save = (event) => {
    event.preventDefault();
    rename(chat.id, event.target.title.value);
    done();
  };
  const keys = (event) => event.key === "Escape" && (event.stopPropagation(), done());
  return html`<form class="naming" onSubmit=${save}><input name="title" aria-label=${t("page.rename")} value=${chat.name} maxlength="200" ref=${(field) => field?.focus()} onKeyDown=${keys} /></form>`;
}

// A button that has to be pressed twice.
function Sure({ label, sure, act, ...rest }) {
  const [asked, setAsked] = useState(false);
  return html`<button type="button" ...${rest} onBlur=${() => setAsked(false)} onClick=${() => (asked ? (setAsked(false), act()) : setAsked(true))}>${asked ? sure : label}</button>`;
}

const Settings = ({ settings, any }) => html`
  <details class="settings">
    <summary>${t("page.settings")}</summary>
    <label class="choice"><input type="checkbox" role="switch" checked=${settings.history} onChange=${(event) => choose({ history: event.target.checked })} /> ${t("page.keep_history")}</label>
    <p class="hint">${t(settings.history ? "page.history_on" : "page.history_off")}</p>
    <label class="choice column">${t("page.new_picture_setting")}
      <select value=${settings.new_picture} onChange=${(event) => choose({ new_picture: event.target.value })}>
        ${["ask", "start_over", "keep"].map((one) => html`<option value=${one} selected=${settings.new_picture === one}>${t(`page.policy_${one}`)}</option>`)}
      </select>
    </label>
    ${any && html`<${Sure} class="plain danger" label=${t("page.delete_all")} sure=${t("page.delete_all_sure")} act=${removeAll} />`}
  </details>`;
