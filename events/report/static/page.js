// What the other parts share: elements, words, and the choice that is being looked at.

// The page makes no HTML of text. The chart library once clears an element by an empty string: that, and no more.
if (window.trustedTypes) {
  trustedTypes.createPolicy("default", { createHTML: (text) => (text === "" ? "" : null) });
}

const byId = (id) => document.getElementById(id);
const held = (id) => JSON.parse(byId(id).textContent);
const counts = held("counts");
const specifications = held("charts");
const { periods, countries, documents, evidence } = counts;

// Listing and place are set by what the reader of the page chooses.
const choice = { country: 0, period: -1, scope: "all", order: "half", row: -1 };

function element(name, properties = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key === "class") made.className = value;
    else if (key in made) made[key] = value;
    else made.setAttribute(key, value);
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}

const digits = (n) => (value) =>
  value.toLocaleString("en", { minimumFractionDigits: n, maximumFractionDigits: n });
const plain = (value) => value.toLocaleString("en", { maximumFractionDigits: 2 });
const probability = digits(2);
const whole = digits(0);

function plural(count, one, many) {
  return `${whole(count)} ${count === 1 ? one : many}`;
}

function range(country, i) {
  return `${plain(country.lower[i])} to ${plain(country.upper[i])}`;
}

// One line of a count, in words.
function described(country, i) {
  const [label, , , n] = periods[i];
  return (
    `${label}: mean ${plain(country.mean[i])}, ${100 * counts.level}% interval ${range(country, i)}, ` +
    `one best ${whole(country.oneBest[i])}, of ${plural(n, "document", "documents")}`
  );
}

// Rows of evidence by country and period.
const rowsOf = new Map();
for (let row = 0; row < evidence.document.length; row++) {
  const key = evidence.country[row] * periods.length + evidence.period[row];
  if (!rowsOf.has(key)) rowsOf.set(key, []);
  rowsOf.get(key).push(row);
}
