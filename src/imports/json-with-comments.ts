/**
 * Parses JSON with comments and trailing commas, as `tsconfig.json` is written.
 *
 * One pass over the characters, so the work is linear also for a text of unclosed quotes or
 * comments. It does not check the rest of the grammar; `JSON.parse` does.
 */

/** @returns undefined where the text is not JSON */
export function parseJsonWithComments(text: string): unknown {
  try {
    return JSON.parse(plainJson(text));
  } catch {
    return undefined;
  }
}

function plainJson(text: string): string {
  const pieces: string[] = [];
  /** Index of the last piece that is not white space. */
  let last = -1;
  for (let at = 0; at < text.length; ) {
    const end = endOfPiece(text, at);
    const piece = text.slice(at, end);
    at = end;
    if (piece.startsWith('//') || piece.startsWith('/*')) continue;
    if ((piece === '}' || piece === ']') && pieces[last] === ',') pieces[last] = '';
    pieces.push(piece);
    if (piece.trim() !== '') last = pieces.length - 1;
  }
  return pieces.join('');
}

/** End of a text, of a comment, or of one character. */
function endOfPiece(text: string, at: number): number {
  if (text.startsWith('//', at)) return orEnd(text, text.indexOf('\n', at));
  if (text.startsWith('/*', at)) return orEnd(text, text.indexOf('*/', at + 2), 2);
  if (text[at] !== '"') return at + 1;
  let end = at + 1;
  while (end < text.length && text[end] !== '"') end += text[end] === '\\' ? 2 : 1;
  return end + 1;
}

const orEnd = (text: string, found: number, length = 0): number => (found < 0 ? text.length : found + length);
