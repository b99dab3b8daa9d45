// Labels and notes of a labeller, kept in this browser: one entry per document, so that two windows do not undo each
// other's work.

import { sheetDocuments, isResolving, nDocuments, sheet } from "./sheet.js";

const PREFIX = `corefsample-audit-${sheet.plan}-${sheet.key}`;

export const progress = { labeller: "", labels: [], notes: [], isKept: true };

function stored(key) {
  try {
    return JSON.parse(localStorage.getItem(`${PREFIX}/${key}`));
  } catch {
    return null;
  }
}

function store(key, value) {
  try {
    if (value === null) localStorage.removeItem(`${PREFIX}/${key}`);
    else localStorage.setItem(`${PREFIX}/${key}`, JSON.stringify(value));
    progress.isKept = true;
  } catch {
    progress.isKept = false; // storage is switched off or full
  }
}

const entryKey = (labeller, i) => `labels/${encodeURIComponent(labeller)}/${i}`;

export function entryOf(labeller, i) {
  const entry = stored(entryKey(labeller, i));
  return Array.isArray(entry) && entry.length === 2 && entry.every((text) => typeof text === "string") ? entry : null;
}

export function storeEntry(labeller, i, label, note) {
  if (labeller === progress.labeller) {
    progress.labels[i] = label;
    progress.notes[i] = note;
  }
  store(entryKey(labeller, i), label || note ? [label, note] : null);
}

export const setEntry = (i, label, note) => storeEntry(progress.labeller, i, label, note);

function load() {
  for (let i = 0; i < nDocuments; i++) {
    const [label, note] = entryOf(progress.labeller, i) ?? ["", isResolving ? sheetDocuments.note[i] : ""];
    progress.labels[i] = label;
    progress.notes[i] = note;
  }
}

// Change the labeller. Labels given before there was a name become those of the first name.
export function setLabeller(name) {
  const { labels, notes, labeller } = progress;
  const entries = labels.map((label, i) => [label, notes[i]]);
  const isNew = sheetDocuments.doc_id.every((_, i) => entryOf(name, i) === null);
  progress.labeller = name;
  store("labeller", name);
  if (labeller === "" && name !== "" && isNew) {
    entries.forEach(([label, note], i) => {
      store(entryKey("", i), null);
      setEntry(i, label, note);
    });
  } else load();
}

export function setOption(name, value) {
  store(`option/${name}`, value);
}

export const optionOf = (name, otherwise) => stored(`option/${name}`) ?? otherwise;
export const nLabelled = () => progress.labels.filter((label) => label !== "").length;

// The first document without a label from a place on, or before it; -1: none.
export function unlabelledFrom(i) {
  const later = progress.labels.indexOf("", i);
  return later >= 0 ? later : progress.labels.indexOf("");
}

export function restoreLabels() {
  const name = stored("labeller");
  progress.labeller = isResolving ? sheetDocuments.labeller[0] : typeof name === "string" ? name : "";
  store("labeller", progress.labeller);
  load();
}

// Another window with the same sheet has changed something.
export function listenToOthers(redraw) {
  addEventListener("storage", (event) => {
    if (!event.key?.startsWith(PREFIX)) return;
    load();
    redraw();
  });
}
