// Shared by all pages: elements, embedded data, packed data, and numbers in words.

// The page never makes HTML from text. A chart library clears an element once by an empty string; only that
// is allowed.
if (window.trustedTypes) {
  trustedTypes.createPolicy("default", { createHTML: (text) => (text === "" ? "" : null) });
}

export const byId = (id) => document.getElementById(id);
export const jsonOf = (id) => JSON.parse(byId(id).textContent);

export function element(name, properties = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key === "class") node.className = value;
    else if (key in node) node[key] = value;
    else node.setAttribute(key, value);
  }
  node.append(...children.filter((child) => child !== null));
  return node;
}

export const digits = (n) => (value) =>
  value.toLocaleString("en", { minimumFractionDigits: n, maximumFractionDigits: n });
// Numbers of one column of a table, with as many digits as the others.
export const aligned = (values) => digits(values.every(Number.isInteger) ? 0 : 2);
export const probability = digits(2);
export const whole = digits(0);

export function plural(count, one, many) {
  return `${whole(count)} ${count === 1 ? one : many}`;
}

async function inflated(base64) {
  const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Response(stream).text();
}

// A reader of packed contents: the elements `${prefix}-0`, `${prefix}-1` ... have `perPart` contents each.
export function packedContents(prefix, perPart) {
  const unpacked = new Map();
  return async (number) => {
    const part = Math.floor(number / perPart);
    if (!unpacked.has(part)) unpacked.set(part, inflated(jsonOf(`${prefix}-${part}`)).then(JSON.parse));
    return (await unpacked.get(part))[number % perPart];
  };
}

export const wordsOf = (text) => text.toLowerCase().split(/\s+/).filter((word) => word);

// Mark the words of a search in the text of a node.
export function markHits(node, words) {
  if (!words.length) return;
  const found = new RegExp(words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|"), "giu");
  node.normalize();
  const walker = document.createTreeWalker(node, NodeFilter.SHOW_TEXT);
  const texts = [];
  while (walker.nextNode()) texts.push(walker.currentNode);
  for (const text of texts) {
    const pieces = [];
    let last = 0;
    for (const { 0: hit, index } of text.data.matchAll(found)) {
      pieces.push(text.data.slice(last, index), element("mark", { class: "hit" }, hit));
      last = index + hit.length;
    }
    if (pieces.length) text.replaceWith(...pieces, text.data.slice(last));
  }
}

// What stood before the first sentence of an article, and is not parsed: pairs of a kind and a text.
export function headOf(leftOut) {
  return leftOut.map(([kind, text]) => element("p", { class: "help", dir: "auto" }, element("span", { class: "tag" }, kind), ` ${text}`));
}

// Text with marked words: pairs of a kind (0: none, 1: trigger, 2: name) and a piece of the text.
export function markedText(pieces) {
  return pieces.map(([kind, text]) => (kind ? element("mark", { class: kind === 1 ? "trigger" : "word" }, text) : text));
}
