/**
 * `node:assert/strict`.
 */
import { strict } from './assert.ts';

export const { Assert, AssertionError, ok, fail, equal, notEqual, deepEqual, notDeepEqual } =
  strict as never as Record<string, unknown>;
export const { deepStrictEqual, notDeepStrictEqual, strictEqual, notStrictEqual } = strict;
export const { partialDeepStrictEqual, match, doesNotMatch, throws, rejects } = strict;
export const { doesNotThrow, doesNotReject, ifError } = strict;
export { strict };
export default strict;
