// One deployment: what it is, what can be done with it, its ledger, its log, its measurements.
import { deployment, owner } from "./owner_api.js";
import { ask } from "./owner_ask.js";
import { Bench } from "./owner_bench.js";
import { Diagnosis } from "./owner_diagnosis.js";
import { Facts, figure, Ledger, seconds, Table } from "./owner_figures.js";
import { Job } from "./owner_job.js";
import { Log } from "./owner_log.js";
import { usePolled } from "./owner_poll.js";
import { Problem } from "./problem.js";
import { moment, t } from "./texts.js";
import { html, useEffect, useState } from "./view.js";

const EVERY_MS = 2000;

export function Deployment({ name, mayAct }) {
  const { value: one, problem } = usePolled(() => owner("GET", deployment(name)), EVERY_MS, name);
  if (!one) return problem && html`<${Problem} problem=${problem} />`;
  return html`
    <article aria-label=${name}>
      <h2>${name} <span class=${`state ${one.state}`}>${one.state_text}</span></h2>
      ${one.reason && html`<p>${one.reason}</p>`}
      <${Actions} one=${one} mayAct=${mayAct} />
      <${Trouble} one=${one} />
      <${Facts} rows=${facts(one)} />
      <${Ledger} memory=${one} />
      ${one.compared.length > 0 && html`<${Table} caption=${t("owner.compared")} head=${[t("owner.item"), t("owner.planned"), t("owner.measured")]}
        rows=${one.compared.map((row) => [row.text, figure(row.item, row.planned), figure(row.item, row.measured)])} />`}
      <${Settings} settings=${one.settings} changed=${one.changed} />
      <${Log} name=${name} />
      <${Bench} name=${name} />
    </article>`;
}

const facts = (one) => [
  [t("owner.model"), one.model],
  [t("owner.engine_name"), one.engine],
  [t("owner.mode"), one.mode_text],
  ["API", html`<a href=${one.url} rel="noreferrer">${one.url}</a>`],
  [t("owner.page"), one.page_url && html`<a href=${one.page_url} rel="noreferrer">${one.page_url}</a>`],
  [t("owner.probe"), one.probe && asked(one.probe)],
  [t("owner.problems"), one.problems.join("; ")],
];

const asked = ({ question, answer, detail, seconds: took, at }) =>
  `${question} → ${answer || detail} (${[seconds(took), at && moment(at)].filter(Boolean).join(", ")})`;

const Settings = ({ settings, changed }) => html`
  <details>
    <summary>${t("owner.settings")}</summary>
    <pre tabindex="0" translate="no">${Object.entries(settings).map(([flag, value]) => `${flag} ${typeof value === "object" ? JSON.stringify(value) : value}`).join("\n")}</pre>
    ${changed.map((change) => html`<p>${t("owner.changed", { set: JSON.stringify(change.set), summary: change.summary })}</p>`)}
  </details>`;

function Actions({ one, mayAct }) {
  const [problem, setProblem] = useState(null);
  const busy = !!one.job?.runs;
  const act = async (verb) => {
    setProblem(null);
    if (verb === "restart" && !(await ask({ title: t("owner.restart_title", { name: one.name }), text: t("owner.restart_text"), yes: t("owner.restart") }))) return;
    try {
      await owner("POST", deployment(one.name, `/${verb}`), {});
    } catch (refused) {
      setProblem(refused);
    }
  };
  return html`
    <div class="actions">
      ${mayAct && html`<button type="button" class="plain" disabled=${busy} onClick=${() => act("restart")}>${t("owner.restart")}</button>
        <button type="button" class="plain" disabled=${busy || one.state !== "answering"} onClick=${() => act("verify")}>${t("owner.verify")}</button>`}
      ${one.job && html`<${Job} job=${one.job} />`}
      ${problem && html`<${Problem} problem=${problem} />`}
    </div>`;
}

function Trouble({ one }) {
  const [diagnosis, setDiagnosis] = useState(null);
  useEffect(() => {
    if (one.state === "answering") setDiagnosis(null);
    else owner("GET", deployment(one.name, "/diagnosis")).then(setDiagnosis, () => setDiagnosis(null));
  }, [one.state, one.reason]);
  return diagnosis && html`<${Diagnosis} diagnosis=${diagnosis} name=${one.name} />`;
}
