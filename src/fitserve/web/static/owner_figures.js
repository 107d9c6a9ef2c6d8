// Figures as people read them; what nobody knows is said to be unknown.
import { count, language, t } from "./texts.js";
import { html } from "./view.js";

const UNITS = [["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 2 ** 10]];
const fixed = (digits) => new Intl.NumberFormat(language, { minimumFractionDigits: digits, maximumFractionDigits: digits });
const [tenths, hundredths] = [fixed(1), fixed(2)];

export const unknown = () => t("owner.unknown");

export function size(bytes) {
  if (bytes == null) return unknown();
  const [unit, of] = UNITS.find(([, of]) => Math.abs(bytes) >= of) ?? ["B", 1];
  return `${unit === "GiB" ? hundredths.format(bytes / of) : unit === "B" ? bytes : tenths.format(bytes / of)} ${unit}`;
}

export const whole = (number) => (number == null ? unknown() : count(number));

export function seconds(number) {
  if (number == null) return unknown();
  return number < 100 ? t("owner.seconds", { number: tenths.format(number) }) : t("owner.minutes", { minutes: Math.floor(number / 60), seconds: Math.round(number % 60) });
}

// Planned and measured values of the ledger that are no bytes.
export const figure = (item, value) => {
  if (value == null) return unknown();
  return ["weights", "kv_pool", "memory"].includes(item) ? size(value) : item === "concurrency" ? hundredths.format(value) : count(Math.round(value));
};

export const Facts = ({ rows }) => html`
  <dl class="facts">${rows.filter(([, value]) => value != null && value !== "").map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;

export const Table = ({ caption, head, rows }) => html`
  <div class="wide" tabindex="0" role="region" aria-label=${caption}>
    <table>
      <caption>${caption}</caption>
      <thead><tr>${head.map((cell) => html`<th scope="col">${cell}</th>`)}</tr></thead>
      <tbody>${rows.map(([name, ...cells]) => html`<tr><th scope="row">${name}</th>${cells.map((cell) => html`<td>${cell}</td>`)}</tr>`)}</tbody>
    </table>
  </div>`;

export const Ledger = ({ memory }) => html`
  <${Table} caption=${t("owner.ledger")} head=${[t("owner.item"), t("owner.planned"), t("owner.measured"), t("owner.basis")]}
    rows=${memory.ledger.map((row) => [row.text, size(row.planned_bytes), row.measured_bytes == null ? t("owner.not_measured") : size(row.measured_bytes), t(`owner.basis_${row.basis}`)])} />`;

// What fills a card, to scale, and in words for those who do not see it.
export function Bar({ bar }) {
  const parts = bar.segments.map((part) => `${part.text} ${size(part.bytes)}`).join(", ");
  const label = t("owner.bar", { name: bar.name, used: size(bar.used_bytes), total: size(bar.total_bytes), parts: parts || unknown() });
  return html`
    <span class="bar" role="img" aria-label=${label} title=${label}>
      ${bar.segments.map((part) => html`<span class=${`part ${part.item}`} style=${{ width: `${(100 * part.bytes) / (bar.total_bytes || part.bytes)}%` }}></span>`)}
    </span>`;
}
