// The pictures that go with the question: how large each is, what it costs, what was changed, and a way to take it out.
import { IconButton } from "./icons.js";
import { t } from "./texts.js";
import { remove, whole } from "./tray_store.js";
import { html } from "./view.js";

export const Tray = ({ pictures }) =>
  pictures.length > 0 && html`<ul class="tray" aria-label=${t("page.pictures")}>${pictures.map((one) => html`<${Entry} key=${one.key} one=${one} />`)}</ul>`;

function Entry({ one }) {
  const { key, name, state, picture, problem, file } = one;
  const out = html`<${IconButton} icon="close" label=${t("page.remove", { name })} class="quiet remove" onClick=${() => { remove(key); document.getElementById("question")?.focus(); }} />`;
  if (state === "refused") {
    return html`<li class="entry refused" role="alert"><div class="told"><strong>${problem.message}</strong>${problem.next && html`<span>${problem.next}</span>`}</div>${out}</li>`;
  }
  if (state === "coming") return html`<li class="entry coming"><span class="dots" aria-hidden="true"></span><div class="told"><span>${t("page.preparing", { name })}</span></div>${out}</li>`;
  return html`
    <li class="entry ready">
      <img src=${picture.url} alt=${name} width=${picture.width} height=${picture.height} />
      <div class="told">
        <span class="cost">${picture.cost}</span>
        ${picture.notices.map((notice) => html`<span class="notice">${notice}</span>`)}
        ${file && picture.takes_whole && html`<button type="button" class="link" onClick=${() => whole(key, true)}>${asItIs(picture)}</button>`}
        ${file && one.whole && html`<button type="button" class="link" onClick=${() => whole(key, false)}>${t("page.shrink")}</button>`}
      </div>
      ${out}
    </li>`;
}

const asItIs = ({ original_width, original_height, whole_tokens }) =>
  t(whole_tokens === null ? "page.as_it_is" : "page.as_it_is_tokens", { size: `${original_width}x${original_height}`, tokens: whole_tokens });
