// Files that a page offers for download: tables as CSV, and pictures.

import { element } from "./elements.js";

const BYTE_ORDER_MARK = "\ufeff"; // spreadsheets read the file as UTF-8 because of it

const quoted = (value) => (/[",\r\n]|^\s|\s$/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);

// Rows of a table as CSV.
export const csvText = (rows) => BYTE_ORDER_MARK + rows.map((row) => row.map((cell) => quoted(String(cell))).join(",")).join("\r\n") + "\r\n";

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
