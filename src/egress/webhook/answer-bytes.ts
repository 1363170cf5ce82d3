/**
 * Bounds all that a receiver sends for one request, as it comes from the socket.
 *
 * The parser of answers hands on heads and bodies, each with a bound of its own. What it reads over it hands on to nobody: a
 * reason phrase, a chunk's extension, white space, each as long as a hostile receiver likes, for as long as a post may take.
 */
import type { Socket } from 'node:net';
import type { buildConnector } from 'undici';
import { EgressError } from '../egress-error.ts';
import { INTERIM_ANSWERS_MAX } from '../interim-answers.ts';

/** A body in chunks of one byte has six around each: more than this for each byte is nothing but padding. */
const BYTES_PER_BODY_BYTE = 8;
/** Heads that one answer may have: its own, its trailers, and those of the interim answers that are read over. */
const HEADS = 2 + INTERIM_ANSWERS_MAX;

/** @returns a connector whose sockets end when an answer has more bytes than its parts may have together */
export function withAnswerBound(
  dial: buildConnector.connector,
  { headBytes, bodyBytes }: { readonly headBytes: number; readonly bodyBytes: number },
): buildConnector.connector {
  const bytesMax = HEADS * headBytes + BYTES_PER_BODY_BYTE * bodyBytes;
  return (options, callback) =>
    dial(options, (...result) => {
      const [, socket] = result;
      // Before undici reads what has come.
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
    // What comes after something was written belongs to a new request: a connection has one at a time.
    if (bytesWritten !== written) readBefore = readLast;
    written = bytesWritten;
    readLast = bytesRead;
    if (bytesRead - readBefore > bytesMax)
      socket.destroy(
        new EgressError('The answer has far more bytes than a head and a body.', { result: 'tooLarge' }),
      );
  });
}
