// A failure in three parts: what happened, the evidence, what to do next.
import { t } from "./texts.js";
import { html } from "./view.js";

export const Problem = ({ problem, children }) => html`
  <div class="problem" role="alert">
    <p>${problem.message}</p>
    ${problem.evidence && html`<pre tabindex="0">${problem.evidence}</pre>`}
    ${problem.next && html`<p><strong>${t("page.next")}</strong> ${problem.next}</p>`}
    ${children}
  </div>`;
