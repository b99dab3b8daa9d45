// Documents without evidence: browsed by what was found in them, and searched.

import { byId, element, markedText, packedContents, plural, whole } from "./elements.js";
import { choice, counts, periods } from "./page.js";

const OTHERS_AT_ONCE = 50;
const { others } = counts;
const piecesOf = others ? packedContents("others", others.perPart) : null;
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
  const words = byId("search").value.toLowerCase().split(/\s+/).filter((word) => word);
  const { start, end } = periods[byId("other-period").value] ?? { start: -Infinity, end: Infinity };
  const inPeriod = (number) => Date.parse(others.date[number]) >= start && Date.parse(others.date[number]) < end;
  const inKind = others.id.map((_, number) => number).filter(inPeriod).filter((number) =>
    kind === "all" || (kind === "labelled" ? others.label[number] !== "" : others.kind[number] === Number(kind)));
  const isFound = await Promise.all(inKind.map((number) => matches(number, words)));
  if (search !== otherSearches) return; // another search has begun
  found = inKind.filter((_, k) => isFound[k]);
  drawnOthers = 0;
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

function otherItem(number) {
  const label = others.label[number];
  const missed = label !== "" && label !== "no" && label !== "none";
  const title = element("summary", {},
    element("span", { class: "name", dir: "auto" }, others.id[number]), " ",
    element("span", { class: "help" }, `${others.date[number]}, ${kindName(others.kind[number])}`), " ",
    label ? element("span", { class: missed ? "tag missed" : "tag" }, `labelled ${label}`) : null,
  );
  const details = element("details", {}, title);
  details.addEventListener("toggle", async () => {
    if (!details.open || details.querySelector(".other-text")) return;
    const pieces = await piecesOf(number);
    const text = pieces.length ? markedText(pieces) : ["The text was not found: the run's input is missing."];
    details.append(element("div", { class: "other-text", dir: "auto" }, ...text));
  });
  return element("li", {}, details);
}

export function startOthers() {
  if (!others) return;
  byId("other-period").addEventListener("change", drawOthers);
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
