// Shared by the modules of labelling: the sheet, its documents, and which of them is shown.

import { jsonOf } from "./elements.js";

export const sheet = jsonOf("sheet");
export const sheetDocuments = sheet.documents;
export const nDocuments = sheetDocuments.doc_id.length;
export const sheetPlace = { shown: 0 };

// The label that the sheet had already, for a sheet that resolves disagreements: none.
export const isResolving = sheetDocuments.labeller.some((name) => name !== "");
