// Code in colours, fetched with the first piece of code that names its language.
import highlight from "./vendor/highlight.js";

export function colour(code, language) {
  if (!highlight.getLanguage(language)) return;
  code.innerHTML = highlight.highlight(code.textContent, { language, ignoreIllegals: true }).value;
}
