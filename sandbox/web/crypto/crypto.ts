/**
 * Crypto (https://www.w3.org/TR/WebCryptoAPI/#crypto-interface): random values, and `subtle`.
 *
 * A lazy module, evaluated at the first use of any of its globals. Attack: a replaced
 * `Function.prototype.call`, which sees a lazy module's exports while they are made. It exports
 * only what a script may see.
 */

import { DOMException } from '../dom-exception.ts';
import { type Bytes, subBytes, viewBytes } from '../encoding/bytes.ts';
import { isView, typedArrayByteLength, typedArrayName, typedArraySet } from '../primordials.ts';
import { defineInterface, isObject, requireArguments } from '../web-idl.ts';
import { CryptoKey, record } from './crypto-key.ts';
import { QuotaExceededError } from './quota-exceeded-error.ts';
import { randomBytes } from './random.ts';
import { createSubtle, SubtleCrypto } from './subtle-crypto.ts';

export { CryptoKey, QuotaExceededError, SubtleCrypto };

const INSIDE = Symbol();
/** Bound of the standard. */
const RANDOM_BYTES_MAX = 65_536;
/** Random bytes of one question to the cell: enough for 256 UUIDs. */
const POOL_BYTES = 4_096;
const POOLED_BYTES_MAX = 256;

const INTEGER_ARRAYS = record({
  Int8Array: true,
  Uint8Array: true,
  Uint8ClampedArray: true,
  Int16Array: true,
  Uint16Array: true,
  Int32Array: true,
  Uint32Array: true,
  BigInt64Array: true,
  BigUint64Array: true,
} as Record<string, boolean>);

export class Crypto {
  readonly #subtle = createSubtle();

  constructor(...given: unknown[]) {
    if (given[0] !== INSIDE) throw new TypeError('Illegal constructor');
  }

  get subtle(): SubtleCrypto {
    return this.#subtle;
  }

  getRandomValues(array: unknown): unknown {
    void this.#subtle;
    requireArguments(arguments.length, 1, 'getRandomValues');
    const bytes = isObject(array) && isView(array) ? viewBytes(array) : undefined;
    if (bytes === undefined) throw new TypeError('getRandomValues: parameter 1 is not an ArrayBufferView');
    if (INTEGER_ARRAYS[typedArrayName(array) ?? ''] !== true) {
      throw new DOMException('getRandomValues: parameter 1 is not an array of integers', 'TypeMismatchError');
    }
    const length = typedArrayByteLength(bytes);
    if (length > RANDOM_BYTES_MAX) {
      throw new QuotaExceededError(
        `getRandomValues: ${length} bytes are asked for, and ${RANDOM_BYTES_MAX} is the most`,
      );
    }
    if (length > 0) typedArraySet(bytes, unused(length), 0);
    return array;
  }

  randomUUID(): string {
    void this.#subtle;
    const bytes = unused(16);
    // RFC 9562, section 5.4: version 4, variant 10.
    bytes[6] = ((bytes[6] as number) & 0x0f) | 0x40;
    bytes[8] = ((bytes[8] as number) & 0x3f) | 0x80;
    let text = '';
    for (let i = 0; i < 16; i++) {
      if (i === 4 || i === 6 || i === 8 || i === 10) text += '-';
      text += HEX[(bytes[i] as number) >> 4];
      text += HEX[(bytes[i] as number) & 15];
    }
    return text;
  }
}
defineInterface(Crypto, 'Crypto');

export const crypto = new Crypto(INSIDE);

const HEX = '0123456789abcdef';
let pool: Bytes | undefined;
let poolAt = 0;

/** Takes random bytes out of the pool; no bytes are used twice. */
function unused(count: number): Bytes {
  if (count > POOLED_BYTES_MAX) return asked(count);
  if (pool === undefined || poolAt + count > POOL_BYTES) {
    pool = asked(POOL_BYTES);
    poolAt = 0;
  }
  const bytes = subBytes(pool, poolAt, poolAt + count);
  poolAt += count;
  return bytes;
}

function asked(count: number): Bytes {
  const bytes = randomBytes(count);
  if (bytes === undefined)
    throw new DOMException('Too many random bytes were asked for in a row', 'OperationError');
  return bytes;
}
