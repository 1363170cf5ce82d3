/**
 * Decoder of the content coding `deflate`: zlib's format as RFC 9110 (section 8.4.1.2) says, or the
 * bare algorithm, which some servers send. The first byte decides. Both wait for a slow reader.
 */
import { Duplex, type DuplexOptions } from 'node:stream';
import { createInflate, createInflateRaw, type Inflate, type InflateRaw, type ZlibOptions } from 'node:zlib';

/** The lower half of zlib's first byte is the method, always 8. */
const METHOD_MASK = 0x0f;
const METHOD_DEFLATE = 8;

export type DeflatedOptions = ZlibOptions & Required<Pick<DuplexOptions, 'highWaterMark'>>;

export class Deflated extends Duplex {
  readonly #options: DeflatedOptions;
  #inner: Inflate | InflateRaw | undefined;
  #isWanted = false;

  constructor(options: DeflatedOptions) {
    super({ highWaterMark: options.highWaterMark });
    this.#options = options;
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, callback: (error?: Error | null) => void): void {
    this.#inner ??= this.#begin((chunk[0] ?? 0) & METHOD_MASK);
    this.#inner.write(chunk, callback);
  }

  override _final(callback: (error?: Error | null) => void): void {
    if (this.#inner === undefined) this.push(null);
    this.#inner?.end();
    callback();
  }

  override _read(): void {
    this.#isWanted = true;
    this.#move();
  }

  override _destroy(error: Error | null, callback: (error: Error | null) => void): void {
    this.#inner?.destroy();
    callback(error);
  }

  #begin(method: number): Inflate | InflateRaw {
    const make = method === METHOD_DEFLATE ? createInflate : createInflateRaw;
    return make(this.#options)
      .on('readable', () => this.#move())
      .on('end', () => this.push(null))
      .on('error', (cause) => this.destroy(cause));
  }

  /** Decodes only what the reader asks for; the rest stays compressed. */
  #move(): void {
    while (this.#isWanted) {
      const chunk: Buffer | null = this.#inner?.read() ?? null;
      if (chunk === null) return;
      this.#isWanted = this.push(chunk);
    }
  }
}
