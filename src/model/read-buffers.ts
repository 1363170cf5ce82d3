/**
 * Frees the buffers of bodies that have passed through, before the engine collects the whole heap
 * because of them.
 *
 * The engine counts buffers, which are outside of its heap, and answers 32 MiB of them with a
 * collection of everything: an answer of 10 MiB took the main thread 40 to 80 ms, in which no other
 * request was served. Nearly all of these buffers are young and unused by then. So after every few
 * megabytes that were read, the young generation alone is collected, which takes one millisecond.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/**
 * Bytes between two collections: with what is copied of them, below the engine's bound. Twice as
 * often, bodies that are still in use would be taken for old ones.
 */
const BYTES_BETWEEN = 12 * 1024 * 1024;

type Collect = (options: { readonly type: 'minor' }) => void;

let collect: Collect | undefined;
let bytes = 0;

/** Counts a buffer that was read and is soon done with. */
export function countRead({ byteLength }: Uint8Array): void {
  bytes += byteLength;
  if (bytes < BYTES_BETWEEN) return;
  bytes = 0;
  collect ??= exposed();
  collect({ type: 'minor' });
}

/** The engine's collector, of which no other code gets hold. */
function exposed(): Collect {
  setFlagsFromString('--expose-gc');
  const gc = runInNewContext('gc') as Collect;
  setFlagsFromString('--no-expose-gc');
  return gc;
}
