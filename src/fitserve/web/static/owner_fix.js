// The changes that would cure it. For the owner each is a button: it shows what will change, and asks.
import { deployment, owner, ownerKey } from "./owner_api.js";
import { ask } from "./owner_ask.js";
import { size, whole } from "./owner_figures.js";
import { Problem } from "./problem.js";
import { t } from "./texts.js";
import { html, useState } from "./view.js";

export const Fixes = ({ fixes, name }) => html`
  ${fixes.length > 0 && html`<h3>${t("owner.fixes")}</h3>`}
  <ol class="fixes">${fixes.map((fix) => html`<${Fix} key=${fix.number} fix=${fix} name=${name} />`)}</ol>
  ${fixes.some((fix) => fix.change) && !ownerKey() && html`<p class="hint">${t("owner.fix_needs_key")} <a href="#/owner">${t("owner.open")}</a></p>`}`;

function Fix({ fix, name }) {
  const [problem, setProblem] = useState(null);
  const [begun, setBegun] = useState(false);
  const wanted = { number: fix.number, change: fix.change };
  const apply = async () => {
    setProblem(null);
    try {
      const shown = await owner("POST", deployment(name, "/preview"), wanted);
      if (!(await ask({ title: t("owner.apply_title", { name }), text: t("owner.apply_text"), body: html`<${Change} shown=${shown} />`, yes: t("owner.apply_yes") }))) return;
      await owner("POST", deployment(name, "/apply"), wanted);
      setBegun(true);
    } catch (refused) {
      setProblem(refused);
    }
  };
  return html`
    <li>
      ${fix.change && html`<code translate="no">${fix.change}</code> `}${fix.why}
      ${fix.predicted && html` <span class="predicted">${t("owner.predicted", { figures: fix.predicted })}</span>`}
      ${fix.change && ownerKey() && html`<button type="button" class="plain" disabled=${begun} onClick=${apply}>${begun ? t("owner.applying") : t("owner.apply")}</button>`}
      ${problem && html`<${Problem} problem=${problem} />`}
    </li>`;
}

const Change = ({ shown: { rows, needs_bytes: needs, kv_tokens: tokens } }) => html`
  <ul class="change">
    ${rows.map((row) => html`<li><code translate="no">${row.name}</code> ${value(row.before)} → ${value(row.after)}</li>`)}
    ${rows.length === 0 && html`<li>${t("owner.nothing_changes")}</li>`}
    <li>${t("owner.needs")} ${size(needs[0])} → ${size(needs[1])}</li>
    <li>${t("owner.kv_tokens")} ${whole(tokens[0])} → ${whole(tokens[1])}</li>
  </ul>`;

const value = (it) => (it == null ? "–" : typeof it === "object" ? JSON.stringify(it) : String(it));
