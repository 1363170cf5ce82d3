/** Collects garbage, and measures the memory of buffers that are still referenced. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
/** Collects all that is not referenced. */
export const collectGarbage: () => void = runInNewContext('gc');

/**
 * Bytes of referenced buffers. Collects garbage first, so that a late collector does not look like
 * a leak.
 */
export function heldBufferBytes(): number {
  collectGarbage();
  return process.memoryUsage().arrayBuffers;
}
