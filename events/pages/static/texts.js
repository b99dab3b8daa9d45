// The documents' texts: packed in parts, and unpacked when one of them is opened.

import { packedContents } from "./elements.js";
import { documents, evidence } from "./page.js";

const textNumber = packedContents("texts", documents.perPart);

export const hasText = (row) => documents.text[evidence.document[row]] >= 0;
// The words of a document as one text.
export const plainText = async (row) => (await textOf(row)).tokens.join("").trim();
export const textOf = (row) => textNumber(documents.text[evidence.document[row]]);
