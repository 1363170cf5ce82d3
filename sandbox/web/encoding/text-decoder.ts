/**
 * TextDecoder (https://encoding.spec.whatwg.org/#interface-textdecoder).
 *
 * UTF-8 and UTF-16 are implemented here. Labels and tables of other encodings come from
 * @exodus/bytes, as parts that are evaluated at first use. Those of the East Asian ones are larger
 * than the whole prelude.
 */

import { part } from '../parts.ts';
import { charCodeAt, slice } from '../primordials.ts';
import { coded, defineInterface, toDictionary, toDOMString } from '../web-idl.ts';
import { viewBytes } from './bytes.ts';
import { Utf8Decoder } from './utf8.ts';
import { Utf16Decoder } from './utf16.ts';

const MULTI_BYTE = new Set(['gbk', 'gb18030', 'big5', 'euc-jp', 'iso-2022-jp', 'shift_jis', 'euc-kr']);

interface Decoder {
  decode(bytes: Uint8Array, more: boolean): string;
}

/** The attributes of a decoder. */
export interface TextDecoderTraits {
  readonly encoding: string;
  readonly fatal: boolean;
  readonly ignoreBOM: boolean;
}

/**
 * `decode`, also if a script has replaced it. @throws TypeError unless `input` is a BufferSource
 */
export let decodeText: (decoder: TextDecoder, input: unknown, more: boolean) => string;
export let traitsOf: (decoder: TextDecoder) => TextDecoderTraits;

export class TextDecoder {
  readonly #encoding: string;
  readonly #fatal: boolean;
  readonly #ignoreBOM: boolean;
  /** Undefined between two texts. */
  #decoder: Decoder | undefined;
  #bomPassed = false;

  static {
    decodeText = (decoder, input, more) => decoder.#decode(input, more);
    traitsOf = (decoder) => ({
      encoding: decoder.#encoding,
      fatal: decoder.#fatal,
      ignoreBOM: decoder.#ignoreBOM,
    });
  }

  constructor(label: unknown = 'utf-8', options: unknown = undefined) {
    const name = toDOMString(label);
    const members = toDictionary(options, 'TextDecoder: parameter 2');
    const encoding = encodingOf(name);
    if (encoding === null || encoding === 'replacement') {
      const message = `TextDecoder: "${slice(name, 0, 64)}" is not a known encoding`;
      throw coded(new RangeError(message), 'ERR_ENCODING_NOT_SUPPORTED');
    }
    this.#encoding = encoding;
    this.#fatal = Boolean(members.fatal);
    this.#ignoreBOM = Boolean(members.ignoreBOM);
  }

  get encoding(): string {
    return this.#encoding;
  }

  get fatal(): boolean {
    return this.#fatal;
  }

  get ignoreBOM(): boolean {
    return this.#ignoreBOM;
  }

  /** Decodes the next bytes; without `stream`, the text ends with them. */
  decode(input: unknown = undefined, options: unknown = undefined): string {
    void this.#fatal;
    const bytes = input === undefined ? new Uint8Array() : viewBytes(input);
    if (bytes === undefined)
      throw coded(
        new TypeError('TextDecoder.decode: parameter 1 is neither a buffer nor a view'),
        'ERR_INVALID_ARG_TYPE',
      );
    const more = Boolean(toDictionary(options, 'TextDecoder.decode: parameter 2').stream);
    // Again: the getter of `stream` may have detached the buffer.
    return this.#decode(input === undefined ? bytes : input, more);
  }

  #decode(input: unknown, more: boolean): string {
    const bytes = viewBytes(input);
    if (bytes === undefined) throw new TypeError('The data is neither a buffer nor a view');
    if (this.#decoder === undefined) {
      this.#decoder = decoderOf(this.#encoding, this.#fatal);
      this.#bomPassed = false;
    }
    const decoder = this.#decoder;
    if (!more) this.#decoder = undefined;
    const text = decoder.decode(bytes, more);
    if (this.#bomPassed || text === '') return text;
    this.#bomPassed = true;
    const skip = !this.#ignoreBOM && charCodeAt(text, 0) === 0xfeff && slice(this.#encoding, 0, 4) === 'utf-';
    return skip ? slice(text, 1) : text;
  }
}
defineInterface(TextDecoder, 'TextDecoder');

/** Name of an encoding by any of its labels; null for an unknown label. */
const encodingOf = (label: string): string | null =>
  label === 'utf-8' || label === 'utf8' || label === 'UTF-8'
    ? 'utf-8'
    : part('single-byte').normalizeEncoding(label);

function decoderOf(encoding: string, fatal: boolean): Decoder {
  if (encoding === 'utf-8') return new Utf8Decoder(fatal);
  if (encoding === 'utf-16le' || encoding === 'utf-16be')
    return new Utf16Decoder(encoding === 'utf-16be', fatal);
  if (MULTI_BYTE.has(encoding)) {
    const decode = part('multi-byte').createMultibyteDecoder(encoding, !fatal);
    return { decode: (bytes, more) => decode(bytes, more) };
  }
  const decode = part('single-byte').createSinglebyteDecoder(encoding, !fatal);
  return { decode: (bytes) => decode(bytes) };
}
