/**
 * FormData (https://xhr.spec.whatwg.org/#interface-formdata): an ordered list of named strings and
 * files.
 */

import { List, push } from '../list.ts';
import { forEachPair, pairIteratorOf } from '../pair-iterator.ts';
import { defineInterface, isObject, requireArguments, toUSVString } from '../web-idl.ts';
import {
  type Blob,
  blobBytes,
  blobType,
  type File,
  fileLastModified,
  fileOver,
  isBlob,
  isFile,
} from './blob.ts';

export type FormValue = string | File;
export type FormEntry = readonly [name: string, value: FormValue];

/** The entries of a form, in order. */
export let formEntries: (form: FormData) => List<FormEntry>;
/** A form of valid entries, also if a script has replaced `append`. */
export let formOf: (entries: readonly FormEntry[] | List<FormEntry>) => FormData;
export let isFormData: (value: unknown) => value is FormData;

export class FormData {
  #entries = new List<FormEntry>();

  static {
    formEntries = (form) => form.#entries;
    isFormData = (value): value is FormData => isObject(value) && #entries in value;
    formOf = (entries) => {
      const form = new FormData();
      for (let i = 0; i < entries.length; i++) push(form.#entries, entries[i] as FormEntry);
      return form;
    };
  }

  /** Form elements do not exist, so any argument is an error. */
  constructor(form: unknown = undefined) {
    if (form !== undefined) throw new TypeError('FormData: parameter 1 is not of type HTMLFormElement');
  }

  append(name: unknown, value: unknown, filename: unknown = undefined): void {
    requireArguments(arguments.length, 2, 'FormData.append');
    push(this.#entries, toEntry(name, value, filename, arguments.length > 2 ? 'FormData.append' : undefined));
  }

  delete(name: unknown): void {
    requireArguments(arguments.length, 1, 'FormData.delete');
    this.#replace(toUSVString(name), undefined);
  }

  get(name: unknown): FormValue | null {
    requireArguments(arguments.length, 1, 'FormData.get');
    return this.#find(toUSVString(name))?.[1] ?? null;
  }

  getAll(name: unknown): FormValue[] {
    requireArguments(arguments.length, 1, 'FormData.getAll');
    const key = toUSVString(name);
    const all: FormValue[] = [];
    for (let i = 0; i < this.#entries.length; i++) {
      const entry = this.#entries[i] as FormEntry;
      if (entry[0] === key) all.push(entry[1]);
    }
    return all;
  }

  has(name: unknown): boolean {
    requireArguments(arguments.length, 1, 'FormData.has');
    return this.#find(toUSVString(name)) !== undefined;
  }

  /** Replaces the first entry of the name and drops the others, or appends. */
  set(name: unknown, value: unknown, filename: unknown = undefined): void {
    requireArguments(arguments.length, 2, 'FormData.set');
    const entry = toEntry(name, value, filename, arguments.length > 2 ? 'FormData.set' : undefined);
    if (this.#find(entry[0]) === undefined) push(this.#entries, entry);
    else this.#replace(entry[0], entry);
  }

  entries(): IterableIterator<[string, FormValue]> {
    void this.#entries;
    return iterate(this, 'entries');
  }

  keys(): IterableIterator<string> {
    void this.#entries;
    return iterate(this, 'keys');
  }

  values(): IterableIterator<FormValue> {
    void this.#entries;
    return iterate(this, 'values');
  }

  forEach(callback: unknown, thisArg: unknown = undefined): void {
    requireArguments(arguments.length, 1, 'FormData.forEach');
    void this.#entries;
    forEachPair(this, formEntries, callback, thisArg);
  }

  declare [Symbol.iterator]: () => IterableIterator<[string, FormValue]>;

  #find(name: string): FormEntry | undefined {
    for (let i = 0; i < this.#entries.length; i++) {
      if (this.#entries[i]?.[0] === name) return this.#entries[i];
    }
    return undefined;
  }

  /** Drops all entries of a name; `entry` takes the place of the first. */
  #replace(name: string, entry: FormEntry | undefined): void {
    const kept = new List<FormEntry>();
    let next = entry;
    for (let i = 0; i < this.#entries.length; i++) {
      const other = this.#entries[i] as FormEntry;
      if (other[0] !== name) push(kept, other);
      else if (next !== undefined) {
        push(kept, next);
        next = undefined;
      }
    }
    this.#entries = kept;
  }
}
defineInterface(FormData, 'FormData');
Object.defineProperty(FormData.prototype, Symbol.iterator, {
  value: FormData.prototype.entries,
  writable: true,
  configurable: true,
});

const iterate = pairIteratorOf('FormData', formEntries);

/**
 * "Create an entry": a blob becomes a file; a file gets the new name if there is one.
 *
 * @param blobFor operation that has a file name, and so requires a Blob
 */
function toEntry(name: unknown, value: unknown, filename: unknown, blobFor: string | undefined): FormEntry {
  const key = toUSVString(name);
  if (!isBlob(value)) {
    if (blobFor !== undefined) throw new TypeError(`${blobFor}: parameter 2 is not of type Blob`);
    return [key, toUSVString(value)];
  }
  const given = filename === undefined ? undefined : toUSVString(filename);
  if (isFile(value))
    return [key, given === undefined ? value : renamed(value, given, fileLastModified(value))];
  return [key, renamed(value, given ?? 'blob')];
}

/** A file over the same memory. */
const renamed = (blob: Blob, name: string, lastModified?: number): File =>
  fileOver(blobBytes(blob), name, blobType(blob), lastModified);
