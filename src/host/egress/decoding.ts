/**
 * Decodes the content codings of an answer, as it is read and no faster.
 *
 * Attack: decompression bombs. A kilobyte of gzip is a megabyte of text, and codings can be
 * stacked: the output of each stage is counted, and a stage only runs while the next one reads. 53
 * bytes of Brotli make its decoder allocate 16 MiB before anything is read, so few of them run at
 * once.
 *
 * Attack: servers that drip a few answers in Brotli hold all of its decoders, and every other
 * tenant is refused. So an answer has one decoder, an installation and an organization have a share
 * of them, and one whose answer comes too slowly gives way to the next answer.
 */
import { Duplex, type DuplexOptions } from 'node:stream';
import {
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  type Inflate,
  type InflateRaw,
  type ZlibOptions,
} from 'node:zlib';
import { HELD_BYTES } from './byte-limit.ts';
import { EgressError } from './egress-error.ts';

/** Real servers use one or two. */
const CODINGS_MAX = 3;
const BROTLI_AT_ONCE = 16;
const BROTLI_PER_OWNER = BROTLI_AT_ONCE / 4;
const BROTLI_PER_ORGANIZATION = BROTLI_AT_ONCE / 2;
/** Compressed bytes of an answer in each second, from its second one on, with which it is slow. */
const SLOW_BYTES_PER_S = 8 * 1024;
const MS_PER_S = 1_000;
const KNOWN = /^(x-gzip|gzip|deflate|br)$/;

/** Like browsers: an answer whose last bytes a server left out is still read. */
const ZLIB = { finishFlush: constants.Z_SYNC_FLUSH, highWaterMark: HELD_BYTES };
const BROTLI = { finishFlush: constants.BROTLI_OPERATION_FLUSH, highWaterMark: HELD_BYTES };

/** Whose answer is decoded. */
export interface DecodedFor {
  /** For instance the id of an installation. */
  readonly owner: string;
  readonly organization: string;
}

/** A decoder of Brotli that is in use. */
interface Held extends DecodedFor {
  readonly stage: Zlib;
  readonly since: number;
}

type Zlib = ReturnType<typeof createBrotliDecompress>;

export class Decoding {
  readonly #brotli = new Set<Held>();
  readonly #monotonicNow: () => number;

  /** @param monotonicNow monotonic, in milliseconds */
  constructor(monotonicNow: () => number) {
    this.#monotonicNow = monotonicNow;
  }

  /**
   * The decoders of these codings, in the order in which they run. None if a coding is unknown: the
   * body is then passed on as received (Fetch, "handle content codings").
   *
   * @param values values of the headers `content-encoding`
   * @throws EgressError if there are too many
   */
  stages(values: readonly string[], decodedFor: DecodedFor): Duplex[] {
    const codings = values
      .flatMap((value) => value.split(','))
      .map((coding) => coding.trim().toLowerCase())
      .filter((coding) => coding !== '' && coding !== 'identity')
      .reverse();
    const layers = codings.filter((coding) => coding === 'br').length;
    if (codings.length > CODINGS_MAX || layers > 1)
      throw new EgressError('The answer has too many layers of compression.');
    if (!codings.every((coding) => KNOWN.test(coding))) return [];
    if (layers > 0) this.#makeRoom(decodedFor);
    return codings.map((coding) => {
      if (coding === 'br') return this.#decoder(decodedFor);
      return coding === 'deflate' ? new Deflated(ZLIB) : createGunzip(ZLIB);
    });
  }

  #decoder(decodedFor: DecodedFor): Duplex {
    const stage = createBrotliDecompress(BROTLI);
    const held = { ...decodedFor, stage, since: this.#monotonicNow() };
    this.#brotli.add(held);
    return stage.once('close', () => this.#brotli.delete(held));
  }

  /** @throws EgressError if there is no decoder */
  #makeRoom({ owner, organization }: DecodedFor): void {
    const all = [...this.#brotli];
    const isFull =
      all.filter((held) => held.owner === owner).length >= BROTLI_PER_OWNER ||
      all.filter((held) => held.organization === organization).length >= BROTLI_PER_ORGANIZATION;
    if (!isFull && all.length < BROTLI_AT_ONCE) return;
    const slow = isFull ? undefined : this.#slowest();
    if (slow === undefined)
      throw new EgressError('Too many answers in Brotli are being read; ask for gzip instead.', {
        result: 'shed',
      });
    this.#brotli.delete(slow);
    slow.stage.destroy(
      new EgressError(
        'The answer in Brotli came so slowly that others took its place; ask for gzip instead.',
        {
          result: 'shed',
        },
      ),
    );
  }

  /** The decoder that is the furthest behind the pace of a slow answer; undefined for none. */
  #slowest(): Held | undefined {
    const now = this.#monotonicNow();
    let slowest: Held | undefined;
    let missing = 0;
    for (const held of this.#brotli) {
      const expected = ((now - held.since) / MS_PER_S - 1) * SLOW_BYTES_PER_S;
      if (expected - held.stage.bytesWritten <= missing) continue;
      missing = expected - held.stage.bytesWritten;
      slowest = held;
    }
    return slowest;
  }
}

/** The lower half of zlib's first byte is the method, always 8. */
const METHOD_MASK = 0x0f;
const METHOD_DEFLATE = 8;

type DeflatedOptions = ZlibOptions & Required<Pick<DuplexOptions, 'highWaterMark'>>;

/**
 * Decoder of the content coding `deflate`: zlib's format as RFC 9110 (section 8.4.1.2) says, or the
 * bare algorithm, which some servers send. The first byte decides. Both wait for a slow reader.
 */
class Deflated extends Duplex {
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
