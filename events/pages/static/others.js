// Documents without evidence: browsed by what was found in them, and searched.

import { byId, element, markedText, markHits, plural, probability, whole, wordsOf } from "./elements.js";
import { parkDesk, showDesk } from "./desk.js";
import { choice, counts, periods } from "./page.js";
import { piecesOf } from "./texts.js";

const OTHERS_AT_ONCE = 50;
const { others } = counts;
let found = []; // numbers of documents
let drawnOthers = 0;
let otherSearches = 0;

const kindName = (kind) => byId("kind").querySelector(`option[value="${kind}"]`).dataset.name;

async function matches(number, words) {
  const text = (await piecesOf(number)).map(([, piece]) => piece).join("");
  const all = `${others.id[number]}\n${others.date[number]}\n${text}`.toLowerCase();
  return words.every((word) => all.includes(word));
}

async function drawOthers() {
  const search = ++otherSearches;
  const kind = byId("kind").value;
  const words = wordsOf(byId("search").value);
  const { start, end } = periods[byId("other-period").value] ?? { start: -Infinity, end: Infinity };
  const inPeriod = (number) => Date.parse(others.date[number]) >= start && Date.parse(others.date[number]) < end;
  const inKind = others.id.map((_, number) => number).filter(inPeriod).filter((number) =>
    kind === "all" || (kind === "labelled" ? others.label[number] !== "" : others.kind[number] === Number(kind)));
  const isFound = await Promise.all(inKind.map((number) => matches(number, words)));
  if (search !== otherSearches) return; // another search has begun
  found = inKind.filter((_, k) => isFound[k]);
  if (byId("other-order")?.value === "learned") found.sort((a, b) => others.learned[b] - others.learned[a] || a - b);
  drawnOthers = 0;
  parkDesk();
  byId("other-list").replaceChildren();
  byId("other-status").textContent = words.length
    ? `${plural(found.length, "document", "documents")} of ${whole(inKind.length)} in this page with ${words.join(", ")}.`
    : `${plural(found.length, "document", "documents")} in this page.`;
  drawMoreOthers();
  document.documentElement.dataset.others = String(search);
}

function drawMoreOthers() {
  const next = found.slice(drawnOthers, drawnOthers + OTHERS_AT_ONCE);
  byId("other-list").append(...next.map(otherItem));
  drawnOthers += next.length;
  byId("more-others").hidden = drawnOthers >= found.length;
  byId("more-others").textContent = `Show more (${whole(found.length - drawnOthers)} left)`;
}

// The sentence with the first hit of a search, or else with a trigger or a name; pieces of a text have a line a sentence.
async function drawLine(number, node) {
  const words = wordsOf(byId("search").value);
  const lines = [[]];
  for (const [kind, text] of await piecesOf(number)) {
    text.split("\n").forEach((part, k) => {
      if (k) lines.push([]);
      lines[lines.length - 1].push([kind, part]);
    });
  }
  const hasHit = (line) => words.some((word) => line.map(([, text]) => text).join("").toLowerCase().includes(word));
  const hasKind = (wanted) => (line) => line.some(([kind]) => kind === wanted);
  const line = lines.find(hasHit) ?? lines.find(hasKind(1)) ?? lines.find(hasKind(2)) ?? lines[0];
  node.replaceChildren(...markedText(line));
  markHits(node, words);
}

function otherItem(number) {
  const label = others.label[number];
  const missed = label !== "" && label !== "no" && label !== "none";
  const title = element("summary", {},
    element("span", { class: "name", dir: "auto" }, others.id[number]), " ",
    element("span", { class: "help" }, `${others.date[number]}, ${kindName(others.kind[number])}`), " ",
    label ? element("span", { class: missed ? "tag missed" : "tag" }, `labelled ${label}`) : null,
    others.learned ? element("span", { class: "tag" }, `learned P ${probability(others.learned[number])}`) : null,
  );
  const details = element("details", {}, title);
  details.addEventListener("toggle", async () => {
    if (!details.open) return;
    showDesk(details, others.id[number], label);
    if (details.querySelector(".other-text")) return;
    const pieces = await piecesOf(number);
    const text = pieces.length ? markedText(pieces) : ["The text was not found: the run's input is missing."];
    const whole = element("div", { class: "other-text", dir: "auto" }, ...text);
    markHits(whole, wordsOf(byId("search").value));
    title.after(whole);
    whole.querySelector("mark.hit")?.scrollIntoView({ block: "nearest" });
  });
  const quote = element("p", { class: "quote", dir: "auto" });
  drawLine(number, quote);
  return element("li", {}, details, quote);
}

export function startOthers() {
  if (!others) return;
  byId("other-period").addEventListener("change", drawOthers);
  byId("other-order")?.addEventListener("change", drawOthers);
  byId("zero")?.addEventListener("click", () => {
    byId("other-period").value = String(choice.period);
    drawOthers();
    byId("others").scrollIntoView();
    byId("kind").focus({ preventScroll: true });
  });
  byId("kind").addEventListener("change", drawOthers);
  byId("search").addEventListener("input", drawOthers);
  byId("more-others").addEventListener("click", () => {
    const before = drawnOthers;
    drawMoreOthers();
    byId("other-list").children[before].querySelector("summary").focus();
  });
  drawOthers();
}
