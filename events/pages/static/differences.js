// P(n_a > n_b) of two actors in one period.

import { counts, evidence, periods, rowsOf } from "./page.js";

// The shares of draws of what readers would count, or of samples of documents that share draws of a recalibration.
const { pairs } = counts;
const shares = new Map((pairs?.period ?? []).map((period, k) =>
  [[period, pairs.first[k], pairs.second[k]].join(), [pairs.more[k], pairs.less[k]]]));

// Whether the page can tell which of two actors has more documents.
export const isComparable = (a, b) => !counts.sampled || (pairs !== null && Math.max(a, b) < pairs.compared);

function sampledGreater(a, b, period) {
  const of = (first, second) => shares.get([period, first, second].join());
  const both = of(Math.min(a, b), Math.max(a, b));
  // An actor without samples above 0 has the count 0.
  return both ? both[a < b ? 0 : 1] : of(a, -1)?.[0] ?? 0;
}

function probabilities(actor, period) {
  const rows = rowsOf.get(actor * periods.length + period) ?? [];
  return new Map(rows.map((row) => [evidence.document[row], evidence.probability[row]]));
}

// Bounds of P(n_a > n_b), which are equal if no document has evidence of both, and of sampled counts.
//
// Otherwise documents are independent. One with evidence of both actors adds 1 with probability pa - j and -1 with probability
// pb - j, where j, the probability of both events, lies between max(0, pa + pb - 1) and min(pa, pb). The probability is
// linear in each j, so its extremes are at ends of that range; the end is chosen anew for each difference so far, which
// can only widen the bounds.
export function greaterBounds(a, b, period) {
  if (counts.sampled) return Array(2).fill(sampledGreater(a, b, period));
  const [ofA, ofB] = [probabilities(a, period), probabilities(b, period)];
  const zero = ofB.size; // the place of no difference
  let pmf = new Float64Array(ofA.size + ofB.size + 1);
  pmf[zero] = 1;
  const both = [];
  const add = (p, step) => {
    const next = pmf.map((value) => value * (1 - p));
    for (let s = 0; s < pmf.length; s++) if (pmf[s]) next[s + step] += p * pmf[s];
    pmf = next;
  };
  for (const [d, p] of ofA) {
    if (ofB.has(d)) both.push([p, ofB.get(d)]);
    else add(p, 1);
  }
  for (const [d, p] of ofB) if (!ofA.has(d)) add(p, -1);
  return [Math.min, Math.max].map((extreme) => {
    let value = pmf.map((_, s) => (s > zero ? 1 : 0));
    for (const [pa, pb] of both) {
      const ends = [Math.max(0, pa + pb - 1), Math.min(pa, pb)];
      const last = value.length - 1;
      value = value.map((here, s) => extreme(...ends.map((j) =>
        (pa - j) * value[Math.min(s + 1, last)] + (pb - j) * value[Math.max(s - 1, 0)] + (1 - pa - pb + 2 * j) * here)));
    }
    return Math.min(1, Math.max(0, pmf.reduce((sum, p, s) => sum + p * value[s], 0)));
  });
}
