/**
 * Counts the values of a JSON text before it is parsed.
 *
 * The attack: a process that an upload has taken over sends four megabytes of brackets. That is within the bound on bytes, and
 * parsing it holds the host's event loop for most of a second, in one native call. An honest message of that size is text:
 * what costs is the number of values. So they are counted first, in time linear in the bytes.
 */

/** Most values of one message: a manifest of 10,000, its places, 500 problems, secrets and names of images. */
const VALUES_MAX = 60_000;
/** A text of so few bytes cannot have more. */
const UNCOUNTED_BYTES = VALUES_MAX;

const [QUOTE, BACKSLASH, COMMA, BRACKET, BRACE] = [0x22, 0x5c, 0x2c, 0x5b, 0x7b];

/** @param json need not be JSON: what is none is for the parser to say @returns whether it has no more values than may be parsed */
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

/** Where the text that begins at a quote ends; the end of the bytes where it does not. */
function endOfText(json: Buffer, start: number): number {
  for (let at = start + 1; ; at += 1) {
    at = json.indexOf(QUOTE, at);
    if (at < 0) return json.byteLength;
    let backslashes = 0;
    while (json[at - 1 - backslashes] === BACKSLASH) backslashes += 1;
    if (backslashes % 2 === 0) return at;
  }
}
