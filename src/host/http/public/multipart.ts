/**
 * Splits a buffered `multipart/form-data` body (RFC 7578) into its parts, without copying them.
 *
 * On the hot path of envelopes: a general streaming parser costs about 90 µs for each envelope, as
 * much as the rest of a call; this one costs a few. It handles one body at a time and is strict: it
 * refuses what it does not understand.
 */

/** A part; its bytes are a view into the body. */
export interface Part {
  readonly name: string;
  readonly bytes: Buffer;
}

/** A fault of a body; the message is for the sender. */
export class MultipartError extends Error {
  override readonly name = 'MultipartError';
}

const PARTS_MAX = 16;
const PART_HEAD_BYTES_MAX = 8 * 1024;
/** RFC 2046, section 5.1.1: up to 70 characters of this set. */
const BOUNDARY = /;\s*boundary=(?:"([0-9A-Za-z'()+_,\-./:=? ]{1,70})"|([0-9A-Za-z'+_\-.]{1,70}))\s*(?:;|$)/i;
const HEAD_END = Buffer.from('\r\n\r\n');
/** Some parsers decode such a part; in forms the header is deprecated (RFC 7578, section 4.7). */
const ENCODED = /^content-transfer-encoding:(?![ \t]*(?:7bit|8bit|binary)[ \t]*$)/im;
const DASH = 0x2d;
const CR = 0x0d;
const LF = 0x0a;

/** @returns the boundary that a `Content-Type` names; undefined if it is no multipart form */
export function boundaryOf(contentType: string | undefined): string | undefined {
  if (contentType === undefined || !/^multipart\/form-data\s*;/i.test(contentType)) return undefined;
  const match = BOUNDARY.exec(contentType);
  return match?.[1] ?? match?.[2];
}

/** @throws MultipartError */
export function readMultipart(body: Buffer, boundary: string): Part[] {
  const delimiter = Buffer.from(`\r\n--${boundary}`, 'latin1');
  const opening = delimiter.subarray(2);
  let at = body[0] === CR && body[1] === LF ? 2 : 0;
  if (!body.subarray(at, at + opening.length).equals(opening)) {
    throw new MultipartError('The body does not begin with the boundary that its Content-Type names.');
  }
  at += opening.length;
  const parts: Part[] = [];
  for (;;) {
    if (body[at] === DASH && body[at + 1] === DASH) return parts;
    if (body[at] !== CR || body[at + 1] !== LF)
      throw new MultipartError('A boundary in the body is not followed by a line break (CR LF).');
    // Attack: many tiny parts, which cost far more to keep than to send.
    if (parts.length === PARTS_MAX) throw new MultipartError(`The body has more than ${PARTS_MAX} parts.`);
    const headEnd = body.indexOf(HEAD_END, at);
    if (headEnd === -1 || headEnd - at > PART_HEAD_BYTES_MAX) {
      throw new MultipartError(`A part has no headers, or more than ${PART_HEAD_BYTES_MAX} bytes of them.`);
    }
    // Attack: another parser would end the part there, and begin one whose head is taken for this
    // one's.
    if (body.subarray(at, headEnd).includes(delimiter))
      throw new MultipartError('A boundary lies within the headers of a part.');
    const bytesAt = headEnd + HEAD_END.length;
    // The delimiter after an empty part may share the second line break of the blank line.
    const end = body.indexOf(delimiter, headEnd + 2);
    if (end === -1) throw new MultipartError('The body ends before its closing boundary.');
    const head = body.toString('latin1', at + 2, headEnd);
    if (ENCODED.test(head))
      throw new MultipartError('A part has a Content-Transfer-Encoding: send the parts of a form unencoded.');
    const name = partName(head);
    if (name === undefined)
      throw new MultipartError('A part has no name in its Content-Disposition, or an ambiguous one.');
    parts.push({ name, bytes: body.subarray(Math.min(bytesAt, end), end) });
    at = end + delimiter.length;
  }
}

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
 * The name of a part of a form (RFC 7578, section 4.2).
 *
 * Attack: a filename such as `; name=environment`, by which a file would become the environment.
 * Parameters are read from left to right, so nothing within a quoted string is taken for one.
 * Browsers' escapes (`%22`, `%0D%0A`) stay as they are. A part whose head two parsers could read in
 * two ways has no name.
 *
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
