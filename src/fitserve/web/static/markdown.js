// Markdown as safe HTML, a string for each block, so that a growing answer redraws only its last ones.
import MarkdownIt from "./vendor/markdown-it.js";
import "./vendor/purify.js";
import { math } from "./math.js";

const markdown = new MarkdownIt({ html: false, linkify: true, breaks: true }).use(math);
const escape = markdown.utils.escapeHtml;

markdown.renderer.rules.fence = (tokens, at) => {
  const language = tokens[at].info.trim().split(/\s+/)[0] ?? "";
  return `<pre><code class="${language ? `language-${escape(language)}` : ""}">${escape(tokens[at].content)}</code></pre>\n`;
};
markdown.renderer.rules.code_block = (tokens, at) => `<pre><code>${escape(tokens[at].content)}</code></pre>\n`;
// A picture from elsewhere would tell its server that the answer was read: it is a link.
markdown.renderer.rules.image = (tokens, at) => {
  const { content, attrs } = tokens[at];
  const source = Object.fromEntries(attrs).src;
  return `<a href="${escape(source)}">${escape(content || source)}</a>`;
};
markdown.renderer.rules.table_open = () => '<div class="table" tabindex="0"><table>\n';
markdown.renderer.rules.table_close = () => "</table></div>\n";

// A column's side as a class: the page allows no styles inline.
markdown.core.ruler.push("sides", ({ tokens }) => {
  for (const token of tokens) {
    const side = /^text-align:(left|right|center)$/.exec(token.attrGet("style") ?? "")?.[1];
    if (side) token.attrs = [["class", side]];
  }
});

// markdown-it lets no markup of the text through; what it makes is looked at once more all the same.
const ALLOWED = {
  ALLOWED_TAGS: "a b blockquote br code del div em h1 h2 h3 h4 h5 h6 hr i li ol p pre s span strong sub sup table tbody td th thead tr ul".split(" "),
  ALLOWED_ATTR: ["class", "href", "start", "tabindex"],
  ALLOWED_URI_REGEXP: /^(?:https?|mailto):/i,
};
globalThis.DOMPurify.addHook("afterSanitizeAttributes", (node) => {
  if (node.tagName === "A") {
    node.setAttribute("target", "_blank");
    node.setAttribute("rel", "noopener noreferrer nofollow");
  }
});

export function blocks(text) {
  const env = {};
  const tokens = markdown.parse(text, env);
  const found = [];
  for (let from = 0, at = 0; at < tokens.length; at++) {
    if (tokens[at].level !== 0 || tokens[at].nesting > 0) continue; // until the block that was opened ends
    const drawn = markdown.renderer.render(tokens.slice(from, at + 1), markdown.options, env);
    found.push(globalThis.DOMPurify.sanitize(drawn, ALLOWED));
    from = at + 1;
  }
  return found;
}
