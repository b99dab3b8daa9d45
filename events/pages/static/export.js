// The sheet with its labels as CSV, which `corefsample audit estimate` reads.

import { csvText, fileWord, saveText } from "./files.js";
import { progress } from "./progress.js";
import { nDocuments, sheet, sheetDocuments } from "./sheet.js";

export const exported = { isComplete: true };

function sheetName() {
  const name = fileWord(progress.labeller);
  return name && name !== "resolved" ? sheet.file.replace(/\.csv$/, `-${name}.csv`) : sheet.file;
}

// All documents of a plan; of those that a person may choose, the chosen ones.
async function sheetRows(textOfNumber) {
  const rows = [sheet.columns];
  for (let i = 0; i < nDocuments; i++) {
    if (sheet.same.round && progress.labels[i] === "") continue;
    const own = {
      ...sheet.same,
      plan: sheet.plan,
      text: await textOfNumber(i),
      label: progress.labels[i],
      labeller: progress.labeller,
      note: progress.notes[i],
    };
    rows.push(sheet.columns.map((name) => own[name] ?? sheetDocuments[name][i]));
  }
  return rows;
}

// Save the sheet, and return what to say.
export async function exportSheet(textOfNumber) {
  saveText(csvText(await sheetRows(textOfNumber)), sheetName(), "text/csv");
  exported.isComplete = true;
  return `Exported as ${sheetName()}.`;
}
