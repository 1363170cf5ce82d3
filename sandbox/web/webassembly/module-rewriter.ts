/**
 * Reads a WebAssembly module before the engine does, and rewrites it so that it cannot escape the
 * limits of its isolate (docs/decisions/webassembly.md).
 *
 * - Every `memory.grow` becomes a call of a function that is added to the module, which asks
 *   `webassembly.ts` over a table of one entry. Types, functions, tables and exports are added at
 *   the end of their sections, so no index changes.
 * - A memory and tables get maxima.
 * - What costs the engine more than its bytes say is bounded, and weighed.
 *
 * It refuses each instruction and type that it does not know: else the engine might see a
 * `memory.grow` where this file sees none. The engine validates all the rest. Nothing here calls a
 * built-in that a script may have replaced.
 */
import { CodeScan, GROW_BYTES } from './code-scan.ts';
import { ModuleReader } from './module-reader.ts';
import { ModuleWriter, PADDED_BYTES } from './module-writer.ts';
import type { WebAssemblyNeeds } from './needs.ts';

declare const needs: WebAssemblyNeeds;
const { Int32ArrayIntrinsic } = needs;

const FUNCTIONS_MAX = 50_000;
const TYPES_MAX = 5_000;
/** Parameters, and results, of one function: the engine makes code for each at every call. */
const VALUES_MAX = 255;
const TABLES_MAX = 100;
const TAGS_MAX = 1_000;
/** Entries of all tables of a module at first, and of each one when it has grown. */
export const TABLE_ENTRIES_MAX = 100_000;

/** What the engine keeps for a module, and for each byte, function and unit of weight in it. */
const BYTES_PER_MODULE = 64 * 1024;
const BYTES_PER_BYTE = 2;
const BYTES_PER_FUNCTION = 256;
const BYTES_PER_WEIGHT = 8;

const HEAD_BYTES = 8;
/** What a table with a maximum has at most more than one without. */
const BYTES_PER_TABLE = 2 * PADDED_BYTES;
/** What one `memory.grow` adds: an index in place of a byte, and a longer length of its body. */
const BYTES_PER_GROW = 2 * PADDED_BYTES;
const ADDED_BYTES_MAX = 1024;

/** Names of the exports that only `webassembly.ts` sees: a zero, and this letter. */
export const GROWER = '\0g';
export const MEMORY = '\0m';
export const START = '\0s';

const CUSTOM = 0;
const TYPE = 1;
const IMPORT = 2;
const FUNCTION = 3;
const TABLE = 4;
const MEMORIES = 5;
const EXPORT = 7;
const START_FUNCTION = 8;
const CODE = 10;
const TAG = 13;
/** Place of each section in a module, by its id: data is counted before code, tags after memory. */
const PLACES: Readonly<Record<string, number>> = {
  __proto__: null as never,
  ...{ 1: 1, 2: 2, 3: 3, 4: 4, 5: 5, 13: 6, 6: 7, 7: 8, 8: 9, 9: 10, 12: 11, 10: 12, 11: 13 },
};
const AFTER_ALL = 14;
const UNBOUNDED = 2 ** 32 - 1;

export interface Rewritten {
  readonly bytes: Uint8Array;
  /** Memory that the engine needs for the module and its code. */
  readonly nativeBytes: number;
  /** First size of a memory of its own; undefined where it has none. */
  readonly pages: number | undefined;
  /** Whether it has a table `GROWER` for the function that grows its memory. */
  readonly grows: boolean;
  /** Whether its start function is its export `START`. */
  readonly starts: boolean;
}

export interface Bounds {
  /** Most pages of a memory. */
  readonly pagesMax: number;
  /** Hears of the type of each function, as text. */
  type(signature: string): void;
  /** The error of a module that is refused. */
  refusal(why: string): Error;
}

/** @throws what `refusal` returns */
export function rewriteModule(bytes: Uint8Array, bounds: Bounds): Rewritten {
  const module = new Module(bytes, bounds);
  module.read();
  return module.write();
}

class Module {
  readonly #reader: ModuleReader;
  readonly #bounds: Bounds;
  readonly #parameters = new Int32ArrayIntrinsic(TYPES_MAX);
  readonly #results = new Int32ArrayIntrinsic(TYPES_MAX);
  /** Type of each function, and of each tag. */
  readonly #functions = new Int32ArrayIntrinsic(FUNCTIONS_MAX);
  readonly #tags = new Int32ArrayIntrinsic(TAGS_MAX);
  #types = 0;
  #functionCount = 0;
  #tagCount = 0;
  #tables = 0;
  #tableEntries = 0;
  #memories = 0;
  #pages: number | undefined;
  #start = -1;
  #scan: CodeScan | undefined;

  constructor(bytes: Uint8Array, bounds: Bounds) {
    this.#reader = new ModuleReader(bytes, (why) => bounds.refusal(why));
    this.#bounds = bounds;
  }

  read(): void {
    const reader = this.#reader;
    reader.skip(HEAD_BYTES);
    let place = 0;
    while (reader.at < reader.size) {
      const id = reader.byte();
      const end = this.#sectionEnd();
      reader.end = end;
      if (id !== CUSTOM) {
        const own = PLACES[id] ?? 0;
        if (own <= place) reader.refuse('A section is unknown, or out of order');
        place = own;
        this.#section(id);
      }
      reader.at = end;
      reader.end = reader.size;
    }
    if (this.#memories > 1) reader.refuse('A module has one memory');
  }

  #sectionEnd(): number {
    const size = this.#reader.index();
    const { at } = this.#reader;
    this.#reader.skip(size);
    this.#reader.at = at;
    return at + size;
  }

  #section(id: number): void {
    switch (id) {
      case TYPE:
        return this.#each(() => this.#type(), TYPES_MAX, 'types');
      case IMPORT:
        return this.#each(() => this.#import(), FUNCTIONS_MAX, 'imports');
      case FUNCTION:
        return this.#each(() => this.#function(), FUNCTIONS_MAX, 'functions');
      case TABLE:
        return this.#each(() => this.#table(), TABLES_MAX, 'tables');
      case MEMORIES:
        return this.#each(() => this.#memory(), 1, 'memories');
      case TAG:
        return this.#each(() => this.#tag(), TAGS_MAX, 'tags');
      case START_FUNCTION:
        this.#start = this.#reader.index();
        return;
      case CODE:
        return this.#code();
    }
  }

  #each(read: () => void, max: number, what: string): void {
    const count = this.#reader.index();
    if (count > max) this.#reader.refuse(`The module has ${count} ${what}; at most ${max} are allowed`);
    for (let i = 0; i < count; i++) read();
  }

  #type(): void {
    const reader = this.#reader;
    if (reader.byte() !== 0x60) reader.refuse('Types of collected values are not supported');
    const parameters = reader.valueTypes(VALUES_MAX);
    const results = reader.valueTypes(VALUES_MAX);
    this.#parameters[this.#types] = parameters.length;
    this.#results[this.#types++] = results.length;
    this.#bounds.type(`${parameters}>${results}`);
  }

  #import(): void {
    const reader = this.#reader;
    reader.name();
    reader.name();
    switch (reader.byte()) {
      case 0:
        return this.#function();
      case 1:
        reader.reference();
        reader.limits(0);
        this.#tables++;
        return;
      case 2:
        reader.limits(0);
        this.#memories++;
        return;
      case 3:
        reader.valueType();
        return reader.skip(1);
      case 4:
        return this.#tag();
    }
    reader.refuse('An import is of a kind that is not supported');
  }

  #function(): void {
    const reader = this.#reader;
    if (this.#functionCount === FUNCTIONS_MAX)
      reader.refuse(`The module has more than ${FUNCTIONS_MAX} functions`);
    this.#functions[this.#functionCount++] = reader.index();
  }

  #tag(): void {
    this.#reader.skip(1);
    if (this.#tagCount === TAGS_MAX) this.#reader.refuse('The module has too many tags');
    this.#tags[this.#tagCount++] = this.#reader.index();
  }

  #table(): void {
    const reader = this.#reader;
    reader.reference();
    const { least } = reader.limits(TABLE_ENTRIES_MAX);
    this.#tables++;
    this.#tableEntries += least;
    if (this.#tableEntries > TABLE_ENTRIES_MAX)
      reader.refuse(`Tables have ${this.#tableEntries} entries; at most ${TABLE_ENTRIES_MAX} are allowed`);
  }

  #memory(): void {
    this.#memories++;
    this.#pages = this.#reader.limits(0).least;
  }

  #code(): void {
    const reader = this.#reader;
    const count = reader.index();
    const first = this.#functionCount - count;
    if (first < 0) reader.refuse('There are more bodies than functions');
    const scan = new CodeScan(reader, {
      parameters: this.#parameters,
      results: this.#results,
      types: this.#types,
      functions: this.#functions,
      functionCount: this.#functionCount,
      tags: this.#tags,
      tagCount: this.#tagCount,
    });
    this.#scan = scan;
    const codeEnd = reader.end;
    for (let i = 0; i < count; i++) {
      const end = this.#sectionEnd();
      reader.end = end;
      scan.body(this.#functions[first + i] as number, end);
      reader.end = codeEnd;
    }
  }

  /** Writes the module anew, with what is added. */
  write(): Rewritten {
    const reader = this.#reader;
    const { bytes } = reader;
    const growCount = this.#scan?.growCount ?? 0;
    if (this.#grows && this.#memories === 0) reader.refuse('There is no memory to grow');
    const starts = this.#grows && this.#start >= 0;
    const out = new ModuleWriter(
      bytes,
      ADDED_BYTES_MAX + BYTES_PER_TABLE * this.#tables + BYTES_PER_GROW * growCount,
    );
    out.copy(0, HEAD_BYTES);
    reader.at = HEAD_BYTES;
    let place = 0;
    while (reader.at < reader.size) {
      const from = reader.at;
      const id = reader.byte();
      const end = this.#sectionEnd();
      if (id !== CUSTOM) {
        this.#addSections(out, place, PLACES[id] as number);
        place = PLACES[id] as number;
      }
      if (!this.#rewrite(out, id, end) && !(id === START_FUNCTION && starts)) out.copy(from, end);
      reader.at = end;
    }
    this.#addSections(out, place, AFTER_ALL);
    return {
      bytes: out.written(),
      nativeBytes:
        BYTES_PER_MODULE +
        BYTES_PER_BYTE * reader.size +
        BYTES_PER_FUNCTION * this.#functionCount +
        BYTES_PER_WEIGHT * (this.#scan?.weight ?? 0),
      pages: this.#pages,
      grows: this.#grows,
      starts,
    };
  }

  get #grows(): boolean {
    return this.#scan !== undefined && this.#scan.growCount > 0;
  }

  /** Adds the sections of tables and of exports where the module has none, at their place. */
  #addSections(out: ModuleWriter, from: number, to: number): void {
    for (let i = 0; i < 2; i++) {
      const id = i === 0 ? TABLE : EXPORT;
      const place = PLACES[id] as number;
      const added = id === TABLE ? (this.#grows ? 1 : 0) : this.#exports;
      if (place <= from || place >= to || added === 0) continue;
      const section = out.begin(id);
      out.padded(added);
      if (id === TABLE) this.#addTable(out);
      else this.#addExports(out);
      out.end(section);
    }
  }

  /** How many exports are added. */
  get #exports(): number {
    const ofMemory = this.#pages === undefined ? 0 : 1;
    return ofMemory + (this.#grows ? (this.#start >= 0 ? 2 : 1) : 0);
  }

  /** Writes a section that changes. @returns whether it did */
  #rewrite(out: ModuleWriter, id: number, end: number): boolean {
    const changes =
      id === TABLE ||
      id === MEMORIES ||
      (id === EXPORT && this.#exports > 0) ||
      (this.#grows && (id === TYPE || id === FUNCTION || id === CODE));
    if (!changes) return false;
    const reader = this.#reader;
    const section = out.begin(id);
    const count = reader.index();
    const added = id === EXPORT ? this.#exports : id === MEMORIES || !this.#grows ? 0 : 1;
    out.padded(count + added);
    if (id === TABLE || id === MEMORIES) this.#writeLimits(out, id, count);
    else if (id === CODE) this.#writeBodies(out, count);
    else out.copy(reader.at, end);
    if (added > 0) this.#add(out, id);
    out.end(section);
    return true;
  }

  #add(out: ModuleWriter, id: number): void {
    switch (id) {
      case TYPE:
        // (i32) → i32
        out.three(0x60, 1, 0x7f);
        out.byte(1);
        return out.byte(0x7f);
      case FUNCTION:
        return out.padded(this.#types);
      case TABLE:
        return this.#addTable(out);
      case EXPORT:
        return this.#addExports(out);
      case CODE:
        return this.#addBody(out);
    }
  }

  /** Tables and memories with a maximum each. */
  #writeLimits(out: ModuleWriter, id: number, count: number): void {
    const reader = this.#reader;
    const max = id === TABLE ? TABLE_ENTRIES_MAX : this.#bounds.pagesMax;
    for (let i = 0; i < count; i++) {
      if (id === TABLE) out.byte(reader.reference());
      const { least, most } = reader.limits(UNBOUNDED);
      out.byte(1);
      out.padded(least);
      // One that begins beyond the bound is refused where it is made.
      const bounded = most < max ? most : max;
      out.padded(bounded < least && most >= least ? least : bounded);
    }
  }

  /** A table for the function that grows the memory. */
  #addTable(out: ModuleWriter): void {
    out.byte(0x70);
    out.three(1, 1, 1);
  }

  #addExports(out: ModuleWriter): void {
    if (this.#pages !== undefined) out.exported(MEMORY, 2, 0);
    if (!this.#grows) return;
    out.exported(GROWER, 1, this.#tables);
    if (this.#start >= 0) out.exported(START, 0, this.#start);
  }

  /** The bodies, with a call of the added function in the place of each `memory.grow`. */
  #writeBodies(out: ModuleWriter, count: number): void {
    const reader = this.#reader;
    const { grows } = this.#scan as CodeScan;
    let next = 0;
    for (let i = 0; i < count; i++) {
      const from = reader.at;
      const end = this.#sectionEnd();
      if ((grows[next] as number) > 0 && (grows[next] as number) < end) {
        const body = out.begin(-1);
        let at = reader.at;
        for (; (grows[next] as number) > 0 && (grows[next] as number) < end; next++) {
          out.copy(at, grows[next] as number);
          out.byte(0x10);
          out.padded(this.#functionCount);
          at = (grows[next] as number) + GROW_BYTES;
        }
        out.copy(at, end);
        out.end(body);
      } else out.copy(from, end);
      reader.at = end;
    }
  }

  /** `(delta) => table[0](delta)` */
  #addBody(out: ModuleWriter): void {
    const body = out.begin(-1);
    out.byte(0);
    // local.get 0, i32.const 0, call_indirect
    out.three(0x20, 0, 0x41);
    out.byte(0);
    out.byte(0x11);
    out.padded(this.#types);
    out.padded(this.#tables);
    out.byte(0x0b);
    out.end(body);
  }
}
