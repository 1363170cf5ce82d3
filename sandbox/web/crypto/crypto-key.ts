/**
 * CryptoKey (https://www.w3.org/TR/WebCryptoAPI/#cryptokey-interface).
 *
 * The key material is in a private field only, and leaves the isolate only as bytes of a job for
 * the cell. A script sees copies of the algorithm and the usages.
 */

import { registerSerializable } from '../clone/structured-clone-registry.ts';
import { describeKind } from '../console/inspect-built-in.ts';
import { type Bytes, copyBytes } from '../encoding/bytes.ts';
import { List, push } from '../list.ts';
import { defineProperty, setPrototypeOf, uncurryGetter } from '../primordials.ts';
import { defineInterface } from '../web-idl.ts';

export type KeyType = 'public' | 'private' | 'secret';

/** Properties of a key besides its material; without a prototype, like everything in a job. */
export interface KeyAlgorithm {
  readonly name: string;
  readonly hash: string | undefined;
  readonly length: number | undefined;
  readonly modulusLength: number | undefined;
  readonly namedCurve: string | undefined;
  readonly publicExponent: Bytes | undefined;
}

/** The internal slots of a key. */
export interface KeySlots {
  /** Id by which the cell caches the key. */
  readonly id: number;
  readonly type: KeyType;
  readonly extractable: boolean;
  readonly algorithm: KeyAlgorithm;
  /** Usages as in a script; a list without a prototype. */
  readonly usages: readonly string[];
  /** `raw` of a secret key, `pkcs8` of a private one, `spki` of a public one. */
  readonly material: Bytes;
}

const INSIDE = Symbol();

/** The slots of a value that is a CryptoKey. Never given to a script. */
export let slotsOf: (value: object) => KeySlots | undefined;
export const createKey = (slots: KeySlots): CryptoKey => new CryptoKey(INSIDE, slots);

export class CryptoKey {
  readonly #slots: KeySlots;
  #algorithm: object | undefined;
  #usages: string[] | undefined;

  static {
    slotsOf = (value) => (#slots in value ? value.#slots : undefined);
  }

  constructor(...given: unknown[]) {
    if (given[0] !== INSIDE) throw new TypeError('Illegal constructor');
    this.#slots = given[1] as KeySlots;
  }

  get type(): KeyType {
    return this.#slots.type;
  }

  get extractable(): boolean {
    return this.#slots.extractable;
  }

  get algorithm(): object {
    this.#algorithm ??= algorithmObject(this.#slots.algorithm);
    return this.#algorithm;
  }

  get usages(): string[] {
    if (this.#usages === undefined) {
      const { usages } = this.#slots;
      this.#usages = [];
      for (let i = 0; i < usages.length; i++) member(this.#usages, i, usages[i]);
    }
    return this.#usages;
  }
}
defineInterface(CryptoKey, 'CryptoKey');

// A key never changes: a copy shares its slots, and has the same usages.
registerSerializable(CryptoKey.prototype, {
  is: (value): value is CryptoKey => slotsOf(value) !== undefined,
  clone: (key) => createKey(toKey(key, 'The value')),
});

describeKind(CryptoKey.prototype, (value, title, inspector) => {
  const key = value as CryptoKey;
  const { type, extractable } = toKey(key, 'The value');
  const entries = new List<string>();
  push(entries, `type: ${inspector.show(type)}`);
  push(entries, `extractable: ${inspector.show(extractable)}`);
  push(entries, `algorithm: ${inspector.show(shownAlgorithm(key))}`);
  push(entries, `usages: ${inspector.show(shownUsages(key))}`);
  return { title, entries };
});

const shownAlgorithm = uncurryGetter<object>(CryptoKey.prototype, 'algorithm');
const shownUsages = uncurryGetter<string[]>(CryptoKey.prototype, 'usages');

/** The slots of an argument that must be a CryptoKey. */
export function toKey(value: unknown, what: string): KeySlots {
  const slots = typeof value === 'object' && value !== null ? slotsOf(value) : undefined;
  if (slots === undefined) throw new TypeError(`${what} is not a CryptoKey`);
  return slots;
}

function algorithmObject(algorithm: KeyAlgorithm): object {
  const { name, hash, length, modulusLength, namedCurve, publicExponent } = algorithm;
  const object = {};
  member(object, 'name', name);
  if (modulusLength !== undefined) member(object, 'modulusLength', modulusLength);
  if (publicExponent !== undefined) member(object, 'publicExponent', copyBytes(publicExponent));
  if (namedCurve !== undefined) member(object, 'namedCurve', namedCurve);
  if (length !== undefined) member(object, 'length', length);
  if (hash !== undefined) {
    const inner = {};
    member(inner, 'name', hash);
    member(object, 'hash', inner);
  }
  return object;
}

/** Defines an own member. Runs no setter of a prototype. */
export function member(target: object, key: PropertyKey, value: unknown): void {
  defineProperty(target, key, record({ value, writable: true, enumerable: true, configurable: true }));
}

/** An object or array without a prototype, from which the tenant could supply an absent member. */
export const record = <T extends object>(members: T): T => setPrototypeOf(members, null) as T;
