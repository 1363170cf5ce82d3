/**
 * The UTF-16 decoder (https://encoding.spec.whatwg.org/#shared-utf-16-decoder), either byte order;
 * a chunk may end anywhere.
 */
import { undecodable } from './utf8.ts';

export class Utf16Decoder {
  readonly #bigEndian: boolean;
  readonly #fatal: boolean;
  /** First byte of an unfinished unit. */
  #byte: number | undefined;
  /** High surrogate that waits for its low one. */
  #high: number | undefined;

  constructor(bigEndian: boolean, fatal: boolean) {
    this.#bigEndian = bigEndian;
    this.#fatal = fatal;
  }

  /** @throws TypeError on malformed input if `fatal` */
  decode(bytes: Uint8Array, more: boolean): string {
    let text = '';
    for (let i = 0; i < bytes.length; i++) {
      const byte = bytes[i] as number;
      if (this.#byte === undefined) {
        this.#byte = byte;
        continue;
      }
      const unit = this.#bigEndian ? (this.#byte << 8) | byte : (byte << 8) | this.#byte;
      this.#byte = undefined;
      text += this.#take(unit);
    }
    if (!more && (this.#byte !== undefined || this.#high !== undefined)) {
      this.#byte = undefined;
      this.#high = undefined;
      text += this.#malformed();
    }
    return text;
  }

  #take(unit: number): string {
    const high = this.#high;
    this.#high = undefined;
    const low = unit >= 0xdc00 && unit <= 0xdfff;
    if (high !== undefined && low) return String.fromCharCode(high, unit);
    let text = high === undefined ? '' : this.#malformed();
    if (low) text += this.#malformed();
    else if (unit >= 0xd800 && unit <= 0xdbff) this.#high = unit;
    else text += String.fromCharCode(unit);
    return text;
  }

  #malformed(): string {
    if (!this.#fatal) return '\ufffd';
    this.#byte = undefined;
    this.#high = undefined;
    throw undecodable(this.#bigEndian ? 'utf-16be' : 'utf-16le');
  }
}
