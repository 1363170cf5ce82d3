/**
 * TextDecoderStream (https://encoding.spec.whatwg.org/#interface-textdecoderstream): bytes in,
 * strings out.
 */

import { decodeText, TextDecoder, type TextDecoderTraits, traitsOf } from '../encoding/text-decoder.ts';
import { defineInterface } from '../web-idl.ts';
import { newTransform, type TransformPair } from './stream.ts';

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
