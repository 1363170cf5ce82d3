/** FormData (https://xhr.spec.whatwg.org/#interface-formdata): an ordered list of named strings and files. */
import { type Blob, blobBytes, File, fileOver, isBlob } from './blob.ts';
import { forEachPair, pairIteratorOf } from './pair-iterator.ts';
import { defineInterface, isObject, requireArguments, toUSVString } from './web-idl.ts';

export type FormValue = string | File;
export type FormEntry = readonly [name: string, value: FormValue];

/** The entries of a form, in order. */
export let formEntries: (form: FormData) => readonly FormEntry[];
export let isFormData: (value: unknown) => value is FormData;

export class FormData {
  #entries: FormEntry[] = [];

  static {
    formEntries = (form) => form.#entries;
    isFormData = (value): value is FormData => isObject(value) && #entries in value;
  }

  /** There are no form elements here, so any argument is wrong. */
  constructor(form: unknown = undefined) {
    if (form !== undefined) throw new TypeError('FormData: parameter 1 is not of type HTMLFormElement');
  }

  append(name: unknown, value: unknown, filename: unknown = undefined): void {
    requireArguments(arguments.length, 2, 'FormData.append');
    this.#entries.push(toEntry(name, value, filename, arguments.length > 2, 'FormData.append'));
  }

  delete(name: unknown): void {
    requireArguments(arguments.length, 1, 'FormData.delete');
    const key = toUSVString(name);
    this.#entries = this.#entries.filter((entry) => entry[0] !== key);
  }

  get(name: unknown): FormValue | null {
    requireArguments(arguments.length, 1, 'FormData.get');
    const key = toUSVString(name);
    return this.#entries.find((entry) => entry[0] === key)?.[1] ?? null;
  }

  getAll(name: unknown): FormValue[] {
    requireArguments(arguments.length, 1, 'FormData.getAll');
    const key = toUSVString(name);
    return this.#entries.filter((entry) => entry[0] === key).map((entry) => entry[1]);
  }

  has(name: unknown): boolean {
    requireArguments(arguments.length, 1, 'FormData.has');
    const key = toUSVString(name);
    return this.#entries.some((entry) => entry[0] === key);
  }

  /** Replaces the first entry of the name, drops the others; appends where there is none. */
  set(name: unknown, value: unknown, filename: unknown = undefined): void {
    requireArguments(arguments.length, 2, 'FormData.set');
    const entry = toEntry(name, value, filename, arguments.length > 2, 'FormData.set');
    const at = this.#entries.findIndex((other) => other[0] === entry[0]);
    if (at < 0) {
      this.#entries.push(entry);
    } else {
      this.#entries = this.#entries.filter((other, index) => index <= at || other[0] !== entry[0]);
      this.#entries[at] = entry;
    }
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

  forEach(callback: unknown, thisArg?: unknown): void {
    requireArguments(arguments.length, 1, 'FormData.forEach');
    void this.#entries;
    forEachPair(this, formEntries, callback, thisArg);
  }

  declare [Symbol.iterator]: () => IterableIterator<[string, FormValue]>;
}
defineInterface(FormData, 'FormData');
Object.defineProperty(FormData.prototype, Symbol.iterator, {
  value: FormData.prototype.entries,
  writable: true,
  configurable: true,
});

const iterate = pairIteratorOf('FormData', formEntries);

/** A form of entries that are known to be good, past whatever a tenant did to `append`. */
export function formOf(entries: readonly FormEntry[]): FormData {
  const form = new FormData();
  const own = formEntries(form) as FormEntry[];
  for (let i = 0; i < entries.length; i++) own[i] = entries[i] as FormEntry;
  return form;
}

/** "Create an entry": a blob becomes a file, a file gets the new name if one was given. */
function toEntry(name: unknown, value: unknown, filename: unknown, named: boolean, what: string): FormEntry {
  const key = toUSVString(name);
  if (!isBlob(value)) {
    if (named) throw new TypeError(`${what}: parameter 2 is not of type Blob`);
    return [key, toUSVString(value)];
  }
  const given = filename === undefined ? undefined : toUSVString(filename);
  if (value instanceof File && given === undefined) return [key, value];
  return [key, renamed(value, given ?? 'blob')];
}

function renamed(blob: Blob, name: string): File {
  return blob instanceof File
    ? new File([blob], name, { type: blob.type, lastModified: blob.lastModified })
    : fileOver(blobBytes(blob), name, blob.type);
}
