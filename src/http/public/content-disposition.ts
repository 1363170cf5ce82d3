/**
 * The name a part of a form gives itself (RFC 7578, section 4.2).
 *
 * Parameters are read from left to right, so nothing inside of a quoted string is taken for one: with a filename of
 * `; name=environment` a stranger's file would otherwise become the environment. Escapes of browsers (`%22`, `%0D%0A`)
 * stay as they are. A head that two readers could read in two ways has no name.
 */

const FIELD = /^content-disposition:/i;
const FORM_DATA = /^content-disposition:[ \t]*form-data(?=[ \t]*(?:;|$))/i;
/** U+FEFF in UTF-8: some readers drop it, and find the name behind it. */
const BYTE_ORDER_MARK = '\xef\xbb\xbf';
const PARAMETER = /[ \t]*;[ \t]*([^\s;="]+)=(?:"([^"]*)"|([^\s;"]+))/y;
/** Blanks are matched by one repetition at a time: two in a row would look at 8 KiB of blanks from each of them. */
const REST = /[ \t]*(?:;[ \t]*)?$/y;
/** A line that goes on the one before (obsolete, RFC 9112, section 5.2), and line breaks that some readers take for one. */
const AMBIGUOUS_LINE = /^[ \t]|[\r\n]/;

/**
 * @param head the part's header lines
 * @returns undefined where there is no name, or none that every reader would agree on
 */
export function partName(head: string): string | undefined {
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
    // `\"` ends the string for a browser and does not for older tools: what follows is inside of it, or not.
    if (quoted?.endsWith('\\')) return undefined;
    const parameter = key.toLowerCase();
    // `name*=utf-8''x` and `name*0=x` (RFC 2231) have no place in a form, and yet some readers prefer them.
    if (parameter.startsWith('name*')) return undefined;
    if (parameter === 'name') {
      // Some readers take the first of two names, others the last.
      if (name !== undefined) return undefined;
      name = quoted ?? token;
    }
    at += whole.length;
  }
  REST.lastIndex = at;
  return REST.test(line) && !name?.startsWith(BYTE_ORDER_MARK) ? name : undefined;
}
