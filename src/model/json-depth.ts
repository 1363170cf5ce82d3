/**
 * Detects JSON text whose nesting would make parsing it block the event loop.
 *
 * Attack: 1 MiB of brackets. Parsing it, serialising it and collecting the garbage of half a
 * million values takes 0.2 s and more, ten times as long as other text of that size. One pass over
 * the bytes finds it first. It does not check whether the text is JSON.
 */

/** Maximum nesting; useful data is far below it. */
export const JSON_DEPTH_MAX = 1_000;

const [QUOTE, BACKSLASH, OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = Buffer.from(
  '"\\[]{}',
) as unknown as [number, number, number, number, number, number];

export function isTooDeep(text: Uint8Array): boolean {
  // A text this short cannot pass the bound.
  if (text.length <= JSON_DEPTH_MAX) return false;
  let depth = 0;
  let isInString = false;
  for (let at = 0; at < text.length; at += 1) {
    const byte = text[at];
    if (isInString) {
      if (byte === BACKSLASH) at += 1;
      else if (byte === QUOTE) isInString = false;
    } else if (byte === QUOTE) isInString = true;
    else if (byte === OPEN_LIST || byte === OPEN_OBJECT) {
      depth += 1;
      if (depth > JSON_DEPTH_MAX) return true;
    } else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) depth -= 1;
  }
  return false;
}
