// What a verification found: a line a check.
import { seconds, Table } from "./owner_figures.js";
import { t } from "./texts.js";
import { html } from "./view.js";

export const Verification = ({ checks }) => html`
  <${Table} caption=${t("owner.verified")} head=${[t("owner.check"), t("owner.result"), t("owner.detail"), t("owner.took")]}
    rows=${checks.map((check) => [check.text, html`<span class=${`check ${check.state}`}>${t(`owner.check_${check.state}`)}</span>`, check.detail, seconds(check.seconds)])} />`;
