// Labels of an exported sheet are loaded again, and merged with those that this browser keeps.

import { byId, plural, whole } from "./elements.js";
import { unescaped } from "./files.js";
import { entryOf, nLabelled, progress, setLabeller, storeEntry } from "./progress.js";
import { sheetDocuments, sheet } from "./sheet.js";

const NEEDED = ["plan", "doc_id", "label"];
const numberOf = new Map(sheetDocuments.doc_id.map((id, i) => [id, i]));
const codes = new Set(sheet.actors.map(([code]) => code));

// Rows of a CSV file: fields may be quoted, with quotes doubled, and hold line breaks.
function csvRows(text) {
  const rows = [];
  let row = [];
  for (const [, quotedField, plainField, end] of text.matchAll(/(?:"((?:[^"]|"")*)"|([^,\r\n]*))(,|\r\n|\r|\n|$)/g)) {
    row.push(unescaped(quotedField === undefined ? plainField : quotedField.replaceAll('""', '"')));
    if (end === ",") continue;
    if (row.length > 1 || row[0] !== "") rows.push(row);
    row = [];
  }
  return rows;
}

function isLabel(label) {
  if (["", "unsure"].includes(label)) return true;
  if (sheet.kind === "yes-no") return ["yes", "no"].includes(label);
  return label === "none" || label.split(";").every((part) => codes.has(part.replace(/\?$/, "")) || (part === "other" && sheet.kind === "actors"));
}

// Rows with a label or a note for documents of this page; an error names the row and the rule.
function checkedRows(text) {
  const [titles = [], ...rows] = csvRows(text.replace(/^\ufeff/, ""));
  const missing = NEEDED.find((name) => !titles.includes(name));
  if (missing) throw new Error(`columns must include ${missing}`);
  const found = [];
  rows.forEach((cells, k) => {
    const row = Object.fromEntries(titles.map((name, column) => [name, cells[column] ?? ""]));
    for (const name of ["plan", "label", "labeller"]) row[name] = (row[name] ?? "").trim();
    if (row.plan !== sheet.plan) throw new Error(`row ${k + 2}: plan must be ${sheet.plan}, got “${row.plan}”`);
    if (!isLabel(row.label)) throw new Error(`row ${k + 2}: a label of this plan is needed, got “${row.label}”`);
    if ((row.label || row.note) && numberOf.has(row.doc_id)) found.push(row);
  });
  return found;
}

// What is kept stays: a document with another label is only counted.
function merged(rows) {
  let added = 0;
  let different = 0;
  for (const row of rows) {
    const i = numberOf.get(row.doc_id);
    const labeller = row.labeller || progress.labeller;
    const [label, note] = entryOf(labeller, i) ?? ["", ""];
    if (label !== "" && row.label !== "" && row.label !== label) different += 1;
    else if (label === "" && row.label !== "") added += 1;
    storeEntry(labeller, i, label || row.label, note || (row.note ?? ""));
  }
  return { added, different };
}

function loadText(text, redraw) {
  const rows = checkedRows(text);
  const names = [...new Set(rows.map((row) => row.labeller || progress.labeller))];
  const isNew = nLabelled() === 0;
  const { added, different } = merged(rows);
  setLabeller(isNew && names.length === 1 ? names[0] : progress.labeller);
  byId("labeller").value = progress.labeller;
  redraw();
  const of = names.filter((name) => name !== "").join(", ");
  byId("status").textContent =
    `Loaded ${plural(added, "label", "labels")}${of ? ` of ${of}` : ""}.` +
    (different ? ` ${whole(different)} of the file differ from labels here, which stay.` : "");
}

export function listenToImport(redraw) {
  byId("load").addEventListener("change", async () => {
    const [file] = byId("load").files;
    if (!file) return;
    try {
      loadText(await file.text(), redraw);
    } catch (error) {
      byId("status").textContent = `${file.name} was not loaded: ${error.message}.`;
    }
    byId("load").value = "";
    document.documentElement.dataset.loads = String(Number(document.documentElement.dataset.loads ?? 0) + 1);
  });
}
