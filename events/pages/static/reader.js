// One document: its text with mentions, and the likeliest antecedents of each.

import { byId, digits, element, headOf, markedText, markHits, plural, wordsOf } from "./elements.js";
import { remember } from "./address.js";
import { focusItem, items } from "./listing.js";
import { showDesk } from "./desk.js";
import { actors, choice, documents, evidence, labelled, learnedP, readerText } from "./page.js";
import { headlineOf, markedTokens, sentenceOf } from "./sentences.js";
import { textOf } from "./texts.js";

const COLOURS = 7;
const SHOWN_AT_FIRST = 4; // mentions that make an event
let reading = null; // {content, row, event, spans}
let pinned = -1; // the mention that a click or Enter keeps in view

function pin(i) {
  pinned = i;
  byId("mention").classList.toggle("kept", i >= 0); // a narrow page shows antecedents only then
}

const isEstimate = () => byId("entities").value === "estimate";
const entityOf = (content, i) => (isEstimate() ? content.estimate[i] : content.mentions[i].entity);
const mentionOf = (content, i) => {
  const { start, end } = content.mentions[i];
  return { i, start, end, entity: entityOf(content, i) };
};
const mentionCount = (content) => content.mentions.length;
const firstMention = () => reading.event.instances[0]?.mentions[0] ?? -1;

function words(content, start, end, most = 14) {
  const text = content.tokens.slice(start, Math.min(end, start + most)).join("").trim();
  return end - start > most ? `${text} …` : text;
}

export function closeReader() {
  choice.row = -1;
  reading = null;
  byId("reader").hidden = true;
  byId("documents").classList.remove("reading-one");
  for (const button of items()) button.removeAttribute("aria-current");
}

// Open a document; `isNew`: chosen here, not in the address, so that it is kept there and shown.
export async function openDocument(row, isNew = true) {
  choice.row = row;
  let content;
  try {
    content = await textOf(row);
  } catch (error) {
    byId("status").textContent = `This browser cannot unpack the texts of the page: ${error.message}`;
    return;
  }
  if (choice.row !== row) return;
  for (const button of items()) {
    if (Number(button.dataset.row) === row) button.setAttribute("aria-current", "true");
    else button.removeAttribute("aria-current");
  }
  reading = { content, row, event: content.events[evidence.actor[row]] };
  pin(-1);
  byId("reader").hidden = false;
  byId("documents").classList.add("reading-one");
  byId("reader-heading").textContent = headlineOf(content) || documents.id[evidence.document[row]];
  drawFacts();
  showDesk(byId("reader-label"), documents.id[evidence.document[row]], labelled(row));
  drawText();
  showMention(firstMention());
  if (isNew) {
    remember();
    byId("reader-heading").focus({ preventScroll: true });
  }
  const first = byId("text").querySelector("mark.hit") ?? byId("text").querySelector("mark.trigger");
  if (first) byId("text").scrollTop = first.closest("p").offsetTop - 80;
  if (isNew && (byId("reader").getBoundingClientRect().top > innerHeight * 0.7 || innerWidth < 900)) byId("reader").scrollIntoView();
}

// A mention's words, as a button that moves to it in the text.
function link(content, i) {
  const { start, end, entity } = mentionOf(content, i);
  const button = element("button", { type: "button", class: "link", dir: "auto" }, words(content, start, end));
  button.addEventListener("click", () => goTo(i));
  return element("span", {}, button, entity ? ` (entity ${entity})` : "");
}

function drawFacts() {
  const { content, row, event } = reading;
  const actor = actors[evidence.actor[row]];
  const line = element("p", { class: "verdict" },
    element("b", {}, `P(${actor.name}) = ${digits(3)(evidence.probability[row])}`),
    ` ± ${digits(3)(evidence.error[row])} (Monte Carlo error of the samples); the one best resolution ${evidence.oneBest[row] ? "has" : "does not have"} the event; ` +
      (readerText(row) ? `P that a reader says yes, by other rules: ${readerText(row)}; ` : "") +
      (learnedP(row) === null ? "" : `P that a reader says yes = ${digits(3)(learnedP(row))}; `) +
      `${headlineOf(content) ? `${documents.id[evidence.document[row]]}, ` : ""}${documents.date[evidence.document[row]]}${labelled(row) ? `; labelled ${labelled(row)}` : ""}`,
  );
  const head = element("tr", {}, ...["P", "What made it", ""].map((text) => element("th", { scope: "col" }, text)));
  const instances = event.instances.map(({ trigger, mentions, p, reports }) => element("tr", {},
    element("td", {}, digits(3)(p / 1000)),
    element("td", {}, ...mentions.flatMap((i, n) => (n ? [" > ", link(content, i)] : [link(content, i)]))),
    element("td", {}, "in the role at ", element("mark", { class: "trigger" }, content.tokens[trigger].trim()), `, sentence ${sentenceOf(content, trigger) + 1}`,
      reports < 1000 ? `; it reports the event with probability ${digits(3)(reports / 1000)}` : ""),
  ));
  const descriptions = event.descriptions.map(({ mention: i, words: [start, end], p, stands_for: code }) => element("tr", {},
    element("td", {}, digits(3)(p / 1000)),
    element("td", {}, link(content, i)),
    element("td", {}, code ? `may stand for ${code}, named in this text: ` : "described by ", element("mark", { class: "word" }, words(content, start, end)), `, sentence ${sentenceOf(content, start) + 1}`),
  ));
  const rows = [...instances, ...descriptions];
  rows.slice(SHOWN_AT_FIRST).forEach((line) => (line.hidden = true));
  const more = element("button", { type: "button", class: "link", hidden: rows.length <= SHOWN_AT_FIRST }, `${rows.length - SHOWN_AT_FIRST} more`);
  more.addEventListener("click", () => {
    rows.forEach((line) => (line.hidden = false));
    more.hidden = true;
  });
  const reasons = event.reasons.map(({ text, p, mentions }) => element("tr", {},
    element("td", {}, digits(3)(p / 1000)),
    element("td", {}, text, ...mentions.flatMap((i, n) => [n ? ", " : ": ", link(content, i)])),
  ));
  const without = element("div", { class: "scroll", hidden: !reasons.length }, element("table", { class: "made reasons" },
    element("caption", {}, "In the samples without the event: what the role has instead"),
    element("thead", { class: "unseen" }, element("tr", {}, ...["Share", "Reason"].map((text) => element("th", { scope: "col" }, text)))),
    element("tbody", {}, ...reasons),
  ));
  const caption = element("caption", { class: "unseen" }, "Mentions that make the event, with the share of samples in which they do");
  const about = element("dl", { class: "about" }, ...content.about.flatMap(([name, value]) => [
    element("dt", { dir: "auto" }, name), element("dd", { dir: "auto" }, value),
  ]));
  byId("reader-facts").replaceChildren(line, about,
    element("div", { class: "scroll" }, element("table", { class: "made" }, caption, element("thead", { class: "unseen" }, head), element("tbody", {}, ...rows)), more), without,
  );
}

// Number of levels of mentions nested inside each mention, so that their underlines do not touch.
function heights(content) {
  const levels = new Array(mentionCount(content)).fill(0);
  const open = [];
  const parents = levels.map((_, i) => {
    const { start, end } = mentionOf(content, i);
    while (open.length && open[open.length - 1].end < end) open.pop();
    while (open.length && open[open.length - 1].end <= start) open.pop();
    const parent = open.length ? open[open.length - 1].i : -1;
    open.push({ i, end });
    return parent;
  });
  for (let i = levels.length - 1; i >= 0; i--) {
    if (parents[i] >= 0) levels[parents[i]] = Math.max(levels[parents[i]], levels[i] + 1);
  }
  return levels;
}

function drawText() {
  const { content, event } = reading;
  const kinds = markedTokens(event);
  const marked = new Set([...kinds.keys(), ...event.instances.flatMap(({ mentions }) => mentions.map((i) => mentionOf(content, i).start))]);
  const height = heights(content);
  const starts = new Map();
  for (let i = 0; i < mentionCount(content); i++) {
    const mention = mentionOf(content, i);
    if (!starts.has(mention.start)) starts.set(mention.start, []);
    starts.get(mention.start).push(mention);
  }
  reading.spans = new Map();
  let open = []; // mentions that have not ended, the outermost first; they may cross, and continue in the next sentence
  const paragraphs = content.sentences.map((first, s) => {
    const after = content.sentences[s + 1] ?? content.tokens.length;
    const line = element("p", { class: "sentence", dir: "auto" });
    let stack = [];
    const place = () => (stack.length ? stack[stack.length - 1].span : line);
    const enter = (mention) => {
      const span = spanOf(mention, height[mention.i]);
      place().append(span);
      stack.push({ mention, span });
    };
    for (let t = first; t < after; t++) {
      const word = content.tokens[t];
      // Close mentions that have ended; those inside them that have not ended continue in new spans.
      const ended = stack.findIndex(({ mention }) => mention.end <= t);
      const continued = ended < 0 ? [] : stack.splice(ended).filter(({ mention }) => mention.end > t);
      if (word.startsWith(" ") && t > first) place().append(" ");
      continued.forEach(({ mention }) => enter(mention));
      if (t === first) open.filter((mention) => mention.end > t).forEach(enter);
      (starts.get(t) ?? []).forEach(enter);
      const text = word.trimStart();
      place().append(...markedText([[kinds.get(t) ?? 0, text]]));
      for (const { mention, span } of stack) if (mention.end === t + 1 && mention.entity) span.append(element("sup", {}, String(mention.entity)));
      if (marked.has(t)) line.classList.add("of-event");
    }
    open = stack.map(({ mention }) => mention).filter((mention) => mention.end > after);
    return line;
  });
  byId("text").replaceChildren(...headOf(content.left_out), ...paragraphs);
  markHits(byId("text"), wordsOf(choice.words));
  const hits = byId("text").querySelectorAll("mark.hit");
  byId("next-hit").hidden = !hits.length;
  byId("next-hit").textContent = `Next of ${plural(hits.length, "hit", "hits")}`;
  reading.hit = 0;
  byId("text").classList.toggle("only-events", byId("only-events").checked);
}

function spanOf({ i, entity }, height) {
  const kind = entity ? `k${(entity - 1) % COLOURS + 1} group` : "single";
  const span = element("span", { class: `mention ${kind} h${Math.min(height, 3)}`, "data-mention": String(i), tabIndex: -1 });
  if (!reading.spans.has(i)) reading.spans.set(i, []);
  reading.spans.get(i).push(span);
  return span;
}

function nextHit() {
  const hits = byId("text").querySelectorAll("mark.hit");
  reading.hit = (reading.hit + 1) % hits.length;
  byId("text").scrollTop = hits[reading.hit].closest("p").offsetTop - 80;
  if (byId("text").scrollHeight <= byId("text").clientHeight) hits[reading.hit].scrollIntoView({ block: "center" });
}

// The words of the search have changed.
export function redrawText() {
  if (!reading) return;
  drawText();
  showMention(pinned >= 0 ? pinned : firstMention());
}

// --- antecedents of one mention ---

function row(p, what, best) {
  const bar = element("span", { class: "bar", "aria-hidden": "true" }, element("span", { class: "fill" }));
  bar.firstChild.style.width = `${p / 10}%`;
  const chosen = best ? element("span", { class: "tag" }, "one best") : null;
  return element("li", {}, element("span", { class: "p" }, digits(3)(p / 1000)), bar, element("span", {}, what, " ", chosen ?? ""));
}

function showMention(i) {
  for (const span of byId("text").querySelectorAll(".chosen, .same, .antecedent")) span.classList.remove("chosen", "same", "antecedent");
  if (i < 0 || !reading) {
    byId("mention-body").replaceChildren(element("p", { class: "help" }, "No mention chosen."));
    return;
  }
  const { content, spans } = reading;
  const { start, end, entity } = mentionOf(content, i);
  const best = content.best[i];
  const rows = [];
  for (const { antecedent: k, p } of content.links[i]) {
    rows.push([p, row(p, element("span", {}, link(content, k), ` sentence ${sentenceOf(content, mentionOf(content, k).start) + 1}`), k === best)]);
    spans.get(k)?.forEach((span) => span.classList.add("antecedent"));
  }
  rows.push([content.new[i], row(content.new[i], element("span", {}, "a new entity"), best < 0)]);
  rows.sort((a, b) => b[0] - a[0]);
  const rest = 1000 - rows.reduce((sum, [p]) => sum + p, 0);
  if (rest >= 5) rows.push([rest, row(rest, element("span", {}, "all others"), false)]);
  if (entity) spans.forEach((several, k) => entityOf(content, k) === entity && several.forEach((span) => span.classList.add("same")));
  spans.get(i)?.forEach((span) => span.classList.add("chosen"));
  const size = content.estimate.filter((_, k) => entityOf(content, k) === entity).length;
  const clustering = isEstimate() ? "the Binder estimate" : "the single best resolution";
  byId("mention-body").replaceChildren(
    element("p", { class: "quoted", dir: "auto" }, `“${words(content, start, end)}”`),
    element("p", {}, entity ? `Entity ${entity}, ${plural(size, "mention", "mentions")} in ${clustering}. Likeliest antecedents:` : `Alone in ${clustering}. Likeliest antecedents:`),
    element("ul", { class: "antecedents" }, ...rows.map(([, item]) => item)),
  );
}

function goTo(i) {
  const span = reading.spans.get(i)?.[0];
  if (!span) return;
  byId("only-events").checked = byId("only-events").checked && span.closest("p").classList.contains("of-event");
  byId("text").classList.toggle("only-events", byId("only-events").checked);
  pin(i);
  showMention(i);
  for (const other of byId("text").querySelectorAll('.mention[tabindex="0"]')) other.tabIndex = -1;
  span.tabIndex = 0;
  span.focus();
}

const mentionUnder = (target) => {
  const span = target.closest?.(".mention");
  return span && byId("text").contains(span) ? Number(span.dataset.mention) : -1;
};

export function listenToReader() {
  const text = byId("text");
  byId("only-events").addEventListener("change", (event) => text.classList.toggle("only-events", event.target.checked));
  byId("entities").addEventListener("change", () => {
    if (reading) drawFacts();
    redrawText();
  });
  byId("next-hit").addEventListener("click", nextHit);
  byId("close-mention").addEventListener("click", () => {
    pin(-1);
    byId("text").focus();
  });
  text.addEventListener("pointerover", (event) => {
    const i = mentionUnder(event.target);
    if (pinned < 0 && i >= 0) showMention(i);
  });
  text.addEventListener("click", (event) => {
    const i = mentionUnder(event.target);
    if (i >= 0 && i !== pinned) goTo(i);
    else pin(-1);
  });
  text.addEventListener("keydown", (event) => {
    const isVisible = (i) => i >= 0 && i < mentionCount(reading.content) && reading.spans.get(i)?.[0].offsetParent;
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step) {
      let i = mentionUnder(document.activeElement);
      if (i < 0) i = step > 0 ? Math.max(firstMention(), 0) - 1 : mentionCount(reading.content);
      for (i += step; i >= 0 && i < mentionCount(reading.content) && !isVisible(i); ) i += step;
      if (isVisible(i)) goTo(i);
    } else if (event.key === "Enter" && mentionUnder(document.activeElement) >= 0) {
      goTo(mentionUnder(document.activeElement));
    } else return;
    event.preventDefault();
  });
  byId("reader").addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    pin(-1);
    focusItem(items().find((button) => Number(button.dataset.row) === choice.row) ?? items()[0]);
  });
}
