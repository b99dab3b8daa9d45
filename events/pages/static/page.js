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

// The count that is shown first: of an audit, or what a reader would count, or else what the rule counts.
export function mainOf(actor) {
  if (actor.audited) return { ...actor.audited, text: "audited" };
  const { mean_rule: mean, lower_rule: lower, upper_rule: upper } = actor;
  return mean ? { mean, lower, upper, text: "a reader would count" } : actor;
}

// Mean and interval: "4.20 (2 to 6)".
export const countText = (each, i) => `${digits(2)(each.mean[i])} (${range(each, i)})`;

// Describe a count in one line.
export function described(actor, i) {
  const { label, n } = periods[i];
  const main = mainOf(actor);
  const first = main === actor ? "" : `${main.text} ${countText(main, i)}; `;
  return `${label}: ${first}the rule counts ${countText(actor, i)}, one best ${whole(actor.oneBest[i])}, of ${plural(n, "document", "documents")}`;
}

// The total of an actor over all documents in one sentence.
export function totalText({ total }) {
  const [mean, lower, upper] = total.first.map((value) => digits(value < 10 && !Number.isInteger(value) ? 1 : 0)(value));
  const counted = `the rule counts ${digits(total.counted < 10 ? 1 : 0)(total.counted)}`;
  const first = { audit: "audited:", rule: "a reader would count", "": "the rule counts" }[total.source];
  return `In all, ${first} ${mean} (${lower} to ${upper})${total.source ? `; ${counted}` : ""}.`;
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
