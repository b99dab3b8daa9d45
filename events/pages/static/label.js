// Start: keys, buttons and options.

import { byId } from "./elements.js";
import { answerKey, listenToAnswers } from "./answers.js";
import { drawArticle, drawChoices, drawProgress, modelWords, redrawChoice, textAt } from "./article.js";
import { exported, exportSheet } from "./export.js";
import { listenToImport } from "./import.js";
import { listenToOthers, optionOf, progress, restoreLabels, setEntry, setLabeller, setOption, unlabelledFrom } from "./progress.js";
import { isResolving, nDocuments, sheetPlace } from "./sheet.js";

async function show(i) {
  if (i < 0 || i >= nDocuments) return;
  sheetPlace.shown = i;
  await drawArticle();
  scrollTo(0, 0);
  byId("heading").focus({ preventScroll: true });
}

// Label the document that is shown, and go on: to the next one, at the end to the first without a label, if there is one.
async function give(label) {
  const i = sheetPlace.shown;
  setEntry(i, label, byId("note").value);
  exported.isComplete = false;
  redrawChoice(i);
  drawProgress();
  const words = await modelWords(i);
  byId("status").textContent = `Document ${i + 1}: ${label}. ${words}`;
  const first = unlabelledFrom(0);
  await show(first < 0 ? i : i + 1 < nDocuments ? i + 1 : first);
  if (first < 0) byId("export").focus();
}

const actions = {
  b: () => show(sheetPlace.shown - 1),
  arrowleft: () => show(sheetPlace.shown - 1),
  arrowright: () => show(sheetPlace.shown + 1),
  f: () => show(unlabelledFrom(sheetPlace.shown + 1)),
  t: () => byId("note").focus(),
  h: () => byId("marks").click(),
  e: async () => (byId("status").textContent = await exportSheet(textAt)),
};

function onKey(event) {
  if (event.ctrlKey || event.altKey || event.metaKey || event.repeat) return;
  if (event.target.id === "note" && event.key === "Escape") byId("heading").focus();
  if (event.target.closest("input:not([type=checkbox]), textarea, select")) return;
  if (!byId("shortcuts").checked) return;
  const key = event.key.toLowerCase();
  if (key === "enter" && event.target.closest("button, summary, input")) return;
  if (actions[key]) actions[key]();
  else if (!answerKey(key, give)) return;
  event.preventDefault();
}

function listenToOptions() {
  for (const id of ["marks", "show-p", "shortcuts"]) {
    byId(id).checked = optionOf(id, byId(id).checked);
    byId(id).addEventListener("change", () => {
      setOption(id, byId(id).checked);
      drawArticle();
    });
  }
  byId("labeller").value = progress.labeller;
  byId("labeller").readOnly = isResolving;
  byId("labeller").addEventListener("change", () => {
    setLabeller(byId("labeller").value.trim());
    redraw();
  });
}

function redraw() {
  drawChoices();
  drawProgress();
  drawArticle();
}

function listenToButtons() {
  byId("back").addEventListener("click", actions.b);
  byId("next").addEventListener("click", actions.arrowright);
  byId("first").addEventListener("click", actions.f);
  byId("export").addEventListener("click", actions.e);
  byId("jump").addEventListener("change", () => show(Number(byId("jump").value)));
  byId("note").addEventListener("input", () => {
    setEntry(sheetPlace.shown, progress.labels[sheetPlace.shown], byId("note").value);
    drawProgress();
  });
  addEventListener("keydown", onKey);
  addEventListener("beforeunload", (event) => {
    if (!progress.isKept && !exported.isComplete) event.preventDefault();
  });
}

restoreLabels();
sheetPlace.shown = Math.max(0, unlabelledFrom(0));
listenToAnswers(give);
listenToOptions();
listenToButtons();
listenToOthers(redraw);
listenToImport(redraw);
redraw();
