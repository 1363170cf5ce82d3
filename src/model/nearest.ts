/**
 * "Did you mean …?": the known word that a wrong one was most likely meant to be.
 *
 * Both sides may be hostile: a manifest of 1,500 unknown block ids beside a script of 1,000 components, all of 62 letters,
 * asks for 1.5 million distances on the thread that serves everyone. So words, candidates and the width of the comparison
 * are bounded; whoever calls in a loop bounds the calls.
 */

/** Words further apart than this are different words, not slips. */
const EDITS_MAX = 2;
/** Longer words are not compared. */
const WORD_CHARS_MAX = 64;
/** Candidates looked at; nobody who declares more is helped by a guess. */
const CANDIDATES_MAX = 200;

/** @returns the nearest of the first two hundred of `known` within two edits, whatever the case, or undefined. */
export function nearest(word: string, known: Iterable<string>): string | undefined {
  if (word.length > WORD_CHARS_MAX) return undefined;
  const wanted = word.toLowerCase();
  let best: string | undefined;
  let fewest = EDITS_MAX + 1;
  let seen = 0;
  for (const candidate of known) {
    if (fewest === 0 || seen === CANDIDATES_MAX) break;
    seen += 1;
    if (candidate.length > WORD_CHARS_MAX) continue;
    // Only a nearer one is of interest, so the comparison narrows with every find.
    const edits = editsWithin(fewest - 1, wanted, candidate.toLowerCase());
    if (edits === undefined) continue;
    fewest = edits;
    best = candidate;
  }
  return best;
}

/**
 * Levenshtein distance where it is at most `most`, else undefined.
 *
 * Of the table of distances only the band of `most` on either side of the diagonal is filled, row by row in one place, and
 * no row after one that is over `most` throughout. `band[k]` is the column `row + k - most - 1`; its ends stay far.
 */
function editsWithin(most: number, from: string, to: string): number | undefined {
  if (Math.abs(from.length - to.length) > most) return undefined;
  const far = most + 1;
  const band = new Uint8Array(2 * most + 3).fill(far);
  for (let column = 0; column <= most; column += 1) band[column + far] = column;
  for (let row = 1; row <= from.length; row += 1) {
    let left = far;
    let fewest = far;
    for (let k = 1; k <= 2 * most + 1; k += 1) {
      const column = row + k - far;
      const same = column > 0 && from.charCodeAt(row - 1) === to.charCodeAt(column - 1);
      const replaced = (band[k] ?? far) + (same ? 0 : 1);
      const inBand = column >= 0 && column <= to.length;
      left = inBand ? Math.min(replaced, (band[k + 1] ?? far) + 1, left + 1, far) : far;
      band[k] = left;
      fewest = Math.min(fewest, left);
    }
    if (fewest > most) return undefined;
  }
  const edits = band[far + to.length - from.length] ?? far;
  return edits > most ? undefined : edits;
}
