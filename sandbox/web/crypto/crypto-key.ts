/**
 * CryptoKey (https://www.w3.org/TR/WebCryptoAPI/#cryptokey-interface).
 *
 * The key material lives in a private field and in no other place that a script can name: it leaves the isolate only as
 * bytes of a job for the cell. What a script sees of the algorithm and the usages are copies; changing them changes nothing.
 */

import { registerSerializable } from '../clone/structured-clone-registry.ts';
import { describeKind } from '../console/inspect-built-in.ts';
import { type Bytes, copyBytes } from '../encoding/bytes.ts';
import { List, push } from '../list.ts';
import { defineProperty, setPrototypeOf, uncurryGetter } from '../primordials.ts';
import { defineInterface } from '../web-idl.ts';

export type KeyType = 'public' | 'private' | 'secret';

/** What is known of a key beside its material; without a prototype, like all that a job is made of. */
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
  /** By which the cell knows the key again. */
  readonly id: number;
  readonly type: KeyType;
  readonly extractable: boolean;
  readonly algorithm: KeyAlgorithm;
  /** As in a script, without a prototype. */
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

// Nothing of a key ever changes: a copy may share what it is made of, and has the same rights.
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

/** An own member, whatever setters the prototypes have by now. */
export function member(target: object, key: PropertyKey, value: unknown): void {
  defineProperty(target, key, record({ value, writable: true, enumerable: true, configurable: true }));
}

/** An object or array that inherits nothing, so that nothing of the tenant answers for a member it lacks. */
export const record = <T extends object>(members: T): T => setPrototypeOf(members, null) as T;
