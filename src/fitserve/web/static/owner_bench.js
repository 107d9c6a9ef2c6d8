// Kept measurements of a deployment, with the charts that a report has.
import { deployment, drawing, owner } from "./owner_api.js";
import { Problem } from "./problem.js";
import { moment, t } from "./texts.js";
import { html, useEffect, useState } from "./view.js";

export function Bench({ name }) {
  const [told, setTold] = useState({ measured: [], problem: null });
  useEffect(() => {
    owner("GET", deployment(name, "/bench")).then(({ measured }) => setTold({ measured, problem: null }), (problem) => setTold({ measured: [], problem }));
  }, [name]);
  return html`
    <section aria-label=${t("owner.bench")}>
      <h3>${t("owner.bench")}</h3>
      ${told.problem && html`<${Problem} problem=${told.problem} />`}
      ${!told.measured.length && !told.problem && html`<p>${t("owner.bench_none")} <code translate="no">fitserve bench ${name}</code></p>`}
      ${told.measured.map((one, at) => html`
        <details key=${one.file} open=${at === 0}>
          <summary>${t(`owner.kind_${one.kind}`)} · ${moment(Date.parse(one.at) / 1000)}</summary>
          ${one.problem && html`<p>${one.problem}</p>`}
          ${one.warnings.map((text) => html`<p class="warning">${text}</p>`)}
          ${one.charts.map((chart) => html`<${Chart} key=${chart.name} path=${deployment(name, `/bench/${encodeURIComponent(one.file)}/${encodeURIComponent(chart.name)}.svg`)} title=${chart.title} />`)}
        </details>`)}
    </section>`;
}

function Chart({ path, title }) {
  const [source, setSource] = useState("");
  useEffect(() => {
    let address = "";
    drawing(path).then((made) => setSource((address = made)), () => {});
    return () => URL.revokeObjectURL(address);
  }, [path]);
  return source && html`<img class="chart" src=${source} alt=${title} />`;
}
