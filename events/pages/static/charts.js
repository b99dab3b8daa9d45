// What all charts share: their rows and scales, drawing, and the period under the pointer.

import { counts, mainOf, periods } from "./page.js";

const middles = periods.map(({ start, end }) => (start + end) / 2);

// Rows of the periods for a chart of steps; the last one again at its end.
export function stepRows(valuesOf) {
  const rows = periods.map(({ start }, i) => ({ i, start, middle: middles[i], ...valuesOf(i) }));
  const last = rows[rows.length - 1];
  const { i: _, middle: __, ...values } = last;
  return [...rows, { ...values, start: periods[last.i].end }];
}

export function bandRows(actor) {
  const main = mainOf(actor);
  return stepRows((i) => ({
    mean: main.mean[i], lower: main.lower[i], upper: main.upper[i], one_best: actor.oneBest[i],
    ...(main !== actor && { rule_mean: actor.mean[i], rule_lower: actor.lower[i], rule_upper: actor.upper[i] }),
  }));
}

// The scale ends at 1 or above, so that a mean of .01 does not look like a war.
export function scaleOf(...several) {
  const all = (name) => several.flatMap((actor) => [...mainOf(actor)[name], ...actor[name]]);
  const highest = Math.max(1, ...all("mean"), ...all("upper"), ...several.flatMap(({ oneBest }) => oneBest));
  return { top: 1.05 * highest, bottom: Math.min(0, ...all("lower")) };
}

// Draw a chart; `tables` has the rows of its data sets by name.
export async function drawChart(frame, specification, tables, { top, bottom }) {
  const ends = { first: periods[counts.shown[0]].start, last: periods[counts.shown[1]].end };
  const shown = [counts.shown[0], counts.shown[1] + 1];
  const names = periods.slice(...shown).map(({ label }) => label.split("/")[0]);
  const signals = { cursor: -1, ...ends, top, bottom, middles: middles.slice(...shown), names };
  const withData = {
    ...specification,
    data: specification.data.map((set) => (set.name in tables ? { ...set, values: tables[set.name] } : set)),
    signals: specification.signals.map((set) => (set.name in signals ? { ...set, value: signals[set.name] } : set)),
  };
  // ast: expressions are interpreted, so that no script is made from text.
  const options = { mode: "vega", ast: true, renderer: "svg", actions: false, tooltip: false, hover: false, defaultStyle: false };
  const { view } = await vegaEmbed(frame, withData, options);
  frame.querySelector("svg")?.setAttribute("focusable", "false");
  return view;
}

// The period under the pointer, or -1.
export function periodAt(view, event) {
  const left = view.container().getBoundingClientRect().left + view.padding().left + view.origin()[0];
  const time = +view.scale("x").invert(event.clientX - left);
  return periods.findIndex(({ start, end }) => time >= start && time < end);
}

export function mark(view, i) {
  if (view && view.signal("cursor") !== i) view.signal("cursor", i).runAsync();
}
