/**
 * `node:zlib`: deflate, zlib, gzip and Brotli in both directions, without waiting, with a callback
 * and as streams. Zstandard throws at its use: there is no encoder of it in JavaScript.
 */
import constantsOfNode from 'node-tables/zlib.json';
import { absentMembers } from './absent.ts';
import { startBrotli } from './brotli.ts';
import { Buffer } from './buffer.ts';
import { bytesOf } from './buffer-view.ts';
import { answer, type Done } from './callback.ts';
import { invalidArgType, validateFunction, validateUint32 } from './errors.ts';
import type { Format } from './zlib-machine.ts';
import { Brotli, type Options, process, startZlib, streamClass, Zlib } from './zlib-stream.ts';

type Input = string | ArrayBuffer | ArrayBufferView;

export const constants: Readonly<Record<string, number>> = Object.freeze({
  ...constantsOfNode,
  Z_MAX_CHUNK: Number.POSITIVE_INFINITY,
});
const STATUS_NAMES = Object.keys(constants).filter((name) =>
  /^Z_(?:OK|STREAM_END|NEED_DICT|[A-Z]+_ERROR|ERRNO)$/.test(name),
);

/** The functions of a format: a class and its maker, and both forms for a whole input. */
function functionsOf(name: Format | 'BrotliCompress' | 'BrotliDecompress') {
  const isBrotli = name === 'BrotliCompress' || name === 'BrotliDecompress';
  const start = isBrotli ? startBrotli(name === 'BrotliCompress') : startZlib(name);
  const Class = streamClass(name, isBrotli ? Brotli : Zlib, start);
  const finish = ({ manner, machine }: ReturnType<typeof start>, input: Uint8Array, options?: Options) => {
    const { read, buffer } = process(machine, manner, input, manner._finishFlushFlag);
    if (!manner._info) return buffer;
    return { buffer, engine: Object.assign(new Class(options), { _handle: null, bytesWritten: read }) };
  };
  return {
    Class,
    make: (options?: Options) => new Class(options),
    whole(input: Input, given: Options | WholeDone, callback?: WholeDone): void {
      const [options, done] = typeof given === 'function' ? [{}, given] : [given, callback];
      const started = start(options ?? {});
      validateFunction(done, 'callback');
      const bytes = typeof input === 'string' ? Buffer.from(input) : bytesOf(input);
      if (bytes === undefined) throw invalidArgType('chunk', ['string', ...VIEWS], input);
      answer(done as unknown as WholeDone, () => finish(started, bytes, options));
    },
    sync(input: Input, options?: Options): ReturnType<typeof finish> {
      const started = start(options ?? {});
      const bytes = typeof input === 'string' ? Buffer.from(input) : bytesOf(input);
      if (bytes === undefined) throw invalidArgType('buffer', ['string', ...VIEWS, 'ArrayBuffer'], input);
      return finish(started, bytes, options);
    },
  };
}
type WholeDone = Done<unknown>;
const VIEWS = ['Buffer', 'TypedArray', 'DataView'];

export const {
  Class: Deflate,
  make: createDeflate,
  whole: deflate,
  sync: deflateSync,
} = functionsOf('Deflate');
export const {
  Class: Inflate,
  make: createInflate,
  whole: inflate,
  sync: inflateSync,
} = functionsOf('Inflate');
export const { Class: Gzip, make: createGzip, whole: gzip, sync: gzipSync } = functionsOf('Gzip');
export const { Class: Gunzip, make: createGunzip, whole: gunzip, sync: gunzipSync } = functionsOf('Gunzip');
export const {
  Class: DeflateRaw,
  make: createDeflateRaw,
  whole: deflateRaw,
  sync: deflateRawSync,
} = functionsOf('DeflateRaw');
export const {
  Class: InflateRaw,
  make: createInflateRaw,
  whole: inflateRaw,
  sync: inflateRawSync,
} = functionsOf('InflateRaw');
export const {
  Class: BrotliCompress,
  make: createBrotliCompress,
  whole: brotliCompress,
  sync: brotliCompressSync,
} = functionsOf('BrotliCompress');
export const {
  Class: BrotliDecompress,
  make: createBrotliDecompress,
  whole: brotliDecompress,
  sync: brotliDecompressSync,
} = functionsOf('BrotliDecompress');
export const { Class: Unzip, make: createUnzip, whole: unzip, sync: unzipSync } = functionsOf('Unzip');

const CRC_TABLE = Int32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
  return value;
});

/**
 * The check value of gzip and PNG (RFC 1952 section 8).
 *
 * @param before the value of what came before
 */
export function crc32(data: string | ArrayBufferView, before = 0): number {
  const bytes =
    typeof data === 'string' ? Buffer.from(data) : ArrayBuffer.isView(data) ? bytesOf(data) : undefined;
  if (bytes === undefined) throw invalidArgType('data', ['string', ...VIEWS], data);
  validateUint32(before, 'value');
  let value = ~before;
  for (const byte of bytes) value = (value >>> 8) ^ (CRC_TABLE[(value ^ byte) & 255] as number);
  return ~value >>> 0;
}

/** Name of a status → its number, and back. */
export const codes: Readonly<Record<string, number | string>> = Object.freeze({
  ...Object.fromEntries(STATUS_NAMES.map((name) => [name, constants[name] as number])),
  ...Object.fromEntries(STATUS_NAMES.map((name) => [String(constants[name]), name])),
});

const absent = absentMembers('zlib', [
  'ZipBuffer',
  'ZipEntry',
  'ZipFile',
  'ZstdCompress',
  'ZstdDecompress',
  'createZipArchive',
  'createZipArchiveSync',
  'createZstdCompress',
  'createZstdDecompress',
  'getMaxZipContentSize',
  'setMaxZipContentSize',
  'zipFiles',
  'zstdCompress',
  'zstdCompressSync',
  'zstdDecompress',
  'zstdDecompressSync',
]);
export const { ZipBuffer, ZipEntry, ZipFile, ZstdCompress, ZstdDecompress } = absent;
export const { createZipArchive, createZipArchiveSync, createZstdCompress, createZstdDecompress } = absent;
export const { getMaxZipContentSize, setMaxZipContentSize, zipFiles } = absent;
export const { zstdCompress, zstdCompressSync, zstdDecompress, zstdDecompressSync } = absent;
const all = {
  ...absent,
  BrotliCompress,
  BrotliDecompress,
  Deflate,
  DeflateRaw,
  Gunzip,
  Gzip,
  Inflate,
  InflateRaw,
  Unzip,
  brotliCompress,
  brotliCompressSync,
  brotliDecompress,
  brotliDecompressSync,
  codes,
  constants,
  crc32,
  createBrotliCompress,
  createBrotliDecompress,
  createDeflate,
  createDeflateRaw,
  createGunzip,
  createGzip,
  createInflate,
  createInflateRaw,
  createUnzip,
  deflate,
  deflateRaw,
  deflateRawSync,
  deflateSync,
  gunzip,
  gunzipSync,
  gzip,
  gzipSync,
  inflate,
  inflateRaw,
  inflateRawSync,
  inflateSync,
  unzip,
  unzipSync,
};
/** The constants are members, too, that nobody lists. */
for (const [name, value] of Object.entries(constants)) {
  if (!/^(?:BROTLI|ZSTD)/.test(name)) Object.defineProperty(all, name, { value });
}
export default all;
