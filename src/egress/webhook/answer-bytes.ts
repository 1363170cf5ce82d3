/**
 * Bounds the bytes that a receiver sends for one request, at the socket.
 *
 * Attack: a reason phrase, chunk extensions or white space without end. The parser bounds heads and
 * bodies, but skips these.
 */
import type { Socket } from 'node:net';
import type { buildConnector } from 'undici';
import { EgressError } from '../egress-error.ts';
import { INTERIM_ANSWERS_MAX } from '../interim-answers.ts';

/** A chunk of one byte has six around it: more than this per byte of the body is padding. */
const BYTES_PER_BODY_BYTE = 8;
/** Heads of one answer: its own, its trailers, and those of interim answers. */
const HEADS = 2 + INTERIM_ANSWERS_MAX;

/** @returns a connector whose sockets are destroyed when an answer has too many bytes */
export function withAnswerBound(
  dial: buildConnector.connector,
  { headBytes, bodyBytes }: { readonly headBytes: number; readonly bodyBytes: number },
): buildConnector.connector {
  const bytesMax = HEADS * headBytes + BYTES_PER_BODY_BYTE * bodyBytes;
  return (options, callback) =>
    dial(options, (...result) => {
      const [, socket] = result;
      // Before undici reads from the socket.
      if (socket !== null) bound(socket, bytesMax);
      callback(...result);
    });
}

function bound(socket: Socket, bytesMax: number): void {
  let written = 0;
  let readBefore = 0;
  let readLast = 0;
  socket.on('readable', () => {
    const { bytesRead, bytesWritten } = socket;
    // Bytes after a write belong to a new request: a connection has one at a time.
    if (bytesWritten !== written) readBefore = readLast;
    written = bytesWritten;
    readLast = bytesRead;
    if (bytesRead - readBefore > bytesMax)
      socket.destroy(
        new EgressError('The answer has far more bytes than a head and a body.', { result: 'tooLarge' }),
      );
  });
}
