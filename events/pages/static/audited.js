// Audited counts beside those of the model, of one target.

import { byId, element, plain, whole } from "./elements.js";
import { drawChart } from "./charts.js";
import { counts, periods, specifications } from "./page.js";

const timesOf = new Map(periods.map(({ label, start, end }) => [label, (start + end) / 2]));
let auditedView = null;

const interval = (row) => `${plain(row.lower)} to ${plain(row.upper)}`;
const modelInterval = (row) => `${plain(row.model_lower)} to ${plain(row.model_upper)}`;

function auditedRows(target) {
  return target.rows.filter((row) => timesOf.has(row.period)).map((row) => ({
    middle: timesOf.get(row.period),
    mean: row.model_mean,
    lower: row.model_lower,
    upper: row.model_upper,
    estimate: row.estimate,
    audited_lower: row.lower,
    audited_upper: row.upper,
  }));
}

function scaleOfAudited(rows) {
  return { top: 1.05 * Math.max(1, ...rows.flatMap((row) => [row.upper, row.audited_upper])), bottom: 0 };
}

function drawAuditedTable(target) {
  const titles = ["Period", "Documents", "Labels", "Audited", "Interval", "Model mean", "Model interval"];
  const head = element("tr", {}, ...titles.map((text) => element("th", { scope: "col" }, text)));
  const rows = [...target.rows, target.total].map((row) => {
    const cells = [whole(row.n_docs), whole(row.n_labelled), plain(row.estimate), interval(row), plain(row.model_mean), modelInterval(row)];
    return element("tr", {}, element("th", { scope: "row" }, row.period), ...cells.map((text) => element("td", {}, text)));
  });
  const caption = element("caption", {}, `${target.name}: counts from labels, and of the model.`);
  byId("audited-table").replaceChildren(
    element("table", {}, caption, element("thead", {}, head), element("tbody", {}, ...rows)),
  );
}

async function drawAudited(target) {
  const { total } = target;
  byId("audited-total").textContent =
    `In all: ${plain(total.estimate)} documents, ${interval(total)}, from ${whole(total.n_labelled)} documents of the sample. ` +
    `The model: ${plain(total.model_mean)}, ${modelInterval(total)}.`;
  drawAuditedTable(target);
  const rows = auditedRows(target);
  const { top, bottom } = scaleOfAudited(rows);
  if (auditedView) await auditedView.data("counts", rows).signal("top", top).signal("bottom", bottom).runAsync();
  else auditedView = await drawChart(byId("audited-chart"), specifications.audited, { counts: rows }, { top, bottom });
}

export async function startAudited() {
  if (!counts.audit) return;
  byId("audited-target").addEventListener("change", (event) => drawAudited(counts.audit[Number(event.target.value)]));
  await drawAudited(counts.audit[0]);
  document.documentElement.dataset.audited = "drawn";
}
