/**
 * One job for the cell, and its answer: JSON text that refers to pieces of bytes by number.
 *
 * Attack: a `toJSON` or a getter on `Object.prototype` that sees key material, or turns `sign` into
 * `exportKey`. Objects have no prototype when they become JSON, and answers are read without one.
 */

import { DOMException } from '../dom-exception.ts';
import type { Bytes } from '../encoding/bytes.ts';
import { joinBytes, subBytes } from '../encoding/bytes.ts';
import { List, push } from '../list.ts';
import {
  jsonParse,
  jsonStringify,
  objectKeys,
  typedArrayBuffer,
  typedArrayByteLength,
  Uint8ArrayIntrinsic,
} from '../primordials.ts';
import type { Algorithm } from './algorithm.ts';
import {
  type CryptoKey,
  createKey,
  type KeyAlgorithm,
  type KeySlots,
  type KeyType,
  member,
  record,
} from './crypto-key.ts';
import { askCell } from './crypto-port.ts';

/** Bytes of one piece, such as the data of an operation. */
const PIECE_BYTES_MAX = 16 * 1024 * 1024;
/** Bytes of all pieces, including keys and parameters. */
const BYTES_MAX = PIECE_BYTES_MAX + 512 * 1024;

/** How a promise is settled. */
export interface Settle {
  resolve(value: unknown): void;
  reject(reason: unknown): void;
}

/** A key as the cell describes it. */
interface KeyDescription {
  readonly type: KeyType;
  readonly usages: readonly string[];
  readonly algorithm: Record<string, unknown>;
  /** Length of its material in bytes. */
  readonly bytes: number;
}

/** The cell's answer; any member except `error` may be absent. */
export class JobAnswer {
  readonly bytes: Bytes;
  readonly #parsed: Record<string, unknown>;

  constructor(parsed: Record<string, unknown>, bytes: ArrayBuffer | undefined) {
    this.#parsed = parsed;
    this.bytes = bytes === undefined ? new Uint8ArrayIntrinsic(0) : new Uint8ArrayIntrinsic(bytes);
  }

  /** All bytes as the buffer a script gets. */
  get buffer(): ArrayBuffer {
    return typedArrayBuffer(this.bytes);
  }

  get valid(): boolean {
    return this.#parsed['valid'] === true;
  }

  /** An exported JsonWebKey: an ordinary object. */
  get jwk(): unknown {
    return this.#parsed['jwk'];
  }

  /** The keys that were made; public keys are always extractable. */
  keys(extractable: boolean): List<CryptoKey> {
    const described = this.#parsed['keys'] as readonly KeyDescription[];
    const keys = new List<CryptoKey>();
    let at = 0;
    for (let i = 0; i < described.length; i++) {
      const { type, usages, algorithm, bytes } = described[i] as KeyDescription;
      const own: string[] = record([]);
      for (let u = 0; u < usages.length; u++) member(own, u, usages[u]);
      push(
        keys,
        createKey(
          record({
            id: nextId++,
            type,
            extractable: extractable || (described.length > 1 && type === 'public'),
            algorithm: keyAlgorithm(algorithm),
            usages: own,
            material: new Uint8ArrayIntrinsic(subBytes(this.bytes, at, at + bytes)),
          }),
        ),
      );
      at += bytes;
    }
    return keys;
  }
}
let nextId = 1;

export class JobRequest {
  readonly #members: Record<string, unknown>;
  readonly #pieces = new List<Bytes>();

  constructor(operation: string) {
    this.#members = record({ operation });
  }

  set(name: string, value: unknown): void {
    this.#members[name] = value;
  }

  bytes(name: string, bytes: Bytes): void {
    this.#members[name] = this.#piece(bytes);
  }

  algorithm(name: string, algorithm: Algorithm): void {
    const written: Record<string, unknown> = record({});
    const keys = objectKeys(algorithm);
    for (let i = 0; i < keys.length; i++) {
      const key = keys[i] as string;
      const value = algorithm[key];
      if (key === 'public') written[key] = this.#key(value as KeySlots);
      else written[key] = typeof value === 'object' ? this.#piece(value as Bytes) : value;
    }
    this.#members[name] = written;
  }

  key(name: string, key: KeySlots): void {
    this.#members[name] = this.#key(key);
  }

  /** Sends the job. `done` receives a success; its errors reject. */
  send(settle: Settle, done: (answer: JobAnswer) => void): void {
    const lengths: number[] = record([]);
    let length = 0;
    for (let i = 0; i < this.#pieces.length; i++) {
      const bytes = typedArrayByteLength(this.#pieces[i]);
      member(lengths, i, bytes);
      // One piece over its bound fails the job.
      length += bytes > PIECE_BYTES_MAX ? BYTES_MAX : bytes;
    }
    if (length >= BYTES_MAX) {
      throw new DOMException(`An operation may have ${PIECE_BYTES_MAX} bytes at most`, 'OperationError');
    }
    this.#members['pieces'] = lengths;
    const accepted = askCell(
      jsonStringify(this.#members),
      typedArrayBuffer(this.#pieces.length === 1 ? (this.#pieces[0] as Bytes) : joinBytes(this.#pieces)),
      (answer, bytes) => {
        try {
          done(readAnswer(answer, bytes));
        } catch (thrown) {
          settle.reject(thrown);
        }
      },
    );
    if (!accepted) throw new DOMException('Too many operations were asked for in a row', 'OperationError');
  }

  /** @param bytes cover their whole buffer, which does not change any more */
  #piece(bytes: Bytes): number {
    push(this.#pieces, bytes);
    return this.#pieces.length - 1;
  }

  #key({ id, type, algorithm, usages, material }: KeySlots): object {
    const { name, hash, length, namedCurve } = algorithm;
    return record({
      id,
      type,
      algorithm: record({ name, hash, length, namedCurve }),
      usages,
      material: this.#piece(material),
    });
  }
}

/** @throws the error that the cell answers */
function readAnswer(text: string, bytes: ArrayBuffer | undefined): JobAnswer {
  const parsed = record(jsonParse(text) as Record<string, unknown>);
  const error = parsed['error'] as string | undefined;
  if (error === undefined) return new JobAnswer(parsed, bytes);
  const message = parsed['message'] as string;
  if (error === 'TypeError') throw new TypeError(message);
  throw new DOMException(message, error);
}

function keyAlgorithm(described: Record<string, unknown>): KeyAlgorithm {
  const { name, hash, length, modulusLength, namedCurve, publicExponent } = record(described) as {
    name: string;
    hash?: string;
    length?: number;
    modulusLength?: number;
    namedCurve?: string;
    publicExponent?: number[];
  };
  let exponent: Bytes | undefined;
  if (publicExponent !== undefined) {
    exponent = new Uint8ArrayIntrinsic(publicExponent.length);
    for (let i = 0; i < publicExponent.length; i++) exponent[i] = publicExponent[i] as number;
  }
  return record({ name, hash, length, modulusLength, namedCurve, publicExponent: exponent });
}
