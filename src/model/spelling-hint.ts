/**
 * Spelling hints ("Did you mean …?"): finds the known word that is nearest to an unknown one.
 *
 * Both sides may be hostile. Attack: a manifest of 1,500 unknown block ids and a script of 1,000
 * components, all of 62 letters, need 1.5 million distances on the main thread. So words,
 * candidates and the width of the comparison are bounded; callers that loop bound the number of
 * calls.
 */

/** Maximum edits; words further apart are not misspellings of each other. */
const EDITS_MAX = 2;
/** Longer words are not compared. */
const WORD_CHARS_MAX = 64;
/** Maximum candidates compared. */
const CANDIDATES_MAX = 200;

/**
 * @returns the nearest of the first 200 `known` words within two edits, ignoring case, or undefined
 */
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
    // Only a nearer word can replace this one, so each match narrows the comparison.
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
 * Fills only the band of `most` columns on either side of the diagonal, row by row in one array,
 * and stops after a row whose values are all over `most`. `band[k]` is the column `row + k - most -
 * 1`; both ends always hold `far`.
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
