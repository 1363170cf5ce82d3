/**
 * A text with its UTF-8 bytes and a map from bytes to characters. Spans found in the bytes are cut
 * out of the text itself, so that lone surrogates, which UTF-8 cannot encode, are preserved.
 */
import type { Spans, View } from './secret-search.ts';

export class Utf8Text implements View {
  readonly bytes: Uint8Array;
  readonly length: number;
  readonly #text: string;
  /**
   * Offset of the first byte of each character, and of the end; built on first use, and never for
   * ASCII.
   */
  #begins: Int32Array | undefined;

  constructor(text: string) {
    this.#text = text;
    this.bytes = Buffer.from(text, 'utf8');
    this.length = this.bytes.length;
  }

  /** @returns the offset of the first byte of a character */
  byteAt(character: number): number {
    return this.#isAscii ? character : (this.#table()[character] ?? this.length);
  }

  /** Converts ordered spans of bytes to spans of characters, extended to whole characters. */
  charactersOf(spans: Spans): Spans {
    if (this.#isAscii) return spans;
    const begins = this.#table();
    return spans.map((byte, index) => {
      const isEnd = index % 2 === 1;
      // The first character that begins at this byte or later. If a span starts inside a character,
      // it starts with the one before.
      const next = firstFrom(begins, byte);
      return isEnd || begins[next] === byte ? next : this.#before(next);
    });
  }

  get #isAscii(): boolean {
    return this.length === this.#text.length;
  }

  /** Start of the previous character; a surrogate pair is one character. */
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
        // Spans never begin or end between the halves of a pair.
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

/** Binary search: the first index of an ascending table whose value is `value` or greater. */
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
