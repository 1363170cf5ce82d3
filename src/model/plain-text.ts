/**
 * Makes text of other people harmless for a terminal. Attack: a title in a manifest, a log line, an
 * answer or the message of a server holds escape sequences, which move the cursor, rewrite what the
 * reader saw, set the clipboard or answer in the reader's name; or bidirectional controls, which
 * show a line in another order than it is in.
 *
 * A character that could do so is shown as JSON escapes it, `\u001b`: the reader sees that it is
 * there, and a line of JSON stays the same value.
 */

/** C0 except tab and line feed, DEL, C1, bidirectional controls, separators of lines, tags. */
const UNSAFE = /[\p{Cc}\p{Bidi_Control}\u2028\u2029\u{e0000}-\u{e007f}]/gu;
const SAFE_CONTROLS = '\t\n';
/** What `JSON.stringify` writes as it is although a terminal could act on it. */
const UNSAFE_IN_JSON = /[\x7f-\x9f\p{Bidi_Control}\u2028\u2029\u{e0000}-\u{e007f}]/gu;

const escaped = (char: string): string =>
  Array.from({ length: char.length }, (_, at) => char.charCodeAt(at).toString(16).padStart(4, '0'))
    .map((unit) => `\\u${unit}`)
    .join('');

/** @returns the text with an escape for each character that could control a terminal */
export const plainText = (text: string): string =>
  text
    .replaceAll('\r\n', '\n')
    .replaceAll(UNSAFE, (char) => (SAFE_CONTROLS.includes(char) ? char : escaped(char)));

/** The same on one line: tabs and line feeds are spaces. */
export const plainLine = (text: string): string => plainText(text).replaceAll(/[\t\n]+/g, ' ');

/** A text of JSON with escapes for each such character: the same value. */
export const plainJson = (json: string): string => json.replaceAll(UNSAFE_IN_JSON, escaped);

/** The value exactly, with escapes for each character that could control a terminal. */
export const safeJson = (value: unknown, indent = 0): string =>
  plainJson(JSON.stringify(value, undefined, indent));

/** Quotes a hostile name for a message: escaped and truncated. */
export const quote = (name: string): string =>
  JSON.stringify(name.length > 120 ? `${name.slice(0, 120)}…` : name);
