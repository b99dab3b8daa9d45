// One document: its text, its label, and the model's P once it has a label.

import { byId, element, headOf, markedText, packedContents, probability, whole } from "./elements.js";
import { drawAnswers } from "./answers.js";
import { nLabelled, progress } from "./progress.js";
import { nDocuments, sheetPlace, sheet, sheetDocuments } from "./sheet.js";

const contentOf = packedContents("texts", sheet.perPart);

const isChecked = (id) => byId(id).checked;

export const textAt = async (i) => (await contentOf(i)).text.map(([, piece]) => piece).join("");

// The model's P in words; empty if it is not to be shown.
export async function modelWords(i) {
  if (!isChecked("show-p") || progress.labels[i] === "") return "";
  const { p } = await contentOf(i);
  if (sheet.kind === "yes-no") return `Model: P = ${probability(p.length ? p[0][1] : 0)}.`;
  const named = [...p].sort((a, b) => b[1] - a[1]).slice(0, 5).map(([a, value]) => `${sheet.actors[a][0]} ${probability(value)}`);
  return p.length ? `Model: P of ${named.join(", ")}; of all others ${p.length > 5 ? "less" : "0"}.` : `Model: P = 0 for all ${sheet.kind}.`;
}

export function drawProgress() {
  const n = nLabelled();
  byId("bar").max = nDocuments;
  byId("bar").value = n;
  byId("count").textContent = `${whole(n)} of ${whole(nDocuments)} labelled`;
  byId("done-note").hidden = n < nDocuments;
  byId("not-kept").hidden = progress.isKept;
}

const shortLabel = (label) => (label === "" ? "" : `: ${label}`);

export function drawChoices() {
  const options = sheetDocuments.doc_id.map((_, i) => element("option", { value: String(i) }, `${i + 1}${shortLabel(progress.labels[i])}`));
  byId("jump").replaceChildren(...options);
}

export function redrawChoice(i) {
  byId("jump").options[i].textContent = `${i + 1}${shortLabel(progress.labels[i])}`;
}

export async function drawArticle() {
  const i = sheetPlace.shown;
  const label = progress.labels[i];
  byId("heading").textContent = `Document ${whole(i + 1)} of ${whole(nDocuments)}`;
  byId("jump").value = String(i);
  byId("date").textContent = sheetDocuments.date[i];
  byId("doc-id").textContent = sheetDocuments.doc_id[i];
  byId("given").textContent = label === "" ? "no label yet" : `label: ${label}`;
  byId("note").value = progress.notes[i];
  byId("back").setAttribute("aria-disabled", String(i === 0));
  drawAnswers(label);
  const [{ text, left_out: leftOut }, words] = await Promise.all([contentOf(i), modelWords(i)]);
  if (sheetPlace.shown !== i) return; // another one was chosen meanwhile
  byId("model").textContent = words;
  const pieces = isChecked("marks") ? markedText(text) : [text.map(([, piece]) => piece).join("")];
  byId("text").replaceChildren(...headOf(leftOut), ...pieces);
  if (text.every(([, piece]) => piece === "")) {
    byId("text").replaceChildren(element("p", { class: "help" }, "This sheet has no text for the document; look it up by its id."));
  }
  document.documentElement.dataset.shown = String(i);
}
