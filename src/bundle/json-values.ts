/**
 * Counts the values of a JSON text before it is parsed.
 *
 * Attack: an upload takes over its process and sends four megabytes of brackets. That is within the
 * limit on bytes, but parsing it blocks the host's event loop for most of a second, in one native
 * call. The cost is the number of values; an honest message of that size is mostly text. So the
 * values are counted first, in time linear in the bytes.
 */

/**
 * Most values in one message: a manifest of 10,000, its positions, 500 problems, secrets and image
 * names.
 */
const VALUES_MAX = 60_000;
/** A text this short cannot have more values, so it is not counted. */
const UNCOUNTED_BYTES = VALUES_MAX;

const [QUOTE, BACKSLASH, COMMA, BRACKET, BRACE] = [0x22, 0x5c, 0x2c, 0x5b, 0x7b];

/**
 * @param json may be invalid JSON; the parser rejects it later
 * @returns whether it has at most `VALUES_MAX` values
 */
export function hasFewValues(json: Buffer): boolean {
  if (json.byteLength <= UNCOUNTED_BYTES) return true;
  let values = 1;
  for (let at = 0; at < json.byteLength; at += 1) {
    const byte = json[at];
    if (byte === QUOTE) {
      at = endOfText(json, at);
      continue;
    }
    if (byte !== COMMA && byte !== BRACKET && byte !== BRACE) continue;
    values += 1;
    if (values > VALUES_MAX) return false;
  }
  return true;
}

/**
 * Index of the closing quote of the string that starts at `start`; the length of the bytes where
 * there is none.
 */
function endOfText(json: Buffer, start: number): number {
  for (let at = start + 1; ; at += 1) {
    at = json.indexOf(QUOTE, at);
    if (at < 0) return json.byteLength;
    let backslashes = 0;
    while (json[at - 1 - backslashes] === BACKSLASH) backslashes += 1;
    if (backslashes % 2 === 0) return at;
  }
}
