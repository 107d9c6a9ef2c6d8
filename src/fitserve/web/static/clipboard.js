// Copying, with a word on the button that it was done. Pages opened over plain HTTP by name have no clipboard API.
import { t } from "./texts.js";

export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const field = Object.assign(document.createElement("textarea"), { value: text, className: "unseen" });
    document.body.append(field);
    field.select();
    document.execCommand("copy");
    field.remove();
  }
}

// For what is not drawn by a component: the code inside an answer.
export function copyButton(label, text) {
  const button = Object.assign(document.createElement("button"), { type: "button", textContent: label, className: "quiet small" });
  button.addEventListener("click", async () => {
    await copy(text());
    button.textContent = t("page.copied");
    setTimeout(() => { button.textContent = label; }, 1500);
  });
  return button;
}
