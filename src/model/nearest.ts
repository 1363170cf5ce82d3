/**
 * "Did you mean …?": the known word that a wrong one was most likely meant to be.
 */

/** Words further apart than this are different words, not slips. */
const EDITS_MAX = 2;
/** The distance takes the product of both lengths; a hostile word must not make that large. */
const WORD_CHARS_MAX = 64;

/** @returns the nearest of `known` within two edits, or undefined. */
export function nearest(word: string, known: Iterable<string>): string | undefined {
  let best: string | undefined;
  let fewest = EDITS_MAX + 1;
  for (const candidate of known) {
    if (Math.max(word.length, candidate.length) > WORD_CHARS_MAX) continue;
    const edits = distance(word.toLowerCase(), candidate.toLowerCase());
    if (edits < fewest) {
      fewest = edits;
      best = candidate;
    }
  }
  return best;
}

/** Levenshtein distance, one row at a time. */
function distance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let i = 1; i <= from.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= to.length; j += 1) {
      const replaced = (row[j - 1] ?? 0) + (from[i - 1] === to[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[to.length] ?? 0;
}
