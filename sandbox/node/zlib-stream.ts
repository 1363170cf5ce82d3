/**
 * The streams of `node:zlib`, and what their options mean.
 */
import nodeBuffer, { Buffer, type Bytes } from './buffer.ts';
import { bytesOf } from './buffer-view.ts';
import { invalidArgType, nodeError, outOfRange, validateNumber } from './errors.ts';
import { type OldClass, oldClass } from './named.ts';
import { finished, Transform } from './stream.ts';
import { type Format, type Settings, type Step, ZlibMachine } from './zlib-machine.ts';

type Done = (error?: unknown) => void;
type Flush = number;
/** What compresses or decompresses. */
export interface Machine {
  /** One step. @param from where the output has room */
  run(input: Uint8Array, output: Uint8Array, from: number, flush: Flush): Step;
  reset(): void;
  setLevel(level: number, strategy: number): void;
}
/** How a stream or a function begins its work. */
export type Start = (options: Options) => {
  readonly manner: Manner;
  readonly machine: Machine;
  readonly settings?: Settings;
};
export interface Options {
  readonly [name: string]: unknown;
}

const [NO_FLUSH, PARTIAL_FLUSH, SYNC_FLUSH, FULL_FLUSH, FINISH, BLOCK] = [0, 1, 2, 3, 4, 5];
/** The weakest first; those of Brotli are in this order, too. */
const STRENGTH = [NO_FLUSH, BLOCK, PARTIAL_FLUSH, SYNC_FLUSH, FULL_FLUSH, FINISH];
const CHUNK_BYTES_MIN = 64;
const CHUNK_BYTES = 16_384;
const LEVELS = [-1, 9] as const;
const STRATEGIES = [0, 4] as const;
const OUTPUT_BYTES_MAX = nodeBuffer.kMaxLength;

/** A number within bounds; the default for undefined and NaN. */
function within(value: unknown, name: string, [min, max]: readonly [number, number], byDefault: number) {
  if (value === undefined || Number.isNaN(value)) return byDefault;
  validateNumber(value, name);
  if (!Number.isFinite(value)) throw outOfRange(name, 'a finite number', value);
  if (value >= min && value <= max) return value;
  throw outOfRange(name, max === Number.POSITIVE_INFINITY ? `>= ${min}` : `>= ${min} and <= ${max}`, value);
}

function readSettings(format: Format, options: Options): Settings {
  const sized = format === 'Inflate' || format === 'Gunzip' || format === 'Unzip';
  const fromHeader = sized && !options['windowBits'];
  const bits = [format === 'Gzip' ? 9 : 8, 15] as const;
  const windowBits = fromHeader ? 0 : within(options['windowBits'], 'options.windowBits', bits, 15);
  return {
    // zlib makes raw data of a window of 256 bytes that it cannot read.
    windowBits: format === 'DeflateRaw' ? Math.max(windowBits, 9) : windowBits,
    level: within(options['level'], 'options.level', LEVELS, -1),
    memLevel: within(options['memLevel'], 'options.memLevel', [1, 9], 8),
    strategy: within(options['strategy'], 'options.strategy', STRATEGIES, 0),
    dictionary: readDictionary(options['dictionary']),
  };
}

function readDictionary(value: unknown): Uint8Array | undefined {
  const bytes = value === undefined ? undefined : bytesOf(value);
  if (value === undefined || bytes !== undefined) return bytes;
  throw invalidArgType('options.dictionary', ['Buffer', 'TypedArray', 'DataView', 'ArrayBuffer'], value);
}

/** What of the options does not concern the machine. */
export function readManner(options: Options, flushes = { most: BLOCK, full: FULL_FLUSH, finish: FINISH }) {
  const kinds = [NO_FLUSH, flushes.most] as const;
  const unbounded = [CHUNK_BYTES_MIN, Number.POSITIVE_INFINITY] as const;
  const most = [1, OUTPUT_BYTES_MAX] as const;
  return {
    _chunkSize: within(options['chunkSize'], 'options.chunkSize', unbounded, CHUNK_BYTES),
    _defaultFlushFlag: within(options['flush'], 'options.flush', kinds, NO_FLUSH),
    _finishFlushFlag: within(options['finishFlush'], 'options.finishFlush', kinds, flushes.finish),
    _defaultFullFlushFlag: flushes.full,
    _maxOutputLength: within(options['maxOutputLength'], 'options.maxOutputLength', most, OUTPUT_BYTES_MAX),
    _info: options['info'],
  };
}
type Manner = ReturnType<typeof readManner>;

/** All output for an input that is known to its end. */
export function process(machine: Machine, manner: Manner, input: Uint8Array, flush: Flush) {
  const parts: Uint8Array[] = [];
  let [read, length]: [number, number] = [0, 0];
  for (let full = true; full; ) {
    const output = Buffer.allocUnsafe(manner._chunkSize);
    const step = machine.run(input.subarray(read), output, 0, flush);
    read += step.used;
    length += step.made;
    full = step.full;
    if (step.made > 0) parts.push(output.subarray(0, step.made));
    if (length > manner._maxOutputLength) throw tooLarge(manner._maxOutputLength);
  }
  return { read, buffer: Buffer.concat(parts, length) };
}

const tooLarge = (max: number): Error =>
  nodeError(RangeError, 'ERR_BUFFER_TOO_LARGE', `Cannot create a Buffer larger than ${max} bytes`);

interface Engine extends Manner {
  _handle: Machine | null;
  _outBuffer: Bytes;
  _outOffset: number;
  _level: number;
  _strategy: number;
  bytesWritten: number;
  /** Goes on with the chunk once the reader wants more. */
  [CONTINUE]: (() => void) | undefined;
  readonly destroyed: boolean;
  readonly writableEnded: boolean;
  readonly writableFinished: boolean;
  readonly writableLength: number;
  once(name: string, listener: Done): void;
  push(bytes: Uint8Array | null): boolean;
  write(bytes: Uint8Array, encoding: string, done?: Done): void;
  destroy(error?: unknown): void;
  flush(kind?: Flush | Done, done?: Done): void;
  _transform(chunk: Uint8Array, encoding: string, done: Done): void;
}
export type EngineClass = OldClass<Engine>;

const CONTINUE = Symbol('continue');
/** Empty chunk → the flush that it stands for, in its place among the chunks that are written. */
const FLUSHES = new WeakMap<Uint8Array, Flush>();
const Base = Transform as unknown as { readonly prototype: { _read(bytes: number): void } } & Function;

const METHODS = {
  get _closed(): boolean {
    return (this as unknown as Engine)._handle === null;
  },

  reset(this: Engine): void {
    if (this._handle === null) throw nodeError(Error, 'ERR_INTERNAL_ASSERTION', 'zlib binding closed');
    this._handle.reset();
  },

  flush(this: Engine, kind?: Flush | Done, done?: Done): void {
    const [flush, flushed] =
      typeof kind === 'number' ? [kind, done] : [this._defaultFullFlushFlag, kind ?? done];
    if (this.writableFinished) {
      if (flushed !== undefined) queueMicrotask(flushed);
    } else if (this.writableEnded) {
      if (flushed !== undefined) this.once('end', flushed);
    } else {
      const chunk = Buffer.alloc(0);
      FLUSHES.set(chunk, flush);
      this.write(chunk, '', flushed);
    }
  },

  params(this: Engine, level: number, strategy: number, done?: () => void): void {
    within(level, 'level', LEVELS, -1);
    within(strategy, 'strategy', STRATEGIES, 0);
    if (this._level === level && this._strategy === strategy) {
      if (done !== undefined) queueMicrotask(done);
      return;
    }
    this.flush(SYNC_FLUSH, () => {
      this._handle?.setLevel(level, strategy);
      if (this.destroyed) return;
      Object.assign(this, { _level: level, _strategy: strategy });
      done?.();
    });
  },

  close(this: Engine, done?: Done): void {
    if (done !== undefined) (finished as unknown as (stream: Engine, done: Done) => void)(this, done);
    this.destroy();
  },

  _read(this: Engine, bytes: number): void {
    const go = this[CONTINUE];
    this[CONTINUE] = undefined;
    go?.();
    Base.prototype._read.call(this, bytes);
  },

  _transform(this: Engine, chunk: Uint8Array, _encoding: string, done: Done): void {
    const asked = FLUSHES.get(chunk) ?? this._defaultFlushFlag;
    const last = this.writableEnded && this.writableLength === chunk.byteLength;
    const flush = last ? stronger(asked, this._finishFlushFlag) : asked;
    // Node.js works in another thread: nothing has happened when `write` returns.
    queueMicrotask(() => advance(this, chunk, flush, done));
  },

  _flush(this: Engine, done: Done): void {
    this._transform(Buffer.alloc(0), '', done);
  },

  /** The end of the input is the matter of `_flush`. */
  _final(done: Done): void {
    done();
  },

  _destroy(this: Engine, error: unknown, done: Done): void {
    this._handle = null;
    done(error);
  },

  /** Not documented, but used by packages that read images. */
  _processChunk(this: Engine, chunk: Uint8Array, flush: Flush, done?: Done): Bytes | undefined {
    if (typeof done === 'function') return void advance(this, chunk, flush, done);
    if (this._handle === null) throw nodeError(Error, 'ERR_INTERNAL_ASSERTION', 'zlib binding closed');
    const { read, buffer } = process(this._handle, this, chunk, flush);
    this.bytesWritten = read;
    this._handle = null;
    return buffer;
  },
};

const stronger = (one: Flush, other: Flush): Flush =>
  STRENGTH.indexOf(one) > STRENGTH.indexOf(other) ? one : other;

/** Takes a chunk through the machine: piece by piece, each as the reader asks for it. */
function advance(engine: Engine, chunk: Uint8Array, flush: Flush, done: Done): void {
  for (let rest = chunk; ; ) {
    if (engine._handle === null) return done();
    let step: Step;
    try {
      step = engine._handle.run(rest, engine._outBuffer, engine._outOffset, flush);
    } catch (error) {
      return engine.destroy(error);
    }
    engine.bytesWritten += step.used;
    rest = rest.subarray(step.used);
    const wanted = step.made === 0 || engine.push(outputOf(engine, step));
    if (engine.destroyed) return done();
    if (!step.full) {
      // The data has ended before its stream.
      if (rest.length > 0) engine.push(null);
      return done();
    }
    if (!wanted) {
      engine[CONTINUE] = () => advance(engine, rest, flush, done);
      return;
    }
  }
}

/** What the step has made; its room is not used again. */
function outputOf(engine: Engine, { made }: Step): Uint8Array {
  const end = engine._outOffset + made;
  const output = engine._outBuffer.subarray(engine._outOffset, end);
  engine._outOffset = end;
  if (end === engine._outBuffer.length) {
    engine._outOffset = 0;
    engine._outBuffer = Buffer.allocUnsafe(engine._chunkSize);
  }
  return output;
}

const ZlibBase = oldClass<Engine>('ZlibBase', Base, METHODS, () => {});
export const Zlib = oldClass<Engine>('Zlib', ZlibBase, {}, () => {});
export const Brotli = oldClass<Engine>('Brotli', ZlibBase, {}, () => {});

export const startZlib =
  (format: Format): Start =>
  (options) => {
    const manner = readManner(options);
    const settings = readSettings(format, options);
    return { manner, settings, machine: new ZlibMachine(format, settings) };
  };

export const streamClass = (name: string, Parent: EngineClass, start: Start): EngineClass =>
  oldClass<Engine>(name, Parent, {}, function (options?: Options) {
    const given = options ?? {};
    const { manner, settings, machine } = start(given);
    const plain = { encoding: null, objectMode: false, writableObjectMode: false };
    Base.call(this, { autoDestroy: true, ...given, ...plain });
    Object.assign(this, manner, {
      _handle: machine,
      _outBuffer: Buffer.allocUnsafe(manner._chunkSize),
      _outOffset: 0,
      ...(settings && { _level: settings.level, _strategy: settings.strategy }),
      bytesWritten: 0,
    });
  });
