// The documents' texts: packed in parts, and unpacked when one of them is opened.

import { documents, evidence, jsonOf } from "./page.js";

const unpacked = new Map();

async function inflated(base64) {
  const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Response(stream).text();
}

export const hasText = (row) => documents.text[evidence.document[row]] >= 0;

export async function textOf(row) {
  const number = documents.text[evidence.document[row]];
  const part = Math.floor(number / documents.perPart);
  if (!unpacked.has(part)) unpacked.set(part, inflated(jsonOf(`texts-${part}`)).then(JSON.parse));
  return (await unpacked.get(part))[number % documents.perPart];
}
