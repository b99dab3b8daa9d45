// The sheet with its labels as CSV, which `corefsample audit estimate` reads.

import { byId, element } from "../../pages/static/elements.js";
import { progress } from "./progress.js";
import { contentOf, documents, nDocuments, sheet } from "./sheet.js";

const BYTE_ORDER_MARK = "\ufeff"; // spreadsheets read the file as UTF-8 because of it

export const exported = { isComplete: true };

const quoted = (value) => (/[",\r\n]|^\s|\s$/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);

function fileName() {
  const name = progress.labeller.replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "");
  return name && name !== "resolved" ? sheet.file.replace(/\.csv$/, `-${name}.csv`) : sheet.file;
}

async function csv() {
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
    rows.push(sheet.columns.map((name) => String(own[name] ?? documents[name][i])));
  }
  return BYTE_ORDER_MARK + rows.map((row) => row.map(quoted).join(",")).join("\r\n") + "\r\n";
}

export async function exportSheet() {
  const address = URL.createObjectURL(new Blob([await csv()], { type: "text/csv" }));
  const link = element("a", { href: address, download: fileName() });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 60000);
  exported.isComplete = true;
  byId("status").textContent = `Exported as ${fileName()}.`;
}
