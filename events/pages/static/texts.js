// The documents' texts: packed in parts, and unpacked when one of them is opened.

import { packedContents } from "./elements.js";
import { counts, documents, evidence } from "./page.js";

const textNumber = packedContents("texts", documents.perPart);
// Pieces of a document without evidence.
export const piecesOf = counts.others ? packedContents("others", counts.others.perPart) : null;

export const hasText = (row) => documents.text[evidence.document[row]] >= 0;
// The words of a document as one text.
export const plainTextOf = async (d) => (await textNumber(documents.text[d])).tokens.join("").trim();
export const plainText = (row) => plainTextOf(evidence.document[row]);
export const textOf = (row) => textNumber(documents.text[evidence.document[row]]);
