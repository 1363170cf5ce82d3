/**
 * Cuts a `multipart/form-data` body (RFC 7578) that is already in memory into its parts, without copying them.
 *
 * Stands on the hot path of the envelope door: a general streaming parser costs some 90 µs an envelope, as much as all
 * the rest of a call; this one a few. It knows one body at a time and is strict: what it does not understand, it refuses.
 */

import { partName } from './content-disposition.ts';

/** A part: its bytes are a view into the body. */
export interface Part {
  readonly name: string;
  readonly bytes: Buffer;
}

/** What is wrong with a body, as a sentence for the sender. */
export class MultipartError extends Error {
  override readonly name = 'MultipartError';
}

const PARTS_MAX = 16;
const PART_HEAD_BYTES_MAX = 8 * 1024;
/** RFC 2046, section 5.1.1: up to 70 characters of this set. */
const BOUNDARY = /;\s*boundary=(?:"([0-9A-Za-z'()+_,\-./:=? ]{1,70})"|([0-9A-Za-z'+_\-.]{1,70}))\s*(?:;|$)/i;
const HEAD_END = Buffer.from('\r\n\r\n');
/** Some readers decode a part that says so; in a form it says nothing (RFC 7578, section 4.7). */
const ENCODED = /^content-transfer-encoding:(?![ \t]*(?:7bit|8bit|binary)[ \t]*$)/im;
const DASH = 0x2d;
const CR = 0x0d;
const LF = 0x0a;

/** The boundary a `Content-Type` names; undefined where it is no multipart form. */
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
      throw new MultipartError('A boundary is not followed by a line break.');
    // A flood of tiny parts would cost far more to keep than to send.
    if (parts.length === PARTS_MAX) throw new MultipartError(`The body has more than ${PARTS_MAX} parts.`);
    const headEnd = body.indexOf(HEAD_END, at);
    if (headEnd === -1 || headEnd - at > PART_HEAD_BYTES_MAX) {
      throw new MultipartError(`A part has no headers, or more than ${PART_HEAD_BYTES_MAX} bytes of them.`);
    }
    // Another reader would end the part there, and begin one whose head we would take for this one's.
    if (body.subarray(at, headEnd).includes(delimiter))
      throw new MultipartError('A boundary lies within the headers of a part.');
    const bytesAt = headEnd + HEAD_END.length;
    // An empty part's delimiter may share the blank line's second line break.
    const end = body.indexOf(delimiter, headEnd + 2);
    if (end === -1) throw new MultipartError('The body ends before its closing boundary.');
    const head = body.toString('latin1', at + 2, headEnd);
    if (ENCODED.test(head)) throw new MultipartError('A part is encoded; the parts of a form are not.');
    const name = partName(head);
    if (name === undefined)
      throw new MultipartError('A part has no name in its Content-Disposition, or one that is not clear.');
    parts.push({ name, bytes: body.subarray(Math.min(bytesAt, end), end) });
    at = end + delimiter.length;
  }
}
