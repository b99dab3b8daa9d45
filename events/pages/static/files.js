// Files that a page offers for download: tables as CSV, and pictures.

import { element } from "./elements.js";

const BYTE_ORDER_MARK = "\ufeff"; // spreadsheets read the file as UTF-8 because of it

const quoted = (value) => (/[",\r\n]|^\s|\s$/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);

// A text that a spreadsheet would run as a formula has an apostrophe before it in a file: as in events/_csv_cells.py.
const escaped = (cell) => (typeof cell === "string" && /^'*[=+\-@\t\r\n]/.test(cell) ? `'${cell}` : String(cell));
export const unescaped = (text) => text.replace(/^'(?='*[=+\-@\t\r\n])/, "");

// Rows of a table as CSV.
export const csvText = (rows) => BYTE_ORDER_MARK + rows.map((row) => row.map((cell) => quoted(escaped(cell))).join(",")).join("\r\n") + "\r\n";

// A name as part of that of a file.
export const fileWord = (name) => name.replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "");

export function save(blob, name) {
  const address = URL.createObjectURL(blob);
  const link = element("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 60000);
}

export const saveText = (text, name, type) => save(new Blob([text], { type }), name);
