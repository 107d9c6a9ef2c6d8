// The keys, on one card.
import { t } from "./texts.js";
import { html } from "./view.js";

const KEYS = [
  ["Enter", "send"], ["Shift Enter", "line"], ["Esc", "stop"], ["↑", "edit_last"],
  ["Alt N", "new"], ["Alt C", "clear"], ["Alt H", "history"], ["Alt /", "help"],
];

export const openHelp = () => document.getElementById("help").showModal();

export const Help = () => html`
  <dialog id="help" aria-labelledby="help-title">
    <h2 id="help-title">${t("page.keys")}</h2>
    <dl>${KEYS.map(([keys, name]) => html`<div><dt>${keys.split(" ").map((key) => html`<kbd>${key}</kbd>`)}</dt><dd>${t(`page.key_${name}`)}</dd></div>`)}</dl>
    <form method="dialog"><button class="plain">${t("page.close")}</button></form>
  </dialog>`;
