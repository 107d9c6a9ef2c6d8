// What the owner has asked for and what became of it.
import { deployment, owner } from "./owner_api.js";
import { usePolled } from "./owner_poll.js";
import { Verification } from "./owner_verify.js";
import { Problem } from "./problem.js";
import { t } from "./texts.js";
import { html } from "./view.js";

const EVERY_MS = 2000;

export function Job({ job }) {
  return html`
    ${job.runs && html`<p role="status">${t(`owner.job_${job.kind}`)}</p>`}
    ${job.result && html`<p role="status">${t(`owner.done_${job.kind}`)}</p>`}
    ${job.error && html`<${Problem} problem=${job.error} />`}
    ${job.told.length > 0 && html`<${Verification} checks=${job.told} />`}`;
}

// Beside the chat: what the tab of the owner would show.
export function LastJob({ name }) {
  const { value } = usePolled(() => owner("GET", deployment(name)), EVERY_MS, name);
  return value?.job && html`<${Job} job=${value.job} />`;
}
