// A question before something is done. One dialog for all; it is closed by Escape, and then the answer is no.
import { t } from "./texts.js";
import { html, render } from "./view.js";

export function ask({ title, text, body = null, yes }) {
  const dialog = document.createElement("dialog");
  dialog.className = "ask";
  dialog.setAttribute("aria-labelledby", "ask-title");
  document.body.append(dialog);
  render(html`
    <form method="dialog">
      <h2 id="ask-title">${title}</h2>
      <p>${text}</p>
      ${body}
      <p class="buttons"><button value="no" class="plain" autofocus>${t("owner.cancel")}</button> <button value="yes" class="strong">${yes}</button></p>
    </form>`, dialog);
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      render(null, dialog);
      dialog.remove();
      resolve(dialog.returnValue === "yes");
    });
  });
}
