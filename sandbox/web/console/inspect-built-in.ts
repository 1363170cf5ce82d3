/**
 * How an inspection shows built-in objects whose content is not in members: from their internal
 * slots.
 *
 * The prototype chain gives the kind of an object. If the chain lies, reading the slot throws, and
 * the object is shown as an ordinary one.
 */

import { List, push } from '../list.ts';
import {
  getPrototypeOf,
  mapGet,
  mapSet,
  typedArrayLength,
  uncurryGetter,
  uncurryThis,
} from '../primordials.ts';
import { quote } from './inspect-text.ts';

/** The part of the running inspection that a describer uses. */
export interface Inspector {
  show(value: unknown): string;
  /** Whether the budget for entries is used up. */
  full(index: number): boolean;
}

/** An object's content, shown instead of its elements; `bare` if the title is enough. */
export interface Content {
  readonly title: string;
  readonly open?: '{' | '[';
  readonly entries?: List<string>;
  readonly bare?: boolean;
  /** Own properties are not shown: they belong to a library. */
  readonly opaque?: boolean;
}

/** @throws if `value` is not of the kind */
export type Describer = (value: object, name: string, inspector: Inspector) => Content;

const describers = new Map<object, Describer>();

/** Sets how objects with this prototype on their chain are shown. */
export function describeKind(prototype: object, describer: Describer): void {
  mapSet(describers, prototype, describer);
}

/** The describer of an object's kind, if it has one. */
export function describerOf(value: object): Describer | undefined {
  let prototype = getPrototypeOf(value) as object | null;
  for (let hops = 0; prototype !== null && hops < 32; hops++) {
    const describer = mapGet(describers, prototype);
    if (describer !== undefined) return describer;
    prototype = getPrototypeOf(prototype) as object | null;
  }
  return undefined;
}

const getTime = uncurryThis(Date.prototype.getTime);
const toISOString = uncurryThis(Date.prototype.toISOString);
describeKind(Date.prototype, (value) => {
  const date = value as Date;
  return { title: Number.isNaN(getTime(date)) ? 'Invalid Date' : toISOString(date), bare: true };
});

const source = uncurryGetter<string>(RegExp.prototype, 'source');
const FLAGS = (
  [
    ['d', 'hasIndices'],
    ['g', 'global'],
    ['i', 'ignoreCase'],
    ['m', 'multiline'],
    ['s', 'dotAll'],
    ['u', 'unicode'],
    ['v', 'unicodeSets'],
    ['y', 'sticky'],
  ] as const
).map(([letter, key]) => ({ letter, isSet: uncurryGetter<boolean>(RegExp.prototype, key) }));
describeKind(RegExp.prototype, (value) => {
  let title = `/${source(value)}/`;
  for (let i = 0; i < FLAGS.length; i++) if (FLAGS[i]?.isSet(value)) title += FLAGS[i]?.letter;
  return { title, bare: true };
});

const mapSize = uncurryGetter<number>(Map.prototype, 'size');
const mapEntries = uncurryThis(Map.prototype.entries);
const nextOfMap = uncurryThis(new Map<unknown, unknown>().entries().next);
describeKind(Map.prototype, (value, name, inspector) => {
  const size = mapSize(value);
  const entries = new List<string>();
  const iterator = mapEntries(value as Map<unknown, unknown>) as MapIterator<[unknown, unknown]>;
  for (let i = 0; i < size; i++) {
    if (inspector.full(i)) {
      push(entries, `... ${size - i} more`);
      break;
    }
    const pair = nextOfMap(iterator).value as [unknown, unknown];
    push(entries, `${inspector.show(pair[0])} => ${inspector.show(pair[1])}`);
  }
  return { title: `${name}(${size})`, entries };
});

const setSize = uncurryGetter<number>(Set.prototype, 'size');
const setValues = uncurryThis(Set.prototype.values);
const nextOfSet = uncurryThis(new Set<unknown>().values().next);
describeKind(Set.prototype, (value, name, inspector) => {
  const size = setSize(value);
  const entries = new List<string>();
  const iterator = setValues(value as Set<unknown>) as SetIterator<unknown>;
  for (let i = 0; i < size; i++) {
    if (inspector.full(i)) {
      push(entries, `... ${size - i} more`);
      break;
    }
    push(entries, inspector.show(nextOfSet(iterator).value));
  }
  return { title: `${name}(${size})`, entries };
});

describeKind(getPrototypeOf(Uint8Array.prototype) as object, (value, name, inspector) => {
  const length = typedArrayLength(value);
  const entries = new List<string>();
  for (let i = 0; i < length; i++) {
    if (inspector.full(i)) {
      push(entries, `... ${length - i} more`);
      break;
    }
    push(entries, inspector.show((value as Uint8Array)[i]));
  }
  return { title: `${name}(${length})`, open: '[', entries };
});

const byteLengths = [ArrayBuffer.prototype, DataView.prototype].map((prototype) => ({
  prototype,
  byteLength: uncurryGetter<number>(prototype, 'byteLength'),
}));
for (const { prototype, byteLength } of byteLengths) {
  describeKind(prototype, (value, name) => {
    const entries = new List<string>();
    push(entries, `byteLength: ${byteLength(value)}`);
    return { title: name, entries };
  });
}

const stringValue = uncurryThis(String.prototype.valueOf) as (value: String) => string;
describeKind(String.prototype, (value) => ({
  title: `[String: ${quote(stringValue(value as String))}]`,
  bare: true,
}));
const numberValue = uncurryThis(Number.prototype.valueOf) as (value: Number) => number;
describeKind(Number.prototype, (value) => ({
  title: `[Number: ${numberValue(value as Number)}]`,
  bare: true,
}));
const booleanValue = uncurryThis(Boolean.prototype.valueOf) as (value: Boolean) => boolean;
describeKind(Boolean.prototype, (value) => ({
  title: `[Boolean: ${booleanValue(value as Boolean)}]`,
  bare: true,
}));
