// The sheet with its labels as CSV, which `corefsample audit estimate` reads.

import { byId } from "./elements.js";
import { csvText, fileWord, saveText } from "./files.js";
import { progress } from "./progress.js";
import { contentOf, documents, nDocuments, sheet } from "./sheet.js";

export const exported = { isComplete: true };

function fileName() {
  const name = fileWord(progress.labeller);
  return name && name !== "resolved" ? sheet.file.replace(/\.csv$/, `-${name}.csv`) : sheet.file;
}

async function sheetRows() {
  const rows = [sheet.columns];
  for (let i = 0; i < nDocuments; i++) {
    const { text } = await contentOf(i);
    const own = {
      plan: sheet.plan,
      text: text.map(([, piece]) => piece).join(""),
      label: progress.labels[i],
      labeller: progress.labeller,
      note: progress.notes[i],
    };
    rows.push(sheet.columns.map((name) => own[name] ?? documents[name][i]));
  }
  return rows;
}

export async function exportSheet() {
  saveText(csvText(await sheetRows()), fileName(), "text/csv");
  exported.isComplete = true;
  byId("status").textContent = `Exported as ${fileName()}.`;
}
