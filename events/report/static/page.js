// Shared by the other modules: data, descriptions, and the current choice of the user.

import { jsonOf, plain, plural, whole } from "../../pages/static/elements.js";

export const counts = jsonOf("counts");
export const specifications = jsonOf("charts");
export const { periods, countries, documents, evidence } = counts;

// Indices of country, period and evidence row (-1: none), and scope and order of the list.
export const choice = { country: 0, period: -1, scope: "all", order: "half", row: -1 };

export function range(country, i) {
  return `${plain(country.lower[i])} to ${plain(country.upper[i])}`;
}

// Describe a count in one line.
export function described(country, i) {
  const [label, , , n] = periods[i];
  return (
    `${label}: mean ${plain(country.mean[i])}, ${100 * counts.level}% interval ${range(country, i)}, ` +
    `one best ${whole(country.oneBest[i])}, of ${plural(n, "document", "documents")}`
  );
}

// The label of a row of evidence: yes, no, unsure, or "" without one.
export const labelled = (row) => evidence.label?.[row] ?? "";

// Rows of evidence by country and period.
export const rowsOf = new Map();
for (let row = 0; row < evidence.document.length; row++) {
  const key = evidence.country[row] * periods.length + evidence.period[row];
  if (!rowsOf.has(key)) rowsOf.set(key, []);
  rowsOf.get(key).push(row);
}
