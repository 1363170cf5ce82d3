/** Reads the primitives of the binary format of WebAssembly, within the bounds of one piece. */
import type { WebAssemblyNeeds } from './needs.ts';

declare const needs: WebAssemblyNeeds;
const { fromCharCode, typedArrayLength } = needs;

/** Bytes of an integer of 64 bits. */
const LONG_INTEGER_BYTES = 10;
const FUNCTION_REFERENCE = 0x70;
const EXTERNAL_REFERENCE = 0x6f;
const EXCEPTION_REFERENCE = 0x69;
const VECTOR = 0x7b;
const INT32 = 0x7f;

export class ModuleReader {
  readonly bytes: Uint8Array;
  readonly #refusal: (why: string) => Error;
  /**
   * Attack: a script replaces the accessor `length`, which then shows less than the engine sees.
   */
  readonly size: number;
  at = 0;
  end: number;

  constructor(bytes: Uint8Array, refusal: (why: string) => Error) {
    this.bytes = bytes;
    this.size = typedArrayLength(bytes);
    this.end = this.size;
    this.#refusal = refusal;
  }

  refuse(why: string): never {
    throw this.#refusal(`${why} (at byte ${this.at})`);
  }

  byte(): number {
    if (this.at >= this.end) this.refuse('The module ends too early');
    return this.bytes[this.at++] as number;
  }

  skip(count: number): void {
    if (count > this.end - this.at) this.refuse('The module ends too early');
    this.at += count;
  }

  /** An unsigned integer of 32 bits. */
  index(): number {
    const first = this.byte();
    if (first < 0x80) return first;
    let value = first & 0x7f;
    for (let shift = 7; shift < 35; shift += 7) {
      const next = this.byte();
      value |= (next & 0x7f) << shift;
      if (next < 0x80) return value >>> 0;
    }
    return this.refuse('An integer is too long');
  }

  /** Passes over an integer of at most 64 bits. */
  integer(): void {
    for (let count = 0; count < LONG_INTEGER_BYTES; count++) if (this.byte() < 0x80) return;
    this.refuse('An integer is too long');
  }

  name(): void {
    this.skip(this.index());
  }

  /** The type of a value. */
  valueType(): number {
    const type = this.byte();
    if ((type < VECTOR || type > INT32) && !isReference(type)) this.refuse('A type is not supported');
    return type;
  }

  /** The type of a reference. */
  reference(): number {
    const type = this.byte();
    if (!isReference(type)) this.refuse('A type of references is not supported');
    return type;
  }

  /** A list of types, as text. */
  valueTypes(max: number): string {
    const count = this.index();
    if (count > max) this.refuse(`A function has ${count} parameters or results; at most ${max} are allowed`);
    let types = '';
    for (let i = 0; i < count; i++) types += fromCharCode(this.valueType());
    return types;
  }

  /** Limits of a memory or a table. @param none stands for a maximum that is absent */
  limits(none: number): { readonly least: number; readonly most: number } {
    const flags = this.byte();
    if ((flags & 2) !== 0) this.refuse('Shared memory is not available');
    if ((flags & 4) !== 0) this.refuse('Memory and tables of 64 bits are not available');
    if (flags > 1) this.refuse('A kind of limits is not supported');
    const least = this.index();
    return { least, most: flags === 1 ? this.index() : none };
  }

  /** Passes over an address: of memory 0, the only one. */
  address(): void {
    if (this.index() >= 64) this.refuse('A module has one memory');
    this.integer();
  }
}

const isReference = (type: number): boolean =>
  type === FUNCTION_REFERENCE || type === EXTERNAL_REFERENCE || type === EXCEPTION_REFERENCE;
