// Shared by the other modules: data, elements, descriptions, and the current choice of the user.

// The page never makes HTML from text. The chart library clears an element once by an empty string; only that is allowed.
if (window.trustedTypes) {
  trustedTypes.createPolicy("default", { createHTML: (text) => (text === "" ? "" : null) });
}

export const byId = (id) => document.getElementById(id);
export const jsonOf = (id) => JSON.parse(byId(id).textContent);
export const counts = jsonOf("counts");
export const specifications = jsonOf("charts");
export const { periods, countries, documents, evidence } = counts;

// Indices of country, period and evidence row (-1: none), and scope and order of the list.
export const choice = { country: 0, period: -1, scope: "all", order: "half", row: -1 };

export function element(name, properties = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key === "class") node.className = value;
    else if (key in node) node[key] = value;
    else node.setAttribute(key, value);
  }
  node.append(...children.filter((child) => child !== null));
  return node;
}

export const digits = (n) => (value) =>
  value.toLocaleString("en", { minimumFractionDigits: n, maximumFractionDigits: n });
export const plain = (value) => value.toLocaleString("en", { maximumFractionDigits: 2 });
export const probability = digits(2);
export const whole = digits(0);

export function plural(count, one, many) {
  return `${whole(count)} ${count === 1 ? one : many}`;
}

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

// Rows of evidence by country and period.
export const rowsOf = new Map();
for (let row = 0; row < evidence.document.length; row++) {
  const key = evidence.country[row] * periods.length + evidence.period[row];
  if (!rowsOf.has(key)) rowsOf.set(key, []);
  rowsOf.get(key).push(row);
}
