// Labels that a reader gives on the page of a report: to documents that a person chose.

import { byId, plural } from "./elements.js";
import { drawAnswers, listenToAnswers } from "./answers.js";
import { exportSheet } from "./export.js";
import { listenToOthers, nLabelled, progress, restoreLabels, setEntry } from "./progress.js";
import { documents } from "./page.js";
import { sheetDocuments, sheetPlace } from "./sheet.js";
import { piecesOf, plainTextOf } from "./texts.js";

const desk = byId("desk");
const home = desk?.parentElement;
const sheetNumbers = new Map(sheetDocuments.doc_id.map((id, i) => [id, i]));
const evidenceNumbers = new Map(documents.id.map((id, d) => [id, d]));
const firstOther = documents.text.filter((text) => text >= 0).length;

// The label that was given here, or "".
export const labelHere = (docId) => progress.labels[sheetNumbers.get(docId)] ?? "";

async function textAtDesk(i) {
  if (i < firstOther) return plainTextOf(evidenceNumbers.get(sheetDocuments.doc_id[i]));
  return (await piecesOf(i - firstOther)).map(([, piece]) => piece).join("");
}

function drawDesk() {
  const label = progress.labels[sheetPlace.shown];
  drawAnswers(label);
  const n = nLabelled();
  const all = n ? `${plural(n, "document", "documents")} labelled on this page.` : "";
  byId("given-here").textContent = label ? `Your label: ${label}. ${all}` : all;
  byId("save-labels").hidden = !n;
}

function giveHere(label) {
  setEntry(sheetPlace.shown, label === progress.labels[sheetPlace.shown] ? "" : label, "");
  drawDesk();
}

// Show the answers in an element, for a document that has no label yet.
export function showDesk(container, docId, label) {
  if (!desk) return;
  const isOpen = sheetNumbers.has(docId) && !label;
  desk.hidden = !isOpen;
  if (!isOpen) return;
  container.append(desk);
  sheetPlace.shown = sheetNumbers.get(docId);
  drawDesk();
}

// Before its container goes.
export function parkDesk() {
  if (!desk) return;
  desk.hidden = true;
  home.append(desk);
}

export function startDesk() {
  if (!desk) return;
  restoreLabels();
  listenToAnswers(giveHere);
  listenToOthers(drawDesk);
  byId("save-labels").addEventListener("click", async () => (byId("given-here").textContent = await exportSheet(textAtDesk)));
}
