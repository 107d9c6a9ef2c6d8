// KaTeX, fetched with the first formula. It builds elements, not markup, so that the page needs no styles inline.
import "./vendor/katex.js";

document.head.append(Object.assign(document.createElement("link"), { rel: "stylesheet", href: "/static/vendor/katex.css" }));

const OPTIONS = { throwOnError: false, strict: false, trust: false, maxSize: 30, maxExpand: 300 };

export function typeset(element) {
  if (element.dataset.tex !== undefined) return;
  const tex = (element.dataset.tex = element.textContent);
  const displayMode = element.classList.contains("display");
  try {
    globalThis.katex.render(tex, element, { ...OPTIONS, displayMode });
  } catch { // what KaTeX can't read at all stays as it was written
    element.textContent = tex;
  }
}
