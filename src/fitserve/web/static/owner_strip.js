// The line under the header: how the engine is, what fills its memory, how fast it is, who waits.
import { Bar, size, Ledger } from "./owner_figures.js";
import { count, t } from "./texts.js";
import { html } from "./view.js";

export function Strip({ status }) {
  if (!status) return html`<div class="strip" aria-busy="true"></div>`;
  return html`
    <section class="strip" aria-label=${t("owner.strip")}>
      <span class=${`state ${status.state}`}>${status.state_text}</span>
      ${status.mode !== "unknown" && html`<span class="wide-only">${status.mode_text}</span>`}
      ${status.memory.bars.length > 0 && html`<${Memory} memory=${status.memory} />`}
      ${status.traffic && html`<${Traffic} traffic=${status.traffic} />`}
    </section>`;
}

const Memory = ({ memory }) => html`
  <details class="memory">
    <summary>${memory.bars.map((bar) => html`<${Bar} bar=${bar} />`)} <span>${used(memory.bars)}</span></summary>
    <div class="sheet">
      <ul>${memory.bars.map((bar) => html`<li>${bar.name}: ${size(bar.used_bytes)} / ${size(bar.total_bytes)}<ul>${bar.segments.map((part) => html`<li><span class=${`key ${part.item}`}></span> ${part.text} ${size(part.bytes)}</li>`)}</ul></li>`)}</ul>
      ${memory.ledger.length > 0 && html`<${Ledger} memory=${memory} />`}
    </div>
  </details>`;

function used(bars) {
  const sum = (key) => bars.reduce((total, bar) => (total == null || bar[key] == null ? null : total + bar[key]), 0);
  return `${size(sum("used_bytes"))} / ${size(sum("total_bytes"))}`;
}

const Traffic = ({ traffic: { running, waiting, tokens_per_second: speed, kv_usage: cache } }) => html`
  ${speed != null && html`<span>${t("owner.speed", { speed })}</span>`}
  ${running != null && html`<span class=${waiting ? "crowded" : ""}>${t("owner.queue", { running: count(running), waiting: count(waiting ?? 0) })}</span>`}
  ${cache != null && html`<span class="wide-only">${t("owner.cache", { percent: Math.round(100 * cache) })}</span>`}`;
