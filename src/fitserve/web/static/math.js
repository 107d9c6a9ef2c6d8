// Mathematics in Markdown: $…$, $$…$$, \(…\) and \[…\] become elements that KaTeX fills later.
const INLINE = [["$$", "$$", true], ["\\(", "\\)", false], ["\\[", "\\]", true], ["$", "$", false]];
const DISPLAY = [["$$", "$$"], ["\\[", "\\]"]];

export function math(markdown) {
  markdown.inline.ruler.before("escape", "math", inline);
  markdown.block.ruler.before("fence", "math", display, { alt: ["paragraph", "blockquote", "list"] });
  const escape = markdown.utils.escapeHtml;
  markdown.renderer.rules.math = (tokens, at) => `<span class="${tokens[at].markup}">${escape(tokens[at].content)}</span>`;
  markdown.renderer.rules.math_display = (tokens, at) => `<div class="math display">${escape(tokens[at].content)}</div>\n`;
}

function inline(state, silent) {
  const from = state.src;
  for (const [open, close, shown] of INLINE) {
    if (!from.startsWith(open, state.pos)) continue;
    const begin = state.pos + open.length;
    const end = closing(from, begin, close, state.posMax);
    if (end < 0 || (open === "$" && isMoney(from, begin, end))) continue;
    if (!silent) Object.assign(state.push("math", "", 0), { content: from.slice(begin, end).trim(), markup: shown ? "math display" : "math" });
    state.pos = end + close.length;
    return true;
  }
  return false;
}

function closing(from, begin, close, limit) {
  let end = from.indexOf(close, begin);
  while (end > 0 && from[end - 1] === "\\" && close.startsWith("$")) end = from.indexOf(close, end + 1);
  return end <= begin || end + close.length > limit || from.slice(begin, end).includes("\n\n") ? -1 : end;
}

// «$5 and $10» is no formula: one begins and ends without a space, and no digit follows it.
const isMoney = (from, begin, end) => /\s/.test(from[begin]) || /\s/.test(from[end - 1]) || /\d/.test(from[end + 1] ?? "");

function display(state, startLine, endLine, silent) {
  const text = (line) => state.src.slice(state.bMarks[line] + state.tShift[line], state.eMarks[line]).trim();
  const first = text(startLine);
  const [open, close] = DISPLAY.find(([mark]) => first.startsWith(mark)) ?? [];
  if (!open) return false;
  const inside = [];
  for (let line = startLine; line < endLine; line++) {
    const piece = line === startLine ? first.slice(open.length) : text(line);
    const end = piece.indexOf(close);
    inside.push(end < 0 ? piece : piece.slice(0, end));
    if (end < 0) continue;
    if (piece.slice(end + close.length).trim()) return false; // text follows: it is part of a sentence
    if (silent) return true;
    const token = state.push("math_display", "", 0);
    token.content = inside.join("\n").trim();
    token.block = true;
    state.line = line + 1;
    return true;
  }
  return false;
}
