// The line at the top: the chats' drawer, who answers, owner's tab, theme, language, help.
import { openHelp } from "./help.js";
import { IconButton } from "./icons.js";
import { address } from "./places.js";
import { store } from "./store.js";
import { isDemo, otherLanguage, t } from "./texts.js";
import { html, useState } from "./view.js";

export function Header({ state }) {
  const { status, place, chat } = state;
  const model = status?.model || chat?.turns.findLast((turn) => turn.model)?.model || "";
  const owner = place.name === "owner";
  return html`
    <header class="top">
      <${IconButton} icon="menu" label=${t("page.chats")} class="quiet menu" aria-expanded=${state.drawer} onClick=${() => store.set({ drawer: !state.drawer })} />
      <h1>fitserve <span class="model">${model || (status ? t("page.no_model_yet") : "")}</span></h1>
      <nav class="tabs" aria-label=${t("page.places")}>
        <a href=${address({ name: "chat", id: chat?.id ?? "" })} aria-current=${owner ? null : "page"}>${t("page.chat")}</a>
        <a href="#/owner" aria-current=${owner ? "page" : null}>${t("page.owner")}</a>
      </nav>
      <${Theme} />
      <a class="quiet language" hreflang=${otherLanguage} lang=${otherLanguage} href=${`/${otherLanguage}/${location.hash}`}>${t("page.other_language")}</a>
      <${IconButton} icon="help" label=${t("page.keys")} class="quiet wide-only" onClick=${openHelp} />
    </header>
    ${(isDemo || model === "demo") && html`<p class="toy">${t("page.toy")}</p>`}
    ${!state.connected && html`<p class="lost" role="alert">${t("page.lost")}</p>`}`;
}

function Theme() {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const [theme, setTheme] = useState(document.documentElement.dataset.theme || (dark ? "dark" : "light"));
  const other = theme === "dark" ? "light" : "dark";
  const change = () => {
    document.documentElement.dataset.theme = other;
    try { localStorage.setItem("fitserve-theme", other); } catch { /* for this visit only */ }
    setTheme(other);
  };
  return html`<${IconButton} icon=${other} label=${t(`page.theme_${other}`)} onClick=${change} />`;
}
