/**
 * Web Crypto jobs so small that another thread would take longer: hashes and HMAC signatures of a
 * few kilobytes.
 *
 * They run on the cell's main thread, which all its isolates need, so the size of the data bounds
 * each to some microseconds. Unusual requests are left to Node's Web Crypto, which refuses them by
 * its own rules.
 */
import { createHmac, hash, timingSafeEqual } from 'node:crypto';
import type { CryptoResult } from './crypto-operations.ts';
import { type CryptoRequest, HASH_BITS } from './crypto-request.ts';

/** Data of one small job; SHA-512 takes about 2 ns for a byte. */
const DATA_BYTES_MAX = 4 * 1_024;
/** An HMAC key that is longer than the block of its hash is hashed first. */
const KEY_BYTES_MAX = 1_024;

/**
 * Runs a small job. @returns its result; undefined where the job is not small
 *
 * @throws CryptoError for members that are missing or invalid
 */
export function performSmall(request: CryptoRequest): CryptoResult | undefined {
  switch (request.operation) {
    case 'digest': {
      const { name } = request.algorithm('algorithm').algorithm;
      const data = request.bytes('data');
      if (!isHash(name) || data.byteLength > DATA_BYTES_MAX) return undefined;
      return { bytes: hash(nodeName(name), data, 'buffer') };
    }
    case 'sign': {
      const bytes = hmac(request);
      return bytes && { bytes };
    }
    case 'verify': {
      const bytes = hmac(request);
      const signature = request.bytes('signature');
      return (
        bytes && { valid: signature.byteLength === bytes.byteLength && timingSafeEqual(signature, bytes) }
      );
    }
    default:
      return undefined;
  }
}

/** The HMAC of a request: the signature to make, or the one to compare with. */
function hmac(request: CryptoRequest): Buffer | undefined {
  const { algorithm, type, material } = request.key('key');
  const data = request.bytes('data');
  const { name, hash: by = '', length } = algorithm;
  if (name !== 'HMAC' || request.algorithm('algorithm').algorithm.name !== 'HMAC') return undefined;
  if (type !== 'secret' || !isHash(by) || data.byteLength > DATA_BYTES_MAX) return undefined;
  if (material.byteLength === 0 || material.byteLength > KEY_BYTES_MAX) return undefined;
  // A key with fewer bits than its bytes have is left to Node.
  if (length !== undefined && length !== material.byteLength * 8) return undefined;
  return createHmac(nodeName(by), material).update(data).digest();
}

const isHash = (name: string): boolean => Object.hasOwn(HASH_BITS, name);
/** `SHA-256` is `sha256`. */
const nodeName = (name: string): string => name.replace('-', '').toLowerCase();
