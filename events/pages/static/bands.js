// The large chart: the counts of the chosen actor, and of another beside it.

import { byId, digits, element, whole } from "./elements.js";
import { csvText, fileWord, save, saveText } from "./files.js";
import { bandRows, drawChart, mark, periodAt, scaleOf } from "./charts.js";
import { greaterBounds, isComparable } from "./differences.js";
import { actors, ask, boundsText, choice, counts, countText, described, mainOf, periods, range, specifications, totalText } from "./page.js";

const PICTURE_WIDTH = 900;

const bandFrame = byId("band");
const drawing = element("div", { class: "drawing", "aria-hidden": "true" });
let bandView = null;
let pointed = 0; // the period that arrow keys change

const comparable = () => isComparable(choice.actor, choice.other);

const chosen = () => [choice.actor, choice.other].filter((c) => c >= 0).map((c) => actors[c]);
const both = () => chosen().map(({ name }) => name);
const bandTables = () => {
  const [first, second] = chosen().map(bandRows);
  return { counts: first, other: second ?? [] };
};

// The count of a period; with a second actor, that one's too, and the probability that the first has more.
function periodText(i) {
  const [actor, other] = chosen();
  if (!other) return described(actor, i);
  const text = `${described(actor, i)}; ${other.name}: ${countText(mainOf(other), i)}`;
  if (!comparable()) return text;
  return `${text}; P(${actor.name} > ${other.name}) = ${boundsText(greaterBounds(choice.actor, choice.other, i))}`;
}

function show(i) {
  mark(bandView, i);
  byId("readout").textContent = i < 0 ? "\u00a0" : periodText(i);
}

export function point(i) {
  pointed = Math.max(0, Math.min(periods.length - 1, i));
  bandFrame.setAttribute("aria-valuenow", pointed);
  bandFrame.setAttribute("aria-valuetext", periodText(pointed));
  show(pointed);
}

export async function drawBand() {
  const [actor, other] = chosen();
  byId("chart-actor").textContent = both().join(" and ");
  byId("chart-total").textContent = totalText(actor);
  const main = mainOf(actor);
  byId("main-name").textContent = main === actor ? "mean" : main.text;
  byId("inner-key").hidden = main === actor;
  byId("actor").value = choice.actor;
  byId("other").value = choice.other;
  byId("other-key").hidden = byId("other-help").hidden = !other;
  byId("other-name").textContent = other?.name ?? "";
  bandFrame.setAttribute("aria-label", `${both().join(" and ")}, period`);
  point(choice.period >= 0 ? choice.period : highestPeriod(actor));
  if (byId("band-table-frame").open) drawTable();
  const scale = scaleOf(...chosen());
  const tables = bandTables();
  if (!bandView) {
    bandView = await drawChart(drawing, specifications.large, tables, scale);
    point(pointed);
    return;
  }
  await bandView.data("counts", tables.counts).data("other", tables.other).signal("top", scale.top).signal("bottom", scale.bottom).runAsync();
}

export function highestPeriod(actor) {
  const { mean } = mainOf(actor);
  return mean.indexOf(Math.max(...mean));
}

// --- the table, and files ---

export function drawTable() {
  const [actor, other] = chosen();
  const main = mainOf(actor);
  const level = `${100 * counts.level}% interval`;
  const first = main === actor ? [] : [main.text === "audited" ? "Audited" : "A reader would count", level];
  const titles = ["Period", "Documents", ...first, "The rule counts", "Monte Carlo error", "Sd", level, "One best"];
  if (other) titles.push(other.name, `Interval, ${other.name}`);
  if (other && comparable()) titles.push(`P(${actor.name} > ${other.name})`);
  const head = element("tr", {}, ...titles.map((text) => element("th", { scope: "col" }, text)));
  const rows = periods.map(({ label, n }, i) => {
    const button = element("button", { type: "button", class: "link" }, label);
    button.addEventListener("click", () => ask("period", i));
    const of = (each) => [digits(2)(each.mean[i]), range(each, i)];
    const cells = [whole(n), ...(main === actor ? [] : of(main)), digits(2)(actor.mean[i]), digits(3)(actor.error[i]), digits(2)(actor.sd[i]), range(actor, i), whole(actor.oneBest[i])];
    if (other) cells.push(...of(mainOf(other)));
    if (other && comparable()) cells.push(boundsText(greaterBounds(choice.actor, choice.other, i)));
    return element("tr", {}, element("th", { scope: "row" }, button), ...cells.map((text) => element("td", {}, text)));
  });
  const caption = element("caption", {}, `Documents with an event: ${both().join(" and ")}. A period lists its documents.`);
  byId("band-table").replaceChildren(
    element("table", {}, caption, element("thead", {}, head), element("tbody", {}, ...rows)),
  );
}

// Rows of counts.csv, with its columns in its order.
function countRows() {
  const [actor, other] = chosen();
  const titles = [...counts.columns, ...(chosen().some(({ audited }) => audited) ? ["audited", "audited_lower", "audited_upper"] : [])];
  if (other && comparable()) titles.push("p_greater_lower", "p_greater_upper");
  const rows = chosen().flatMap((each) => periods.map(({ label, start, n }, i) => {
    const bounds = each === actor && other && comparable() ? greaterBounds(choice.actor, choice.other, i) : ["", ""];
    const [greaterLower, greaterUpper] = bounds.map((p) => (p === "" ? p : Number(p.toFixed(6))));
    const values = {
      ...each.same, period: label, period_start: new Date(start).toISOString().slice(0, 10), n_docs: n,
      mean: each.mean[i], mean_mc_se: each.error[i], sd: each.sd[i], lower: each.lower[i], upper: each.upper[i],
      mean_rule: each.mean_rule?.[i], lower_rule: each.lower_rule?.[i], upper_rule: each.upper_rule?.[i],
      audited: each.audited?.mean[i], audited_lower: each.audited?.lower[i], audited_upper: each.audited?.upper[i],
      one_best: each.oneBest[i], mean_named: each.mean_named?.[i], p_greater_lower: greaterLower, p_greater_upper: greaterUpper,
    };
    return titles.map((title) => values[title] ?? "");
  }));
  return [titles, ...rows];
}

const fileName = (ending) => ["counts", ...chosen().map((each) => fileWord(each.code))].join("-") + `.${ending}`;

// The chart with a title on white, as a view of its own that is not shown.
async function pictureView() {
  const [actor, other] = chosen();
  const title = { text: `${document.title}: ${actor.name}${other ? ` (blue), ${other.name} (green)` : ""}`, anchor: "start" };
  const subtitle = `Documents with the event: ${byId("main-name").textContent}, with ${100 * counts.level}% interval; ${byId("inner-key").hidden ? "" : "grey: the rule counts; "}dashed orange: one best`;
  const frame = element("div", { class: "hidden-drawing", "aria-hidden": "true" });
  document.body.append(frame);
  const specification = { ...specifications.large, background: "#fff", title: { ...title, subtitle } };
  const view = await drawChart(frame, specification, bandTables(), scaleOf(...chosen()));
  await view.width(PICTURE_WIDTH).runAsync();
  return { view, end: () => (view.finalize(), frame.remove()) };
}

async function savePicture(kind) {
  const { view, end } = await pictureView();
  if (kind === "svg") saveText(await view.toSVG(), fileName("svg"), "image/svg+xml");
  else {
    const canvas = await view.toCanvas(2);
    save(await new Promise((resolve) => canvas.toBlob(resolve, "image/png")), fileName("png"));
  }
  end();
}

export function listenToBand() {
  bandFrame.append(drawing);
  byId("band-table-frame").addEventListener("toggle", drawTable);
  byId("actor").addEventListener("change", (event) => ask("actor", Number(event.target.value)));
  byId("other").addEventListener("change", (event) => ask("other", Number(event.target.value)));
  byId("save-csv").addEventListener("click", () => saveText(csvText(countRows()), fileName("csv"), "text/csv"));
  byId("save-png").addEventListener("click", () => savePicture("png"));
  byId("save-svg").addEventListener("click", () => savePicture("svg"));
  drawing.addEventListener("pointermove", (event) => {
    const i = bandView ? periodAt(bandView, event) : -1;
    if (i >= 0) show(i);
    drawing.classList.toggle("over", i >= 0);
  });
  drawing.addEventListener("pointerleave", () => show(pointed));
  drawing.addEventListener("click", (event) => {
    const i = bandView ? periodAt(bandView, event) : -1;
    if (i >= 0) ask("period", i);
  });
  bandFrame.addEventListener("keydown", (event) => {
    const to = {
      ArrowLeft: pointed - 1, ArrowDown: pointed - 1, ArrowRight: pointed + 1, ArrowUp: pointed + 1,
      PageUp: pointed + 4, PageDown: pointed - 4, Home: 0, End: periods.length - 1,
    }[event.key];
    if (to !== undefined) point(to);
    else if (event.key === "Enter" || event.key === " ") ask("period", pointed);
    else return;
    event.preventDefault();
  });
}
