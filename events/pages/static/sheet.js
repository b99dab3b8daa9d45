// Shared by the other modules: the sheet, its documents, and which of them is shown.

import { jsonOf, packedContents } from "./elements.js";

export const sheet = jsonOf("sheet");
export const { documents } = sheet;
export const nDocuments = documents.doc_id.length;
export const contentOf = packedContents("texts", sheet.perPart);
export const place = { shown: 0 };

// The label that the sheet had already, for a sheet that resolves disagreements: none.
export const isResolving = documents.labeller.some((name) => name !== "");
