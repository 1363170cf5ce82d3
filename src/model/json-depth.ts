/**
 * Whether JSON text is nested so deep that reading it would hold up the event loop.
 *
 * Attack: 1 MiB of brackets. To parse it, to write it anew and to collect its half a million values costs 0.2 s and more, ten
 * times what other text of that size costs. One pass over the bytes finds it before. It does not say whether the text is JSON.
 */

/** Deeper than data of any use. */
export const JSON_DEPTH_MAX = 1_000;

const [QUOTE, BACKSLASH, OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = Buffer.from(
  '"\\[]{}',
) as unknown as [number, number, number, number, number, number];

export function isTooDeep(text: Uint8Array): boolean {
  // Each level has two ends.
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
