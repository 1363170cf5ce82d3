/**
 * Splits a buffered `multipart/form-data` body (RFC 7578) into its parts, without copying them.
 *
 * On the hot path of envelopes: a general streaming parser costs about 90 µs for each envelope, as
 * much as the rest of a call; this one costs a few. It handles one body at a time and is strict: it
 * refuses what it does not understand.
 */

import { partName } from './content-disposition.ts';

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
