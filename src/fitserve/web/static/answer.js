// An answer: Markdown drawn block by block, then its mathematics, its colours, and a button on each piece of code.
import { blocks } from "./markdown.js";
import { copyButton } from "./clipboard.js";
import { t } from "./texts.js";
import { html, useLayoutEffect, useRef } from "./view.js";

const LONGEST_COLOURED = 40_000; // characters of code
const DRAWING_SHARE = 4; // a long answer is drawn so seldom that it takes at most a quarter of the time

export function Answer({ text, growing }) {
  const root = useRef(null);
  const drawn = useRef({ blocks: [], timer: 0, cost: 0, took: 0, at: 0 });
  useLayoutEffect(() => {
    const { timer, cost, at } = drawn.current;
    cancelAnimationFrame(timer);
    clearTimeout(timer);
    const wait = growing ? cost * DRAWING_SHARE - (performance.now() - at) : 0;
    if (wait > 16) drawn.current.timer = setTimeout(() => draw(root.current, drawn.current, text, growing), wait);
    else draw(root.current, drawn.current, text, growing);
  }, [text, growing]);
  return html`<div class="answer" ref=${root}></div>`;
}

function draw(root, drawn, text, growing) {
  if (!root) return;
  const begun = performance.now();
  const wanted = blocks(text);
  wanted.forEach((block, at) => {
    const last = growing && at === wanted.length - 1;
    const element = root.children[at] ?? root.appendChild(document.createElement("div"));
    if (drawn.blocks[at] !== block) element.innerHTML = block;
    else if (last || element.dataset.whole) return;
    delete element.dataset.whole;
    if (!last) finish(element);
  });
  while (root.children.length > wanted.length) root.lastChild.remove();
  const [at, took] = [performance.now(), performance.now() - begun];
  Object.assign(drawn, { blocks: wanted, at, took, cost: Math.min(took, drawn.took) }); // one that others held up costs nothing more
}

// What costs more is done once, when the block is whole.
function finish(element) {
  element.dataset.whole = "yes";
  for (const code of element.querySelectorAll("pre > code")) dress(code);
  const formulas = element.querySelectorAll(".math");
  if (formulas.length) import("./formulas.js").then(({ typeset }) => formulas.forEach(typeset));
}

function dress(code) {
  const pre = code.parentElement;
  const language = /language-(\S+)/.exec(code.className)?.[1] ?? "";
  const bar = document.createElement("div");
  bar.className = "code-bar";
  bar.append(Object.assign(document.createElement("span"), { textContent: language }), copyButton(t("page.copy_code"), () => code.textContent));
  pre.tabIndex = 0; // a wide one is scrolled by the keyboard too
  pre.before(bar);
  if (language && code.textContent.length <= LONGEST_COLOURED) import("./colours.js").then(({ colour }) => colour(code, language));
}
