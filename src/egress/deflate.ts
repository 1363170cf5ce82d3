/**
 * Content coding `deflate`, as servers send it: mostly zlib's format, as RFC 9110 (section 8.4.1.2) says, sometimes the bare
 * algorithm. The first byte tells; whoever reads is waited for, in both.
 */
import { Duplex, type DuplexOptions } from 'node:stream';
import { createInflate, createInflateRaw, type Inflate, type InflateRaw, type ZlibOptions } from 'node:zlib';

/** Lower half of zlib's first byte: the method, always 8. */
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

  /** Only what was asked for moves on: what is behind stays compressed. */
  #move(): void {
    while (this.#isWanted) {
      const piece: Buffer | null = this.#inner?.read() ?? null;
      if (piece === null) return;
      this.#isWanted = this.push(piece);
    }
  }
}
