/**
 * Bytes as the value of a promise.
 *
 * Attack: a `then` on `Object.prototype`. A promise that is resolved with an object calls its
 * `then`, which may answer other bytes. A box has no prototype, and so no `then`.
 */
import type { Bytes } from './encoding/bytes.ts';
import { setPrototypeOf } from './primordials.ts';

export class Box {
  readonly bytes: Bytes;

  constructor(bytes: Bytes) {
    this.bytes = bytes;
  }
}
setPrototypeOf(Box.prototype, null);
