// The owner's tab: the deployments of this machine, and one of them in full.
import { forgetKey, giveKey, owner, ownerKey } from "./owner_api.js";
import { Deployment } from "./owner_deployment.js";
import { usePolled } from "./owner_poll.js";
import { Problem } from "./problem.js";
import { t } from "./texts.js";
import { html, useState } from "./view.js";

const EVERY_MS = 3000;

export function OwnerTab({ status }) {
  const [chosen, choose] = useState("");
  const [key, setKey] = useState(ownerKey());
  const look = async () => {
    const given = ownerKey(); // another may be given while this is asked
    const told = await owner("GET", "").catch((problem) => ({ problem }));
    const refused = told.problem ? told.problem.code === "owner_key" : !told.may_act;
    if (refused && given && given === ownerKey()) { // the right one is another by now: to go on giving it is guessing
      forgetKey();
      setKey("");
    }
    if (told.problem) throw told.problem;
    return told;
  };
  const { value, problem } = usePolled(look, EVERY_MS, key);
  const names = value?.deployments.map((row) => row.name) ?? [];
  const shown = names.includes(chosen) ? chosen : names.includes(status?.name) ? status.name : names[0];
  const closed = problem?.code === "owner_key";
  return html`
    <div class="owner">
      <${Key} may=${value?.may_act} changed=${() => setKey(ownerKey())} />
      ${problem && !closed && html`<${Problem} problem=${problem} />`}
      ${value && !names.length && html`<p>${t("owner.none")}</p>`}
      ${names.length > 0 && html`<${List} rows=${value.deployments} shown=${shown} choose=${choose} />`}
      ${shown && html`<${Deployment} key=${shown} name=${shown} mayAct=${value.may_act} />`}
    </div>`;
}

const List = ({ rows, shown, choose }) => html`
  <nav aria-label=${t("owner.deployments")}>
    <ul class="deployments">
      ${rows.map((row) => html`
        <li><button type="button" class="plain" aria-current=${row.name === shown ? "true" : null} onClick=${() => choose(row.name)}>
          ${row.name} <span class=${`state ${row.state}`}>${row.state_text}</span>
        </button></li>`)}
    </ul>
  </nav>`;

function Key({ may, changed }) {
  const [problem, setProblem] = useState(null);
  const open = async (event) => {
    event.preventDefault();
    const field = event.target.elements.key;
    try {
      await giveKey(field.value.trim());
      field.value = "";
      setProblem(null);
      changed();
    } catch (refused) {
      setProblem(refused);
      field.focus();
    }
  };
  if (may) return html`<p class="key">${t("owner.may_act")} <button type="button" class="plain" onClick=${() => { forgetKey(); changed(); }}>${t("owner.forget")}</button></p>`;
  return html`
    <form class="key" onSubmit=${open}>
      <input type="text" name="username" autocomplete="username" value="owner" hidden />
      <label>${t("owner.key")} <input name="key" type="password" autocomplete="current-password" required aria-describedby="key-hint" /></label>
      <button class="plain">${t("owner.key_give")}</button>
      <p id="key-hint">${t("owner.read_only")} <code translate="no">fitserve page --owner-key</code></p>
      ${problem && html`<${Problem} problem=${problem} />`}
    </form>`;
}
