/** Writes pieces of the binary format of WebAssembly, and copies others from the module. */
import type { WebAssemblyNeeds } from './needs.ts';

declare const needs: WebAssemblyNeeds;
const { Uint8ArrayIntrinsic, charCodeAt, typedArrayBuffer } = needs;
const { typedArrayByteOffset, typedArrayLength, typedArraySet } = needs;

/** An integer of 32 bits that is padded: its place is there before its value is known. */
export const PADDED_BYTES = 5;

export class ModuleWriter {
  readonly #source: Uint8Array;
  readonly #out: Uint8Array<ArrayBuffer>;
  #at = 0;

  /** @param added most bytes that are written beside those of the source */
  constructor(source: Uint8Array, added: number) {
    this.#source = source;
    this.#out = new Uint8ArrayIntrinsic(typedArrayLength(source) + added);
  }

  byte(value: number): void {
    this.#out[this.#at++] = value;
  }

  three(a: number, b: number, c: number): void {
    this.byte(a);
    this.byte(b);
    this.byte(c);
  }

  padded(value: number, at = this.#at): void {
    let rest = value;
    for (let i = 0; i < PADDED_BYTES; i++) {
      this.#out[at + i] = (rest & 0x7f) | (i < PADDED_BYTES - 1 ? 0x80 : 0);
      rest >>>= 7;
    }
    if (at === this.#at) this.#at += PADDED_BYTES;
  }

  copy(from: number, to: number): void {
    const source = this.#source;
    const offset = typedArrayByteOffset(source) + from;
    typedArraySet(this.#out, new Uint8ArrayIntrinsic(typedArrayBuffer(source), offset, to - from), this.#at);
    this.#at += to - from;
  }

  /** Begins a section, or with -1 something else that has its size before it. */
  begin(id: number): number {
    if (id >= 0) this.byte(id);
    this.#at += PADDED_BYTES;
    return this.#at;
  }

  /** Ends what was begun at `start`. */
  end(start: number): void {
    this.padded(this.#at - start, start - PADDED_BYTES);
  }

  exported(name: string, kind: number, index: number): void {
    this.byte(name.length);
    for (let i = 0; i < name.length; i++) this.byte(charCodeAt(name, i));
    this.byte(kind);
    this.padded(index);
  }

  written(): Uint8Array<ArrayBuffer> {
    return new Uint8ArrayIntrinsic(typedArrayBuffer(this.#out), 0, this.#at);
  }
}
