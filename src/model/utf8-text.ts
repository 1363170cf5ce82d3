/**
 * A text as its bytes in UTF-8, that knows which character a byte belongs to. What is found in the bytes is cut out of the
 * text itself, so that half a surrogate pair, which has no bytes of its own, stays what it is.
 */
import type { Spans, View } from './secret-search.ts';

export class Utf8Text implements View {
  readonly bytes: Uint8Array;
  readonly length: number;
  readonly #text: string;
  /** By character, and for the end, where its bytes begin; made where that is asked for, and not for ASCII. */
  #begins: Int32Array | undefined;

  constructor(text: string) {
    this.#text = text;
    this.bytes = Buffer.from(text, 'utf8');
    this.length = this.bytes.length;
  }

  /** @returns where the bytes of this character begin */
  byteAt(character: number): number {
    return this.#isAscii ? character : (this.#table()[character] ?? this.length);
  }

  /** Spans of bytes, in order, as spans of characters: whole ones, also where a span ends within one. */
  charactersOf(spans: Spans): Spans {
    if (this.#isAscii) return spans;
    const begins = this.#table();
    return spans.map((byte, index) => {
      const isEnd = index % 2 === 1;
      // The first character that begins here or later; a span begins with the one before unless that is it.
      const next = firstFrom(begins, byte);
      return isEnd || begins[next] === byte ? next : this.#before(next);
    });
  }

  get #isAscii(): boolean {
    return this.length === this.#text.length;
  }

  /** The character before, both halves of it. */
  #before(next: number): number {
    const isPair = next >= 2 && (this.#text.codePointAt(next - 2) ?? 0) > 0xffff;
    return isPair ? next - 2 : next - 1;
  }

  #table(): Int32Array {
    if (this.#begins !== undefined) return this.#begins;
    const text = this.#text;
    const begins = new Int32Array(text.length + 1);
    let byte = 0;
    for (let at = 0; at < text.length; at += 1) {
      begins[at] = byte;
      const code = text.codePointAt(at) ?? 0;
      if (code > 0xffff) {
        at += 1;
        // No span begins or ends between the halves of a pair.
        begins[at] = byte + 1;
        byte += 4;
      } else {
        byte += code < 0x80 ? 1 : code < 0x800 ? 2 : 3;
      }
    }
    begins[text.length] = byte;
    this.#begins = begins;
    return begins;
  }
}

/** The first place of an ascending table with this value, or a greater one. */
function firstFrom(table: Int32Array, value: number): number {
  let low = 0;
  let high = table.length - 1;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((table[middle] ?? 0) < value) low = middle + 1;
    else high = middle;
  }
  return low;
}
