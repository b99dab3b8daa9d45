// The list of documents: the most uncertain of all actors, those of one actor, or those of one period.

import { byId, element, markedText, markHits, plural, probability, whole, wordsOf } from "./elements.js";
import { csvText, saveText } from "./files.js";
import { remember } from "./address.js";
import { labelHere } from "./desk.js";
import { actors, ask, choice, counts, documents, evidence, labelled, learnedP, periods, readerText, rowsOf } from "./page.js";
import { eventSentences, headlineOf } from "./sentences.js";
import { hasText, plainText, textOf } from "./texts.js";

const AT_ONCE = 50;
const isChosen = new Set(counts.chosen ?? []); // documents whose label is not of a sample
let listed = []; // rows of evidence
let shown = 0;
let searches = 0;

// How far P is from the label; documents without a yes or no come last.
const misjudged = (row) => ({ yes: 1 - evidence.probability[row], no: evidence.probability[row] })[labelled(row)] ?? -1;

const orders = {
  half: (a, b) => Math.abs(evidence.probability[a] - 0.5) - Math.abs(evidence.probability[b] - 0.5) || a - b,
  high: (a, b) => evidence.probability[b] - evidence.probability[a] || a - b,
  learned: (a, b) => (learnedP(b) ?? -1) - (learnedP(a) ?? -1) || a - b,
  label: (a, b) => misjudged(b) - misjudged(a) || a - b,
  date: (a, b) => (documents.date[evidence.document[a]] < documents.date[evidence.document[b]] ? -1 : 1),
};

function scopes() {
  const actor = actors[choice.actor].name;
  const rows = [["all", "all actors"], ["actor", actor]];
  if (choice.period >= 0) rows.push(["period", `${actor}, ${periods[choice.period].label}`]);
  return rows;
}

export function drawScopes() {
  byId("scope").replaceChildren(...scopes().map(([value, text]) => element("option", { value }, text)));
  byId("scope").value = choice.scope;
}

// All events: an outcome has the documents of other events, which are listed for those.
function rowsInScope() {
  if (choice.scope === "all") return evidence.document.map((_, row) => row).filter((row) => !actors[evidence.actor[row]].isUnion);
  if (choice.scope === "actor") return evidence.document.map((_, row) => row).filter((row) => evidence.actor[row] === choice.actor);
  return [...(rowsOf.get(choice.actor * periods.length + choice.period) ?? [])];
}

const ORDERED = {
  half: "the most uncertain documents",
  high: "the likeliest documents",
  learned: "documents of which a reader likeliest says yes",
  label: "documents whose P is furthest from the label",
  date: "documents by date",
};

function heading() {
  const actor = actors[choice.actor].name;
  const ordered = ORDERED[choice.order];
  if (choice.scope === "all") return ordered[0].toUpperCase() + ordered.slice(1);
  return `${actor}${choice.scope === "period" ? `, ${periods[choice.period].label}` : ""}: ${ordered}`;
}

// Words are searched in ids, dates and texts, which are unpacked for that.
async function hasWords(row, words) {
  const d = evidence.document[row];
  const text = hasText(row) ? await plainText(row) : "";
  const all = `${documents.id[d]}\n${documents.date[d]}\n${text}`.toLowerCase();
  return words.every((word) => all.includes(word));
}

export async function drawList() {
  const search = ++searches;
  const rows = rowsInScope().sort(orders[choice.order]);
  const words = wordsOf(choice.words);
  if (!words.length) {
    drawRows(rows);
    return;
  }
  const isFound = await Promise.all(rows.map((row) => hasWords(row, words)));
  if (search === searches) drawRows(rows.filter((_, k) => isFound[k]));
}

function drawRows(rows) {
  listed = rows;
  shown = 0;
  byId("order").value = choice.order;
  byId("documents-heading").textContent = heading();
  byId("list").replaceChildren();
  byId("list").scrollTop = 0;
  drawMore();
  const found = choice.words.trim() ? ` and “${choice.words.trim()}”` : "";
  const n = new Set(listed.map((row) => evidence.document[row])).size;
  const twice = n < listed.length ? `; one with an event of several actors is listed for each, ${whole(listed.length)} lines` : "";
  const size = `${plural(n, "document", "documents")} with P(event) above 0${found}${twice}`;
  const texts = listed.filter(hasText).length;
  byId("status").textContent = texts < listed.length ? `${size}; this page has the text of ${whole(texts)}.` : `${size}.`;
}

function drawMore() {
  const next = listed.slice(shown, shown + AT_ONCE);
  const lines = next.map(item);
  byId("list").append(...lines);
  drawQuotes(next, lines);
  shown += next.length;
  byId("more").hidden = shown >= listed.length;
  byId("more").textContent = `Show more (${whole(listed.length - shown)} left)`;
  makeRoving();
}

// Headlines and sentences come when their texts are unpacked, so that the list need not wait for them.
async function drawQuotes(rows, lines) {
  const search = searches;
  const words = wordsOf(choice.words);
  await Promise.all(rows.map(async (row, k) => {
    if (!hasText(row)) return;
    const content = await textOf(row);
    const [line, quote] = [".headline", ".quote"].map((name) => lines[k].querySelector(name));
    line.textContent = headlineOf(content);
    quote.replaceChildren(...markedText(eventSentences(content, content.events[evidence.actor[row]], words)));
    markHits(quote, words);
  }));
  if (search === searches) document.documentElement.dataset.quotes = String(shown);
}

function item(row) {
  const d = evidence.document[row];
  const p = evidence.probability[row];
  const bar = element("span", { class: "bar", "aria-hidden": "true" }, element("span", { class: "fill" }));
  bar.firstChild.style.width = `${100 * p}%`;
  const text = hasText(row);
  const facts = element("span", { class: "facts" },
    element("span", { class: "name", dir: "auto" }, documents.id[d]),
    element("span", {}, documents.date[d]),
    choice.scope === "period" ? null : element("span", {}, actors[evidence.actor[row]].name),
    evidence.oneBest[row] ? element("span", { class: "tag", title: "the one best resolution has the event" }, "one best") : null,
    readerText(row) ? element("span", { class: "tag", title: "P that a reader says yes, by other rules that were read" }, `reader ${readerText(row)}`) : null,
    learnedP(row) === null ? null : element("span", { class: "tag", title: "P that a reader says yes" }, `learned P ${probability(learnedP(row))}`),
    labelled(row) ? element("span", { class: "tag" }, `labelled ${labelled(row)}${isChosen.has(documents.id[d]) ? ", chosen" : ""}`) : null,
    labelHere(documents.id[d]) ? element("span", { class: "tag" }, `labelled here ${labelHere(documents.id[d])}`) : null,
    text ? null : element("span", { class: "tag" }, "text left out"),
  );
  const button = element("button", { type: "button", class: "item", "data-row": String(row), "aria-disabled": String(!text) },
    element("span", { class: "p" }, element("span", { class: "unseen" }, "P "), probability(p)), bar,
    element("span", { class: "quoted-text" }, element("span", { class: "headline", dir: "auto" }), element("span", { class: "quote", dir: "auto" }), facts),
  );
  if (row === choice.row) button.setAttribute("aria-current", "true");
  button.addEventListener("click", () => text && ask("document", row));
  return element("li", {}, button);
}

// The list as a table in which labels and notes can be filled in.
async function listRows() {
  const named = counts.columns.slice(0, counts.columns.indexOf("period")); // event and roles
  const rows = [["doc_id", "date", "period", ...named, "probability", "mc_se", "one_best", "text", "label", "note"]];
  for (const row of listed) {
    const d = evidence.document[row];
    const text = hasText(row) ? await plainText(row) : "";
    const { same } = actors[evidence.actor[row]];
    const about = [documents.id[d], documents.date[d], periods[evidence.period[row]]?.label ?? "undated", ...named.map((name) => same[name])];
    rows.push([...about, evidence.probability[row], evidence.error[row], evidence.oneBest[row], text, labelled(row), ""]);
  }
  return rows;
}

// The list is one stop for the tab key; arrow keys move inside.
function makeRoving() {
  const buttons = items();
  const current = buttons.find((button) => button.tabIndex === 0 && button.dataset.roving) ?? buttons[0];
  for (const button of buttons) {
    button.dataset.roving = "yes";
    button.tabIndex = button === current ? 0 : -1;
  }
}

export const items = () => [...byId("list").querySelectorAll("button.item")];

export function focusItem(button) {
  if (!button) return;
  for (const other of items()) other.tabIndex = other === button ? 0 : -1;
  button.focus();
}

export function focusFirst() {
  (items()[0] ?? byId("scope")).focus({ preventScroll: true });
}

export function listenToList() {
  byId("scope").addEventListener("change", (event) => {
    choice.scope = event.target.value;
    choice.order = choice.scope === "period" ? "high" : "half";
    drawList();
    remember();
  });
  byId("order").addEventListener("change", (event) => {
    choice.order = event.target.value;
    drawList();
    remember();
  });
  byId("find").addEventListener("input", (event) => {
    choice.words = event.target.value;
    drawList();
    ask("search");
    remember(false);
  });
  byId("save-list").addEventListener("click", async () => saveText(csvText(await listRows()), "documents.csv", "text/csv"));
  byId("more").addEventListener("click", () => {
    const before = items().length;
    drawMore();
    focusItem(items()[before]);
  });
  byId("list").addEventListener("keydown", (event) => {
    const buttons = items();
    const here = buttons.indexOf(document.activeElement);
    if (event.key === "Escape") byId("band").focus();
    else if (event.key === "ArrowDown") focusItem(buttons[here + 1]);
    else if (event.key === "ArrowUp") focusItem(buttons[here - 1]);
    else if (event.key === "Home") focusItem(buttons[0]);
    else if (event.key === "End") focusItem(buttons[buttons.length - 1]);
    else return;
    event.preventDefault();
  });
}
