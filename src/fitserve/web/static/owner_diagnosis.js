// The doctor's first finding: what happened, the engine's own line, and changes that the owner can apply from here.
import { Fixes } from "./owner_fix.js";
import { t } from "./texts.js";
import { html } from "./view.js";

export function Diagnosis({ diagnosis, name }) {
  const { finding, more } = diagnosis;
  if (!finding) return html`<p>${t("owner.no_cause", { name })}</p>`;
  const [first, ...others] = finding.evidence;
  return html`
    <div class="finding">
      <p><strong>${finding.summary}</strong> <span class="sure">${finding.severity_text} · ${finding.confidence_text}</span></p>
      ${first && html`<${Evidence} one=${first} />`}
      <${Fixes} fixes=${finding.fixes} name=${name} />
      ${(finding.why || others.length > 0) && html`
        <details>
          <summary>${t("owner.why")}</summary>
          ${finding.why && html`<p>${finding.why}</p>`}
          ${others.map((one) => html`<${Evidence} one=${one} />`)}
        </details>`}
      ${more > 0 && html`<p>${t("owner.more_findings", { count: more, name })}</p>`}
    </div>`;
}

const Evidence = ({ one }) => html`<pre class="evidence" tabindex="0" translate="no">${one.line ? `${one.line}: ` : ""}${one.text}</pre>`;
