/**
 * Bytes as the value of a promise.
 *
 * A promise that is resolved with an object looks for its `then`, and so runs one that a tenant put on
 * `Object.prototype`, which may answer other bytes. A box has no prototype where that could stand.
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
