/**
 * TextDecoder (https://encoding.spec.whatwg.org/#interface-textdecoder): UTF-8, UTF-16 and the single-byte encodings.
 *
 * The East Asian encodings are refused with the RangeError of an unknown label: their tables are three times the size
 * of this whole prelude, which every isolate would pay for. Single-byte tables come from @exodus/bytes.
 */
import { viewBytes } from './bytes.ts';
import { Utf8Decoder } from './utf8.ts';
import { Utf16Decoder } from './utf16.ts';
import { defineInterface, toDictionary, toDOMString } from './web-idl.ts';

/** Bundled by esbuild and evaluated at the first call: labels and tables that a program of today hardly asks for. */
declare const require: (path: string) => unknown;
const legacy = () => require('./legacy-encodings.ts') as typeof import('./legacy-encodings.ts');

const MULTI_BYTE = new Set([
  'gbk',
  'gb18030',
  'big5',
  'euc-jp',
  'iso-2022-jp',
  'shift_jis',
  'euc-kr',
  'replacement',
]);

interface Decoder {
  decode(bytes: Uint8Array, more: boolean): string;
}

export class TextDecoder {
  readonly #encoding: string;
  readonly #fatal: boolean;
  readonly #ignoreBOM: boolean;
  /** Undefined between two texts. */
  #decoder: Decoder | undefined;
  #bomPassed = false;

  constructor(label: unknown = 'utf-8', options: unknown = undefined) {
    const name = toDOMString(label);
    const members = toDictionary(options, 'TextDecoder: parameter 2');
    const encoding = name === 'utf-8' ? name : legacy().normalizeEncoding(name);
    if (encoding === null || MULTI_BYTE.has(encoding)) {
      throw new RangeError(`TextDecoder: the encoding "${name.slice(0, 64)}" is not supported`);
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
    const fatal = this.#fatal;
    const bytes = input === undefined ? new Uint8Array() : viewBytes(input);
    if (bytes === undefined)
      throw new TypeError('TextDecoder.decode: parameter 1 is neither a buffer nor a view');
    const more = Boolean(toDictionary(options, 'TextDecoder.decode: parameter 2').stream);
    if (this.#decoder === undefined) {
      this.#decoder = decoderOf(this.#encoding, fatal);
      this.#bomPassed = false;
    }
    const decoder = this.#decoder;
    if (!more) this.#decoder = undefined;
    const text = decoder.decode(bytes, more);
    if (this.#bomPassed || text === '') return text;
    this.#bomPassed = true;
    const skip = !this.#ignoreBOM && text.charCodeAt(0) === 0xfeff && this.#encoding.startsWith('utf-');
    return skip ? text.slice(1) : text;
  }
}
defineInterface(TextDecoder, 'TextDecoder');

function decoderOf(encoding: string, fatal: boolean): Decoder {
  if (encoding === 'utf-8') return new Utf8Decoder(fatal);
  if (encoding === 'utf-16le' || encoding === 'utf-16be')
    return new Utf16Decoder(encoding === 'utf-16be', fatal);
  const decode = legacy().createSinglebyteDecoder(encoding, !fatal);
  return { decode: (bytes) => decode(bytes) };
}
