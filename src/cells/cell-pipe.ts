/**
 * Reads what a cell sends, one full piece in a turn of the host's event loop.
 *
 * Attack: a cell that floods. Node reads on from one pipe as long as there is something in it, up to two megabytes at a time:
 * tens of thousands of small messages, and a tenth of a second in which the host does nothing for anybody else. So after a
 * piece that was full, because more was waiting behind it, everybody else has a turn first. Smaller ones, which is all that
 * an ordinary cell ever sends, cost nothing.
 */
import type { Readable } from 'node:stream';

/** Node reads pieces of 64 KiB at most; one of half that tells of more behind it. */
const FULL_BYTES = 32 * 1024;

export function readInTurns(pipe: Readable, take: (piece: Buffer) => void): void {
  pipe.on('data', (piece: Buffer) => {
    take(piece);
    if (piece.byteLength < FULL_BYTES) return;
    pipe.pause();
    setImmediate(() => pipe.resume());
  });
}
