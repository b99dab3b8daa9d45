// Counts from labels beside those of the model, of one target: audited, learned, or both.

import { aligned, byId, digits, element, whole } from "./elements.js";
import { drawChart, stepRows } from "./charts.js";
import { counts, periods, specifications } from "./page.js";

let auditedView = null;

const NOTHING = "–";
const tenth = (value) => (value === undefined ? NOTHING : digits(1)(value));
const rangeText = (...ends) => (ends[0] === undefined ? NOTHING : ends.map(aligned(ends)).join(" to "));

// One row for both kinds of counts, which may lack either; the model's own count is in both.
function joinedRow(audited, learned) {
  const row = audited ?? learned;
  return {
    period: row.period,
    n_docs: row.n_docs,
    n_labels: audited?.n_labelled ?? learned.n_labels,
    model: audited ? [audited.model_mean, audited.model_lower, audited.model_upper] : [learned.run_mean, learned.run_lower, learned.run_upper],
    audited: audited ? [audited.estimate, audited.lower, audited.upper] : [],
    learned: learned ? [learned.mean, learned.lower, learned.upper] : [],
  };
}

function joinedRows({ audited, learned }) {
  const [first, second] = [audited, learned].map((kind) => new Map((kind?.rows ?? []).map((row) => [row.period, row])));
  return [...new Set([...first.keys(), ...second.keys()])].map((period) => joinedRow(first.get(period), second.get(period)));
}

// A period without documents has no row.
function chartRows(rows, kind) {
  const found = new Map(rows.map((row) => [row.period, row]));
  return stepRows((i) => {
    const row = found.get(periods[i].label) ?? { model: [0, 0, 0], audited: [], learned: [0, 0, 0] };
    const [mean, lower, upper] = row[kind];
    const [estimate, audited_lower, audited_upper] = row.audited;
    return { mean, lower, upper, ...(estimate === undefined ? {} : { estimate, audited_lower, audited_upper }) };
  });
}

function scaleOfAudited(rows) {
  return { top: 1.05 * Math.max(1, ...rows.flatMap(({ model, audited, learned }) => [...model, ...audited, ...learned])), bottom: 0 };
}

function drawAuditedTable(target, rows, total) {
  const kinds = [["audited", "Audited"], ["learned", "Learned"]].filter(([kind]) => target[kind]);
  const titles = ["Period", "Documents", "Labels", ...kinds.flatMap(([, title]) => [title, "Interval"]), "Model mean", "Model interval"];
  const head = element("tr", {}, ...titles.map((text) => element("th", { scope: "col" }, text)));
  const lines = [...rows, total].map((row) => {
    const found = [...kinds.map(([kind]) => row[kind]), row.model].flatMap(([mean, ...ends]) => [tenth(mean), rangeText(...ends)]);
    const cells = [whole(row.n_docs), whole(row.n_labels), ...found];
    return element("tr", {}, element("th", { scope: "row" }, row.period), ...cells.map((text) => element("td", {}, text)));
  });
  const caption = element("caption", {}, `${target.name}: counts from labels, and of the model.`);
  byId("audited-table").replaceChildren(
    element("table", {}, caption, element("thead", {}, head), element("tbody", {}, ...lines)),
  );
}

async function drawAudited(target) {
  const [rows, total] = [joinedRows(target), joinedRow(target.audited?.total, target.learned?.total)];
  const said = ([mean, ...ends]) => `${tenth(mean)} documents, ${rangeText(...ends)}`;
  const learned = target.learned ? [`Learned, on the assumption that errors are of the same kind in all periods: ${said(total.learned)}.`] : [];
  const audited = target.audited ? [`In all, audited: ${said(total.audited)}, from ${whole(total.n_labels)} documents of the sample.`] : [];
  byId("audited-total").textContent = [...audited, ...learned, `The model: ${said(total.model)}.`].join(" ");
  drawAuditedTable(target, rows, total);
  const tables = { counts: chartRows(rows, "model"), learned: target.learned ? chartRows(rows, "learned") : [] };
  const { top, bottom } = scaleOfAudited(rows);
  if (auditedView) {
    auditedView.data("counts", tables.counts).data("learned", tables.learned).signal("top", top).signal("bottom", bottom);
    await auditedView.runAsync();
  } else auditedView = await drawChart(byId("audited-chart"), specifications.audited, tables, { top, bottom });
}

export async function startAudited() {
  if (!counts.audit) return;
  byId("audited-target").addEventListener("change", (event) => drawAudited(counts.audit[Number(event.target.value)]));
  await drawAudited(counts.audit[0]);
  document.documentElement.dataset.audited = "drawn";
}
