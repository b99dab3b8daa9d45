// Sentences of a document: which of its words make an event, and the sentences to quote.

// What a list quotes of a long sentence, before the first marked word and after the last.
const BEFORE = 18;
const AFTER = 14;

export const sentenceOf = (content, token) => content.sentences.findLastIndex((start) => start <= token);

export const headlineOf = (content) => content.about.find(([name]) => name === "title")?.[1] ?? "";

// Kind of each marked token, as in `markedText`: triggers, and words that name the actor.
export function markedTokens(event) {
  const names = event.descriptions.flatMap(({ words: [start, end] }) => Array.from({ length: end - start }, (_, k) => [start + k, 2]));
  return new Map([...names, ...event.instances.map(({ trigger }) => [trigger, 1])]);
}

// Tokens of one sentence in pieces, with what is far from its marks left out.
function sentencePieces(content, sentence, marks) {
  const start = content.sentences[sentence];
  const end = content.sentences[sentence + 1] ?? content.tokens.length;
  const marked = [...marks.keys()].filter((t) => t >= start && t < end);
  const first = Math.max(start, Math.min(...marked, end) - BEFORE);
  const last = Math.min(end, Math.max(...marked, start) + 1 + AFTER);
  const pieces = content.tokens.slice(first, last).flatMap((token, k) => {
    const word = token.trimStart();
    return [[0, k && token !== word ? " " : ""], [marks.get(first + k) ?? 0, word]];
  });
  return [[0, first > start ? "… " : ""], ...pieces, [0, last < end ? " …" : ""]];
}

// The sentences of the likeliest trigger and of the likeliest name of the actor, and of the first word searched for.
export function eventSentences(content, event, words) {
  const marks = markedTokens(event);
  const tokens = [...event.instances.slice(0, 1).map(({ trigger }) => trigger), ...event.descriptions.slice(0, 1).map(({ words: [start] }) => start)];
  const shown = new Set(tokens.map((token) => sentenceOf(content, token)));
  const found = content.tokens.findIndex((token) => words.some((word) => token.toLowerCase().includes(word)));
  if (found >= 0) {
    shown.add(sentenceOf(content, found));
    if (!marks.has(found)) marks.set(found, 0);
  }
  const pieces = [...shown].sort((a, b) => a - b).flatMap((sentence, n, all) => [
    [0, n ? (sentence === all[n - 1] + 1 ? " " : " … ") : ""],
    ...sentencePieces(content, sentence, marks),
  ]);
  const isGap = (piece) => piece?.[1].trim() === "…";
  return pieces.map((piece, k) => (isGap(piece) && isGap(pieces[k - 1]) ? [0, " "] : piece));
}
