/**
 * CompressionStream and DecompressionStream (https://compression.spec.whatwg.org/).
 *
 * Attack: a megabyte of gzip that inflates to a gigabyte. Output goes to the reader in pieces of at
 * most 64 KiB, each made only when the reader asks for it; if the reader keeps everything, the
 * stream fails at `DECOMPRESSED_BYTES_MAX`. Brotli, a recent addition to the standard, is not
 * supported.
 */
import { type Bytes, copyBytes, subBytes, viewBytes } from '../encoding/bytes.ts';
import { part } from '../parts.ts';
import { defineInterface, requireArguments, toDOMString } from '../web-idl.ts';
import { newTransform, type TransformOutput, type TransformPair } from './stream.ts';

const MIB = 1024 * 1024;
/** Output bytes of one DecompressionStream. */
const DECOMPRESSED_BYTES_MAX = 256 * MIB;

/** Bytes of one chunk of output. */
const PIECE_BYTES_MAX = 64 * 1024;

/** zlib's `windowBits`, which also select the format around the deflated data. */
const WINDOW_BITS: Readonly<Record<string, number | undefined>> = {
  __proto__: null as never,
  deflate: 15,
  'deflate-raw': -15,
  gzip: 31,
};
/** zlib's defaults for compression. */
const LEVEL = 6;
const DEFLATED = 8;
const MEMORY_LEVEL = 8;
const DEFAULT_STRATEGY = 0;

const NO_FLUSH = 0;
const FINISH = 4;
const OK = 0;
const STREAM_END = 1;
/** Status for no more input, or no more room for output. */
const BUFFER_ERROR = -5;

export class CompressionStream {
  readonly #pair: TransformPair;

  constructor(format: unknown) {
    requireArguments(arguments.length, 1, 'CompressionStream');
    this.#pair = compress(windowBitsOf(format, 'CompressionStream'));
  }

  get readable(): ReadableStream {
    return this.#pair.readable;
  }

  get writable(): WritableStream {
    return this.#pair.writable;
  }
}
defineInterface(CompressionStream, 'CompressionStream');

export class DecompressionStream {
  readonly #pair: TransformPair;

  constructor(format: unknown) {
    requireArguments(arguments.length, 1, 'DecompressionStream');
    this.#pair = decompress(windowBitsOf(format, 'DecompressionStream'));
  }

  get readable(): ReadableStream {
    return this.#pair.readable;
  }

  get writable(): WritableStream {
    return this.#pair.writable;
  }
}
defineInterface(DecompressionStream, 'DecompressionStream');

function windowBitsOf(format: unknown, what: string): number {
  const name = toDOMString(format);
  const bits = WINDOW_BITS[name];
  if (bits === undefined) throw new TypeError(`${what}: "${name.slice(0, 64)}" is not a format known here`);
  return bits;
}

/** A copy of a chunk's bytes: the writer may change or detach its own while the stream waits. */
function bytesOf(chunk: unknown): Bytes {
  const bytes = viewBytes(chunk);
  if (bytes === undefined) throw new TypeError('A chunk is neither an ArrayBuffer nor a view of one');
  return copyBytes(bytes);
}

function compress(windowBits: number): TransformPair {
  const { ZStream, zlibDeflate, zlibDeflateInit2 } = part('deflate');
  const machine = new Machine(new ZStream(), zlibDeflate, Number.POSITIVE_INFINITY);
  zlibDeflateInit2(machine.state, LEVEL, DEFLATED, windowBits, MEMORY_LEVEL, DEFAULT_STRATEGY);
  return newTransform({
    transform: (chunk, output) => {
      machine.feed(bytesOf(chunk));
      return pump(machine, output);
    },
    flush: (output) => {
      // zlib holds at most a few more pieces. They do not wait for the reader: a cancelled one
      // never asks.
      for (;;) {
        const piece = machine.step(FINISH);
        if (piece === undefined) break;
        output.enqueue(piece);
        if (machine.status === STREAM_END) break;
      }
      return undefined;
    },
  });
}

function decompress(windowBits: number): TransformPair {
  const { ZStream, zlibInflate, zlibInflateInit2 } = part('deflate');
  const machine = new Machine(new ZStream(), zlibInflate, DECOMPRESSED_BYTES_MAX);
  zlibInflateInit2(machine.state, windowBits);
  return newTransform({
    transform: async (chunk, output) => {
      machine.feed(bytesOf(chunk));
      if (machine.status !== STREAM_END) await pump(machine, output);
      if (machine.status === STREAM_END && machine.state.avail_in > 0) {
        throw new TypeError('There is input after the end of the compressed data');
      }
    },
    flush: () => {
      if (machine.status !== STREAM_END) throw new TypeError('The compressed data ends too early');
      return undefined;
    },
  });
}

/** Makes pieces until the input is used up, each only when the reader asks for it. */
async function pump(machine: Machine, output: TransformOutput): Promise<void> {
  for (;;) {
    const piece = machine.step(NO_FLUSH);
    if (piece !== undefined) output.enqueue(piece);
    if (machine.idle) return;
    const drained = output.drained();
    if (piece !== undefined && drained !== undefined) await drained;
    if (!output.wanted()) return;
  }
}

type ZState = InstanceType<ReturnType<typeof part<'deflate'>>['ZStream']>;

/** zlib's state machine: takes input, and makes one piece of output at each step. */
class Machine {
  readonly state: ZState;
  status = OK;
  /** Whether the last step used all input and had room left, so that the next one makes nothing. */
  idle = false;
  readonly #run: (state: ZState, flush: 0 | 4) => number;
  #bytesLeft: number;
  readonly #room = new Uint8Array(PIECE_BYTES_MAX);

  constructor(state: ZState, run: (state: ZState, flush: 0 | 4) => number, bytesMax: number) {
    this.state = state;
    this.#run = run;
    this.#bytesLeft = bytesMax;
  }

  feed(input: Bytes): void {
    this.state.input = input;
    this.state.next_in = 0;
    this.state.avail_in = input.length;
  }

  /** @throws TypeError if the data is corrupt, or inflates beyond the bound */
  step(flush: 0 | 4): Bytes | undefined {
    const { state } = this;
    state.output = this.#room;
    state.next_out = 0;
    state.avail_out = PIECE_BYTES_MAX;
    const status = this.#run(state, flush);
    if (status !== BUFFER_ERROR) {
      if (status !== OK && status !== STREAM_END) {
        throw new TypeError(`The compressed data is not valid: ${state.msg || 'a dictionary is needed'}`);
      }
      this.status = status;
    }
    this.idle = status !== OK || (state.avail_in === 0 && state.avail_out > 0);
    this.#bytesLeft -= state.next_out;
    if (this.#bytesLeft < 0) {
      throw new TypeError(`The data inflates to more than ${DECOMPRESSED_BYTES_MAX / MIB} MiB`);
    }
    return state.next_out === 0 ? undefined : copyBytes(subBytes(this.#room, 0, state.next_out));
  }
}
