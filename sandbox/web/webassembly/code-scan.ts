/**
 * Walks through the body of a function: finds each `memory.grow`, and adds up what the engine's
 * code for it weighs. It keeps the height of the stack, as an upper bound, and validates nothing.
 */
import {
  ADDRESS,
  ADDRESS_AND_LANE,
  BULK,
  EIGHT_BYTES,
  FOUR_BYTES,
  INDEX,
  INTEGER,
  type Instructions,
  LANE,
  NOTHING,
  PLAIN,
  REFUSED,
  SIXTEEN_BYTES,
  TWO_INDICES,
  VECTOR,
} from './instructions.ts';
import type { ModuleReader } from './module-reader.ts';
import type { WebAssemblyNeeds } from './needs.ts';

declare const needs: WebAssemblyNeeds;
const { Int32ArrayIntrinsic } = needs;

const LOCALS_MAX = 20_000;
const NESTING_MAX = 16_384;
/** Weight of one function: the engine compiles a function in one go. */
const FUNCTION_WEIGHT_MAX = 500_000;
/**
 * Values that are alive at the branches of one function, all together: the engine notes each of
 * them at each branch, in 26 bytes. Attack: a hundred kilobytes of branches over thousands of
 * locals take gigabytes and many seconds, in one call that nothing interrupts.
 */
const MERGED_VALUES_MAX = 2_000_000;
/** Bytes of `memory.grow`. */
export const GROW_BYTES = 2;

/** Parameters and results of the types, and the types of functions and tags, by index. */
export interface Signatures {
  readonly parameters: Int32Array;
  readonly results: Int32Array;
  readonly types: number;
  readonly functions: Int32Array;
  readonly functionCount: number;
  readonly tags: Int32Array;
  readonly tagCount: number;
}

export class CodeScan {
  readonly #reader: ModuleReader;
  readonly #signatures: Signatures;
  /** Of each open block: height below its parameters, its parameters, its results. */
  readonly #blocks = new Int32ArrayIntrinsic(3 * (NESTING_MAX + 1));
  #depth = 0;
  #height = 0;
  #locals = 0;
  #weight = 0;
  #merged = 0;
  /** Places of `memory.grow`. */
  grows = new Int32ArrayIntrinsic(64);
  #growsMax = 64;
  growCount = 0;
  /** Weight of all functions. */
  weight = 0;

  constructor(reader: ModuleReader, signatures: Signatures) {
    this.#reader = reader;
    this.#signatures = signatures;
  }

  /** One body, from its locals to its last byte. */
  body(type: number, end: number): void {
    const reader = this.#reader;
    this.#locals = this.#signatures.parameters[type] ?? 0;
    for (let groups = reader.index(); groups > 0; groups--) {
      this.#locals += reader.index();
      reader.valueType();
      if (this.#locals > LOCALS_MAX) reader.refuse(`A function has more than ${LOCALS_MAX} locals`);
    }
    this.#depth = -1;
    this.#height = 0;
    this.#weight = this.#locals;
    this.#merged = 0;
    this.#open(0, this.#signatures.results[type] ?? 0);
    while (this.#depth >= 0) this.#instruction();
    if (reader.at !== end) reader.refuse('A function ends before its body does');
    this.weight += this.#weight;
  }

  #instruction(): void {
    const reader = this.#reader;
    const code = reader.byte();
    const follows = PLAIN.follows[code] as number;
    if (follows === REFUSED) reader.refuse(`Instruction 0x${hex(code)} is not supported`);
    if (follows >= NOTHING) this.#ordinary(PLAIN, code);
    else if (code === 0xfc || code === 0xfd) {
      const set = code === 0xfc ? BULK : VECTOR;
      const second = reader.index();
      if (second >= set.count || set.follows[second] === REFUSED)
        reader.refuse(`Instruction 0x${hex(code)} ${second} is not supported`);
      this.#ordinary(set, second);
    } else this.#special(code);
    if (this.#weight > FUNCTION_WEIGHT_MAX || this.#merged > MERGED_VALUES_MAX)
      reader.refuse('A function is too large, or has too many branches for its locals');
  }

  #ordinary({ follows, height, weight }: Instructions, code: number): void {
    const reader = this.#reader;
    this.#weight += weight[code] as number;
    this.#change(height[code] as number);
    switch (follows[code]) {
      case INDEX:
      case INTEGER:
        return reader.integer();
      case ADDRESS:
        return reader.address();
      case FOUR_BYTES:
        return reader.skip(4);
      case EIGHT_BYTES:
        return reader.skip(8);
      case TWO_INDICES:
        reader.integer();
        return reader.integer();
      case SIXTEEN_BYTES:
        return reader.skip(16);
      case LANE:
        return reader.skip(1);
      case ADDRESS_AND_LANE:
        reader.address();
        return reader.skip(1);
    }
  }

  /** An instruction with a rule of its own. */
  #special(code: number): void {
    const reader = this.#reader;
    switch (code) {
      case 0x02: // block
      case 0x03: // loop
      case 0x04: // if
      case 0x06: // try
      case 0x1f: // try_table
        if (code === 0x04) this.#change(-1);
        if (code !== 0x02) this.#merge(1);
        this.#block();
        if (code === 0x1f) this.#catches();
        return;
      case 0x05: // else
        this.#merge(1);
        return this.#again(this.#blocks[3 * this.#depth + 1] as number);
      case 0x07: // catch
        this.#merge(1);
        return this.#again(this.#parametersOfTag(reader.index()));
      case 0x19: // catch_all
        this.#merge(1);
        return this.#again(0);
      case 0x18: // delegate
        reader.integer();
        return this.#close();
      case 0x0b: // end
        return this.#close();
      case 0x08: // throw
        this.#change(-this.#parametersOfTag(reader.index()));
        return this.#unreachable();
      case 0x09: // rethrow
      case 0x0c: // br
        reader.integer();
        this.#merge(1);
        return this.#unreachable();
      case 0x0a: // throw_ref
      case 0x0f: // return
        return this.#unreachable();
      case 0x0d: // br_if
        reader.integer();
        this.#change(-1);
        return this.#merge(1);
      case 0x0e: // br_table
        return this.#brTable();
      case 0x10: // call
      case 0x12: // return_call
        return this.#call(this.#typeOfFunction(reader.index()), code === 0x12, 4);
      case 0x11: // call_indirect
      case 0x13: {
        // return_call_indirect
        const type = reader.index();
        reader.integer();
        this.#change(-1);
        return this.#call(type, code === 0x13, 13);
      }
      case 0x1c: // select, with types
        reader.valueTypes(1);
        return this.#change(-2);
      case 0x3f: // memory.size
        if (reader.byte() !== 0) reader.refuse('A module has one memory');
        return this.#change(1);
      case 0x40: // memory.grow
        if (reader.byte() !== 0) reader.refuse('A module has one memory');
        this.#weight += 5;
        return this.#noteGrow(reader.at - GROW_BYTES);
      case 0xd0: // ref.null
        reader.reference();
        return this.#change(1);
    }
    reader.refuse(`Instruction 0x${hex(code)} is not supported`);
  }

  #change(by: number): void {
    this.#height += by;
    // Below its block's height only where the code is never reached.
    const least = this.#blocks[3 * this.#depth] as number;
    if (this.#height < least) this.#height = least;
  }

  #merge(times: number): void {
    this.#weight += 1;
    this.#merged += times * (this.#locals + this.#height);
  }

  #block(): void {
    const reader = this.#reader;
    const kind = reader.byte();
    // Negative numbers of one byte stand for no result, or for one value.
    if (kind === 0x40) return this.#open(0, 0);
    if (kind >= 0x41 && kind < 0x80) {
      reader.at -= 1;
      reader.valueType();
      return this.#open(0, 1);
    }
    reader.at -= 1;
    const type = reader.index();
    if (type >= this.#signatures.types) reader.refuse('A block has no such type');
    this.#open(this.#signatures.parameters[type] as number, this.#signatures.results[type] as number);
  }

  #open(parameters: number, results: number): void {
    this.#depth += 1;
    if (this.#depth > NESTING_MAX) this.#reader.refuse(`Blocks are nested more than ${NESTING_MAX} deep`);
    const at = 3 * this.#depth;
    const base = this.#height - parameters;
    this.#blocks[at] = base < 0 ? 0 : base;
    this.#blocks[at + 1] = parameters;
    this.#blocks[at + 2] = results;
    this.#weight += 1;
  }

  #close(): void {
    const at = 3 * this.#depth;
    this.#height = (this.#blocks[at] as number) + (this.#blocks[at + 2] as number);
    this.#depth -= 1;
  }

  /** The next part of a block: its stack begins anew. */
  #again(values: number): void {
    this.#height = (this.#blocks[3 * this.#depth] as number) + values;
  }

  #unreachable(): void {
    this.#height = this.#blocks[3 * this.#depth] as number;
  }

  #brTable(): void {
    const reader = this.#reader;
    const count = reader.index();
    for (let i = 0; i <= count; i++) reader.integer();
    this.#change(-1);
    // The engine makes one piece of code for each block that is left.
    this.#merge(count < this.#depth ? count + 1 : this.#depth + 1);
    this.#weight += count;
    this.#unreachable();
  }

  #catches(): void {
    const reader = this.#reader;
    for (let count = reader.index(); count > 0; count--) {
      const kind = reader.byte();
      if (kind > 3) reader.refuse('A handler is of a kind that is not supported');
      if (kind < 2) reader.integer();
      reader.integer();
      this.#merge(1);
    }
  }

  #typeOfFunction(index: number): number {
    if (index >= this.#signatures.functionCount) this.#reader.refuse('There is no such function');
    return this.#signatures.functions[index] as number;
  }

  #call(type: number, isReturn: boolean, weight: number): void {
    if (type >= this.#signatures.types) this.#reader.refuse('A call has no such type');
    const parameters = this.#signatures.parameters[type] as number;
    const results = this.#signatures.results[type] as number;
    this.#weight += weight + parameters + results;
    this.#change(-parameters);
    if (isReturn) return this.#unreachable();
    this.#change(results);
  }

  #parametersOfTag(tag: number): number {
    if (tag >= this.#signatures.tagCount) this.#reader.refuse('There is no such tag');
    return this.#signatures.parameters[this.#signatures.tags[tag] as number] ?? 0;
  }

  #noteGrow(at: number): void {
    if (this.growCount === this.#growsMax) {
      this.#growsMax *= 2;
      const longer = new Int32ArrayIntrinsic(this.#growsMax);
      for (let i = 0; i < this.growCount; i++) longer[i] = this.grows[i] as number;
      this.grows = longer;
    }
    this.grows[this.growCount++] = at;
  }
}

const hex = (code: number): string => {
  const digits = '0123456789abcdef';
  return `${digits[code >> 4]}${digits[code & 15]}`;
};
