// Shared by the other modules: data, descriptions, and the current choice of the user.

import { aligned, digits, jsonOf, plural, probability, whole } from "./elements.js";

export const counts = jsonOf("counts");
export const specifications = jsonOf("charts");
export const { periods, actors, documents, evidence } = counts;

// Indices of actor, of the one beside it, of period and of evidence row (-1: none); scope, order and words of the list.
export const choice = { actor: 0, other: -1, period: -1, scope: "all", order: "half", words: "", row: -1 };

export function range(actor, i) {
  const ends = aligned([...actor.lower, ...actor.upper]);
  return `${ends(actor.lower[i])} to ${ends(actor.upper[i])}`;
}

// The interval with the error of the rule; "" without.
export function ruleRange(actor, i) {
  return actor.lower_rule ? `${whole(actor.lower_rule[i])} to ${whole(actor.upper_rule[i])}` : "";
}

// Describe a count in one line.
export function described(actor, i) {
  const { label, n } = periods[i];
  return (
    `${label}: mean ${digits(2)(actor.mean[i])}, ${100 * counts.level}% interval ${range(actor, i)}, ` +
    (actor.lower_rule ? `with the error of the rule ${ruleRange(actor, i)}, ` : "") +
    `one best ${whole(actor.oneBest[i])}, of ${plural(n, "document", "documents")}`
  );
}

// Bounds of a probability, as one number where they round to one.
export function boundsText([low, high]) {
  const [first, last] = [probability(low), probability(high)];
  return first === last ? first : `${first} to ${last}`;
}

// The label of a row of evidence: yes, no, unsure, or "" without one.
export const labelled = (row) => evidence.label?.[row] ?? "";

// P that a reader says yes of a row, by what is known of other rules: "about .6, .3 to .9"; "" without.
export function readerText(row) {
  if (!evidence.reader_probability) return "";
  const [about, low, high] = ["probability", "lower", "upper"].map((name) => probability(evidence[`reader_${name}`][row]));
  return `about ${about}, ${low} to ${high}`;
}

// P that a reader says yes of a row, after labels taught it; null without.
export const learnedP = (row) => evidence.learned?.[row] ?? null;

// Rows of evidence by actor and period.
export const rowsOf = new Map();
for (let row = 0; row < evidence.document.length; row++) {
  if (evidence.period[row] < 0) continue; // a document without a date is in no period
  const key = evidence.actor[row] * periods.length + evidence.period[row];
  if (!rowsOf.has(key)) rowsOf.set(key, []);
  rowsOf.get(key).push(row);
}

// Ask for a change that concerns several parts of the page; choices.js listens, so that parts need not know each other.
export const ask = (what, value = null) => dispatchEvent(new CustomEvent(`ask-${what}`, { detail: value }));
