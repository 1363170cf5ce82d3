/**
 * The state machine behind `node:zlib`: pako, a port of zlib, driven as Node.js drives zlib. It
 * finds out the format of `Unzip`, reads the members of a gzip file one after the other, knows
 * dictionaries, and names faults as Node.js does.
 *
 * It runs in the isolate, so that its CPU and memory are the call's own: no job of the cell could
 * be ended in the middle.
 */
import {
  ZStream,
  zlibDeflate,
  zlibDeflateInit2,
  zlibDeflateReset,
  zlibDeflateSetDictionary,
  zlibInflate,
  zlibInflateInit2,
  zlibInflateReset,
  zlibInflateSetDictionary,
} from 'pako';

export type Format = 'Deflate' | 'DeflateRaw' | 'Gzip' | 'Gunzip' | 'Inflate' | 'InflateRaw' | 'Unzip';
type Flush = Parameters<typeof zlibDeflate>[1];

export interface Settings {
  readonly windowBits: number;
  readonly level: number;
  readonly memLevel: number;
  readonly strategy: number;
  readonly dictionary: Uint8Array | undefined;
}

/** What one step has done. */
export interface Step {
  /** Bytes of the input that were read. */
  readonly used: number;
  /** Bytes of the output that were written. */
  readonly made: number;
  /** Whether the output is full, so that more may follow. */
  readonly full: boolean;
}

const FINISH = 4;
const [OK, STREAM_END, NEED_DICT, DATA_ERROR, BUF_ERROR] = [0, 1, 2, -3, -5];
const NAMES = new Map([
  [NEED_DICT, 'Z_NEED_DICT'],
  [-1, 'Z_ERRNO'],
  [-2, 'Z_STREAM_ERROR'],
  [DATA_ERROR, 'Z_DATA_ERROR'],
  [-4, 'Z_MEM_ERROR'],
  [BUF_ERROR, 'Z_BUF_ERROR'],
]);
/** `deflateInit2`'s only method. */
const DEFLATED = 8;

/** What wraps the deflated data, as an addition to `windowBits`. */
const WRAPPED: Readonly<Record<Format, (bits: number) => number>> = {
  Deflate: (bits) => bits,
  DeflateRaw: (bits) => -bits,
  Gzip: (bits) => bits + 16,
  Gunzip: (bits) => bits + 16,
  Inflate: (bits) => bits,
  InflateRaw: (bits) => -bits,
  Unzip: (bits) => bits + 32,
};

const fault = (message: string, errno: number): Error =>
  Object.assign(new Error(message), { errno, code: NAMES.get(errno) });

export class ZlibMachine {
  readonly #stream = new ZStream();
  readonly #deflates: boolean;
  readonly #raw: boolean;
  readonly #dictionary: Uint8Array | undefined;
  /** Whether the data is gzip; undefined until `Unzip` has seen how it begins. */
  #gzip: boolean | undefined;
  #status: number = OK;

  constructor(format: Format, settings: Settings) {
    const { level, memLevel, strategy, dictionary } = settings;
    this.#deflates = format === 'Deflate' || format === 'DeflateRaw' || format === 'Gzip';
    this.#raw = format === 'DeflateRaw' || format === 'InflateRaw';
    this.#gzip = format === 'Unzip' ? undefined : format === 'Gunzip';
    this.#dictionary = dictionary;
    const bits = WRAPPED[format](settings.windowBits);
    const status = this.#deflates
      ? zlibDeflateInit2(this.#stream, level, DEFLATED, bits, memLevel, strategy as 0)
      : zlibInflateInit2(this.#stream, bits);
    if (status !== OK) throw fault('Init error', status);
    this.#takeDictionary(format === 'Gzip');
  }

  /**
   * One step of zlib.
   *
   * @param from where the output has room
   * @throws Error with a code of zlib, for data that is not valid or that ends too early
   */
  run(input: Uint8Array, output: Uint8Array, from: number, flush: number): Step {
    const stream = this.#stream;
    Object.assign(stream, { input, next_in: 0, avail_in: input.length });
    Object.assign(stream, { output, next_out: from, avail_out: output.length - from });
    if (this.#deflates) this.#status = zlibDeflate(stream, flush as Flush);
    else this.#inflate(flush as Flush);
    this.#check(flush);
    return { used: stream.next_in, made: stream.next_out - from, full: stream.avail_out === 0 };
  }

  reset(): void {
    this.#status = this.#deflates ? zlibDeflateReset(this.#stream) : zlibInflateReset(this.#stream);
    if (this.#status !== OK) throw fault('Failed to reset stream', this.#status);
    this.#takeDictionary(false);
  }

  /** Changes how what follows is deflated. What came before has been flushed. */
  setLevel(level: number, strategy: number): void {
    if (!this.#deflates) return;
    // Only `deflateInit2` sets up the search of a level, so it is taken from another state.
    const fresh = new ZStream();
    zlibDeflateInit2(fresh, level, DEFLATED, -15, 1, strategy as 0);
    const { state } = fresh;
    const { max_lazy_match, good_match, nice_match, max_chain_length } = state;
    Object.assign(this.#stream.state, { level: state.level, strategy: state.strategy });
    Object.assign(this.#stream.state, { max_lazy_match, good_match, nice_match, max_chain_length });
  }

  #takeDictionary(unused: boolean): void {
    if (this.#dictionary === undefined || unused || !(this.#deflates || this.#raw)) return;
    const set = this.#deflates ? zlibDeflateSetDictionary : zlibInflateSetDictionary;
    const status = set(this.#stream, this.#dictionary);
    if (status !== OK) throw fault('Failed to set dictionary', status);
  }

  #inflate(flush: Flush): void {
    const stream = this.#stream;
    const { input } = stream;
    // zlib finds out itself what wraps the data. This is for further members alone.
    if (this.#gzip === undefined && input.length > 0) this.#gzip = input[0] === 0x1f;
    this.#status = zlibInflate(stream, flush);
    if (this.#status === NEED_DICT && !this.#raw && this.#dictionary !== undefined) {
      const status = zlibInflateSetDictionary(stream, this.#dictionary);
      if (status === OK) this.#status = zlibInflate(stream, flush);
    }
    // A gzip file may have several members. Zeros after the last one are no member.
    while (
      this.#gzip === true &&
      this.#status === STREAM_END &&
      stream.avail_in > 0 &&
      input[stream.next_in] !== 0
    ) {
      this.reset();
      this.#status = zlibInflate(stream, flush);
    }
  }

  #check(flush: number): void {
    const { avail_out: room, msg } = this.#stream;
    if (this.#status === STREAM_END) return;
    if (this.#status === OK || this.#status === BUF_ERROR) {
      if (room > 0 && flush === FINISH) throw fault('unexpected end of file', BUF_ERROR);
      return;
    }
    if (this.#status === NEED_DICT) {
      throw fault(this.#dictionary === undefined ? 'Missing dictionary' : 'Bad dictionary', NEED_DICT);
    }
    throw fault(msg || 'Zlib error', this.#status);
  }
}
