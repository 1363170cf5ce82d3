/**
 * The name of a part of a form (RFC 7578, section 4.2).
 *
 * Attack: a filename such as `; name=environment`, by which a file would become the environment.
 * Parameters are read from left to right, so nothing within a quoted string is taken for one.
 * Browsers' escapes (`%22`, `%0D%0A`) stay as they are. A part whose head two parsers could read in
 * two ways has no name.
 */

const FIELD = /^content-disposition:/i;
const FORM_DATA = /^content-disposition:[ \t]*form-data(?=[ \t]*(?:;|$))/i;
/** U+FEFF in UTF-8: some parsers drop it and read the name behind it. */
const BYTE_ORDER_MARK = '\xef\xbb\xbf';
const PARAMETER = /[ \t]*;[ \t]*([^\s;="]+)=(?:"([^"]*)"|([^\s;"]+))/y;
/** Only one repetition of blanks: two in a row would take quadratic time over 8 KiB of blanks. */
const REST = /[ \t]*(?:;[ \t]*)?$/y;
/**
 * A folded line (obsolete, RFC 9112, section 5.2), and bare line breaks that some parsers accept.
 */
const AMBIGUOUS_LINE = /^[ \t]|[\r\n]/;

/**
 * Names of the heads that were read last. A sender repeats its heads in each envelope, and reading
 * three of them costs as much as the rest of the multipart parser. Bounded in length and number, so
 * a sender of ever new heads gains nothing but a reading of each.
 */
const known = new Map<string, string>();
const KNOWN_MAX = 64;
const KNOWN_CHARS_MAX = 128;

/**
 * @param head the part's header lines
 * @returns undefined if there is no name, or not every parser would read the same one
 */
export function partName(head: string): string | undefined {
  const remembered = known.get(head);
  if (remembered !== undefined) return remembered;
  const name = readName(head);
  if (name === undefined || head.length > KNOWN_CHARS_MAX) return name;
  if (known.size >= KNOWN_MAX) known.clear();
  known.set(head, name);
  return name;
}

function readName(head: string): string | undefined {
  let disposition: string | undefined;
  for (const line of head.split('\r\n')) {
    if (AMBIGUOUS_LINE.test(line)) return undefined;
    if (!FIELD.test(line)) continue;
    if (disposition !== undefined) return undefined;
    disposition = line;
  }
  return disposition === undefined ? undefined : nameParameter(disposition);
}

function nameParameter(line: string): string | undefined {
  let at = FORM_DATA.exec(line)?.[0].length;
  if (at === undefined) return undefined;
  let name: string | undefined;
  for (;;) {
    PARAMETER.lastIndex = at;
    const match = PARAMETER.exec(line);
    if (match === null) break;
    const [whole, key = '', quoted, token] = match;
    // `\"` ends the string for browsers and not for older tools.
    if (quoted?.endsWith('\\')) return undefined;
    const parameter = key.toLowerCase();
    // `name*=utf-8''x` and `name*0=x` (RFC 2231) are not allowed in forms, but some parsers prefer
    // them.
    if (parameter.startsWith('name*')) return undefined;
    if (parameter === 'name') {
      // Some parsers take the first of two names, others the last.
      if (name !== undefined) return undefined;
      name = quoted ?? token;
    }
    at += whole.length;
  }
  REST.lastIndex = at;
  return REST.test(line) && !name?.startsWith(BYTE_ORDER_MARK) ? name : undefined;
}
