/**
 * JsonWebKey (https://www.w3.org/TR/WebCryptoAPI/#JsonWebKey-dictionary): an object of a script
 * becomes a record of texts, read once in the order of Web IDL. The cell validates the key.
 */
import { toDictionary, toDOMString } from '../web-idl.ts';
import { member, record } from './crypto-key.ts';

const MEMBERS = [
  'alg',
  'crv',
  'd',
  'dp',
  'dq',
  'e',
  'ext',
  'k',
  'key_ops',
  'kty',
  'n',
  'oth',
  'p',
  'q',
  'qi',
  'use',
  'x',
  'y',
] as const;
const PRIME_MEMBERS = ['d', 'r', 't'] as const;

/** A record without a prototype, from which JSON can be made. */
export function toJsonWebKey(value: unknown): object {
  const given = toDictionary(value, 'JsonWebKey');
  const key = record({});
  for (let i = 0; i < MEMBERS.length; i++) {
    const name = MEMBERS[i] as string;
    const found = given[name];
    if (found === undefined) continue;
    if (name === 'ext') member(key, name, !!found);
    else if (name === 'key_ops') member(key, name, toList(found, 'JsonWebKey: key_ops', toDOMString));
    else if (name === 'oth') member(key, name, toList(found, 'JsonWebKey: oth', toPrime));
    else member(key, name, toDOMString(found));
  }
  return key;
}

function toPrime(value: unknown): object {
  const given = toDictionary(value, 'JsonWebKey: a member of oth');
  const prime = record({});
  for (let i = 0; i < PRIME_MEMBERS.length; i++) {
    const name = PRIME_MEMBERS[i] as string;
    if (given[name] !== undefined) member(prime, name, toDOMString(given[name]));
  }
  return prime;
}

/** A Web IDL sequence from any iterable. @returns an array without a prototype */
export function toList<T>(value: unknown, what: string, convert: (item: unknown) => T): T[] {
  const items = toObject(value, what) as Iterable<unknown>;
  if (typeof items[Symbol.iterator] !== 'function') throw new TypeError(`${what} is not a sequence`);
  const list: T[] = record([]);
  for (const item of items) member(list, list.length, convert(item));
  return list;
}

function toObject(value: unknown, what: string): object {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null)
    throw new TypeError(`${what} is not an object`);
  return value;
}
