/**
 * TextEncoder (https://encoding.spec.whatwg.org/#interface-textencoder). UTF-8 only, as in the
 * standard.
 */

import { isView, typedArrayName } from '../primordials.ts';
import { defineInterface, requireArguments, toDOMString } from '../web-idl.ts';
import type { Bytes } from './bytes.ts';
import { utf8Encode, utf8EncodeInto } from './utf8.ts';

export class TextEncoder {
  /** Brand: the members refuse any other receiver. */
  readonly #encoding = 'utf-8';

  get encoding(): string {
    return this.#encoding;
  }

  encode(input: unknown = ''): Bytes {
    void this.#encoding;
    return utf8Encode(toDOMString(input));
  }

  /** Fills `destination` with whole characters. @returns how much was read and written */
  encodeInto(source: unknown, destination: unknown): { read: number; written: number } {
    void this.#encoding;
    requireArguments(arguments.length, 2, 'TextEncoder.encodeInto');
    const text = toDOMString(source);
    if (!isView(destination) || typedArrayName(destination) !== 'Uint8Array') {
      throw new TypeError('TextEncoder.encodeInto: parameter 2 is not a Uint8Array');
    }
    return utf8EncodeInto(text, destination as Uint8Array);
  }
}
defineInterface(TextEncoder, 'TextEncoder');
