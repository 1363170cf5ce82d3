/** The text codec streams as one lazy module. */
import { decodeText, TextDecoder, type TextDecoderTraits, traitsOf } from '../encoding/text-decoder.ts';
import { utf8Encode } from '../encoding/utf8.ts';
import { defineInterface, toDOMString } from '../web-idl.ts';
import { newTransform, type TransformPair } from './stream.ts';

/**
 * TextEncoderStream (https://encoding.spec.whatwg.org/#interface-textencoderstream): strings in,
 * UTF-8 out.
 */
export class TextEncoderStream {
  readonly #pair: TransformPair;
  /** A high surrogate at the end of a chunk; the low one is in the next. */
  #high = '';

  constructor() {
    this.#pair = newTransform({
      transform: (chunk, output) => {
        const text = this.#high + toDOMString(chunk);
        const last = text.charCodeAt(text.length - 1);
        const open = last >= 0xd800 && last <= 0xdbff;
        this.#high = open ? text.slice(-1) : '';
        const whole = open ? text.slice(0, -1) : text;
        if (whole !== '') output.enqueue(utf8Encode(whole));
        return undefined;
      },
      flush: (output) => {
        if (this.#high !== '') output.enqueue(utf8Encode(this.#high));
        return undefined;
      },
    });
  }

  get encoding(): string {
    void this.#pair;
    return 'utf-8';
  }

  get readable(): ReadableStream {
    return this.#pair.readable;
  }

  get writable(): WritableStream {
    return this.#pair.writable;
  }
}
defineInterface(TextEncoderStream, 'TextEncoderStream');

/**
 * TextDecoderStream (https://encoding.spec.whatwg.org/#interface-textdecoderstream): bytes in,
 * strings out.
 */
export class TextDecoderStream {
  readonly #traits: TextDecoderTraits;
  readonly #pair: TransformPair;

  constructor(label: unknown = 'utf-8', options: unknown = undefined) {
    const decoder = new TextDecoder(label, options);
    this.#traits = traitsOf(decoder);
    this.#pair = newTransform({
      transform: (chunk, output) => {
        const text = decodeText(decoder, chunk, true);
        if (text !== '') output.enqueue(text);
        return undefined;
      },
      flush: (output) => {
        const text = decodeText(decoder, new Uint8Array(), false);
        if (text !== '') output.enqueue(text);
        return undefined;
      },
    });
  }

  get encoding(): string {
    return this.#traits.encoding;
  }

  get fatal(): boolean {
    return this.#traits.fatal;
  }

  get ignoreBOM(): boolean {
    return this.#traits.ignoreBOM;
  }

  get readable(): ReadableStream {
    return this.#pair.readable;
  }

  get writable(): WritableStream {
    return this.#pair.writable;
  }
}
defineInterface(TextDecoderStream, 'TextDecoderStream');
