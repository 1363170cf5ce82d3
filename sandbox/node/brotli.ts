/**
 * Brotli for `node:zlib`: its options, and the two machines.
 */
import constants from 'node-tables/zlib.json';
import { BrotliDecoder } from './brotli-decoder.ts';
import { BrotliEncoder } from './brotli-encoder.ts';
import { invalidArgType, nodeError } from './errors.ts';
import { type Machine, type Options, readManner, type Start } from './zlib-stream.ts';

const [FLUSH, FINISH, EMIT_METADATA] = [1, 2, 3];
/** The parameters of an encoder that are yes or no. */
const FLAGS = [4, 6];
const [QUALITY, WINDOW, PARAMETER_MAX] = [1, 2, 8];
/** A decoder has these two. */
const DECODER_PARAMETER_MAX = 1;

const failed = (): Error => nodeError(Error, 'ERR_ZLIB_INITIALIZATION_FAILED', 'Initialization failed');

function readParameters(options: Options, encodes: boolean): Map<number, number> {
  const read = new Map<number, number>();
  for (const [name, value] of Object.entries((options['params'] ?? {}) as object)) {
    const parameter = Number(name);
    if (!(parameter >= 0 && parameter <= PARAMETER_MAX) || read.has(parameter))
      throw nodeError(RangeError, 'ERR_BROTLI_INVALID_PARAM', `${name} is not a valid Brotli parameter`);
    if (typeof value !== 'number' && typeof value !== 'boolean')
      throw invalidArgType('options.params[key]', 'number', value);
    read.set(parameter, Number(value));
  }
  for (const [parameter, value] of read) {
    if (encodes ? FLAGS.includes(parameter) && value !== 0 && value !== 1 : parameter > DECODER_PARAMETER_MAX)
      throw failed();
  }
  return read;
}

class Encoding implements Machine {
  readonly #parameters: ReadonlyMap<number, number>;
  #encoder: BrotliEncoder;
  #waiting = new Uint8Array(0);
  #finished = false;

  constructor(parameters: ReadonlyMap<number, number>) {
    this.#parameters = parameters;
    this.#encoder = this.#fresh();
  }

  #fresh(): BrotliEncoder {
    const clamped = (parameter: number, least: number, most: number, byDefault: number): number =>
      Math.min(Math.max(this.#parameters.get(parameter) ?? byDefault, least), most);
    return new BrotliEncoder({ quality: clamped(QUALITY, 0, 11, 11), window: clamped(WINDOW, 10, 24, 22) });
  }

  run(input: Uint8Array, output: Uint8Array, from: number, flush: number) {
    if (!this.#finished) {
      this.#encoder.add(input);
      if (flush === FLUSH || flush === EMIT_METADATA) this.#encoder.flush();
      if (flush === FINISH) this.#encoder.finish();
      this.#finished = flush === FINISH;
      this.#waiting = joined(this.#waiting, this.#encoder.take());
    }
    const part = this.#waiting.subarray(0, output.length - from);
    output.set(part, from);
    this.#waiting = this.#waiting.subarray(part.length);
    return { used: input.length, made: part.length, full: part.length === output.length - from };
  }

  reset(): void {
    this.#encoder = this.#fresh();
    this.#waiting = new Uint8Array(0);
    this.#finished = false;
  }

  setLevel(): void {}
}

function joined(one: Uint8Array, other: Uint8Array): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(one.length + other.length);
  bytes.set(one);
  bytes.set(other, one.length);
  return bytes;
}

class Decoding implements Machine {
  #decoder = new BrotliDecoder();

  run(input: Uint8Array, output: Uint8Array, from: number, flush: number) {
    const { used, made } = this.#decoder.run(input, output, from);
    const full = made === output.length - from && !this.#decoder.isEnded;
    if (flush === FINISH && !full && !this.#decoder.isEnded) {
      const about = { errno: constants['Z_BUF_ERROR'], code: 'Z_BUF_ERROR' };
      throw Object.assign(new Error('unexpected end of file'), about);
    }
    return { used, made, full };
  }

  reset(): void {
    this.#decoder = new BrotliDecoder();
  }

  setLevel(): void {}
}

/** How a stream or a function begins its work. */
export const startBrotli =
  (encodes: boolean): Start =>
  (options) => {
    const parameters = readParameters(options, encodes);
    const manner = readManner(options, { most: 3, full: FLUSH, finish: FINISH });
    return { manner, machine: encodes ? new Encoding(parameters) : new Decoding() };
  };
