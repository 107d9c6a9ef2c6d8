// Where the engine does not answer: its start with stages and times, or why it is down and what would cure it.
import { api } from "./api.js";
import { isDown, nextStep } from "./down.js";
import { ownerKey } from "./owner_api.js";
import { Diagnosis } from "./owner_diagnosis.js";
import { seconds } from "./owner_figures.js";
import { LastJob } from "./owner_job.js";
import { t } from "./texts.js";
import { html, useEffect, useState } from "./view.js";

export function EngineState({ status }) {
  if (!status || status.state === "answering") return null;
  if (status.state === "silent") return html`<section class="engine" aria-label=${t("owner.engine")}><p role="status">${t("owner.silent", { url: status.url })}</p></section>`;
  return html`
    <section class="engine" aria-label=${t("owner.engine")}>
      ${status.start && html`<${Start} start=${status.start} />`}
      ${ownerKey() && status.name && html`<${LastJob} name=${status.name} />`}
      ${(!status.start || status.start.failures > 0) && html`<${Down} status=${status} />`}
    </section>`;
}

export function Start({ start }) {
  const last = start.stages.at(-1);
  const running = start.elapsed_s == null || !last ? null : Math.max(0, start.elapsed_s - last.at_s);
  return html`
    <h2 role="status">${last ? t("owner.starting", { stage: last.text }) : t("owner.about_to_start")}</h2>
    <ol class="stages">
      ${start.stages.map((stage) => html`<li class=${stage.seconds == null ? "now" : "past"}>${stage.text} <span>${seconds(stage.seconds ?? running)}</span></li>`)}
    </ol>
    <p>${said(start, last).join(" ")}</p>`;
}

const said = ({ next_start_s: wait, elapsed_s: elapsed, left_s: left }, last) => [
  wait != null && t("owner.next_start", { wait: seconds(wait) }),
  elapsed != null && t("owner.elapsed", { elapsed: seconds(elapsed) }),
  last && remaining(left),
].filter(Boolean);

function remaining(left_s) {
  if (left_s == null) return t("owner.left_unknown");
  return left_s < 0.5 ? t("owner.left_longer") : t("owner.left", { left: seconds(left_s) });
}

function Down({ status }) {
  const [diagnosis, setDiagnosis] = useState(undefined);
  useEffect(() => {
    let asked = true;
    api("GET", "diagnosis").then((told) => asked && setDiagnosis(told), () => asked && setDiagnosis(null));
    return () => (asked = false);
  }, [status.state, status.since, status.reason]);
  return html`
    <h2 role="status">${t("owner.down", { state: status.state_text })}</h2>
    ${status.reason && html`<p>${status.reason}</p>`}
    ${isDown(status) && diagnosis !== undefined && !diagnosis?.finding && html`<p><strong>${t("page.next")}</strong> ${nextStep(status)}</p>`}
    ${diagnosis && html`<${Diagnosis} diagnosis=${diagnosis} name=${status.name} />`}`;
}
