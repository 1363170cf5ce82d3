/**
 * The modules of Node.js that make bytes, in a bundle: each expression has the value, or throws the
 * error, that it has in the Node.js that runs the tests.
 */
import { getHashes } from 'node:crypto';
import { createRequire } from 'node:module';
import { brotliCompressSync, brotliDecompressSync, constants } from 'node:zlib';
import { expect, test } from 'vitest';
import { BitWriter, type Command, writeCommands, writeWindow } from '../../../sandbox/node/brotli-encoder.ts';
import { evaluate } from '../../support/bundle/uploaded.ts';

/** Words for what an expression comes to: bytes in hexadecimal digits, or the error. */
const OUTCOME = `(use) => {
  try {
    const value = use();
    return value instanceof Uint8Array ? value.constructor.name + ' ' + value.toString('hex') : JSON.stringify(value) ?? String(value);
  } catch ({ name, code, message }) { return [name, code, message].join(' | '); }
}`;

const Z = `require('zlib').`;
const C = `require('crypto').`;

const EXPRESSIONS: Readonly<Record<string, readonly string[]>> = {
  buffer: [
    ...['hex', 'base64', 'base64url', 'latin1', 'ascii', 'utf16le', 'ucs-2', 'UTF8', 'binary'].flatMap(
      (encoding) => [
        `Buffer.from('größer ?>\\u{1f600}', '${encoding}')`,
        `Buffer.from('größer ?>\\u{1f600}').toString('${encoding}')`,
        `Buffer.byteLength('größer ?>\\u{1f600}=', '${encoding}')`,
        `Buffer.alloc(7, 'größ', '${encoding}')`,
        `Buffer.from('a größer größ').indexOf('größ', 3, '${encoding}')`,
        `((b) => [b.write('a\\u{1f600}ßßßß', 1, 6, '${encoding}'), b])(Buffer.alloc(8))`,
      ],
    ),
    "Buffer.from('6 1')",
    "Buffer.from('616g', 'hex')",
    "Buffer.from('YQ-_ \\n+/ZZ=Zw', 'base64')",
    "Buffer.from([1, -1, 257, 'a', 3.9])",
    'Buffer.from(new Uint16Array([1, 258]).buffer, 1, 2)',
    'Buffer.from(new ArrayBuffer(2), 3)',
    "Buffer.from({ type: 'Buffer', data: [1, 2] })",
    'Buffer.from({ length: 2, 0: 5 })',
    "Buffer.from(new String('ab'))",
    'Buffer.from({})',
    'Buffer.from(5)',
    'Buffer.from(null)',
    "Buffer.from('a', 'nonsense')",
    'Buffer.alloc(-1)',
    "Buffer.alloc('5')",
    "Buffer.alloc(5, '')",
    'Buffer.concat([Buffer.from([1, 2]), Buffer.from([3])], 2)',
    "Buffer.concat(['a'])",
    'Buffer.concat(5)',
    "Buffer.compare(Buffer.from('a'), Buffer.from('b'))",
    "Buffer.compare('a', Buffer.from('b'))",
    "Buffer.from('abc').equals('abc')",
    "Buffer.from('abcdef').compare(Buffer.from('xabcx'), 1, 4, 0, 3)",
    "Buffer.from('abcdef').compare(Buffer.from('xabcx'), 1, 9)",
    "Buffer.from('abcabc').lastIndexOf('abc', -1)",
    "Buffer.from('abcabc').lastIndexOf('abc', 2)",
    "Buffer.from('abcabc').indexOf('', 9)",
    "Buffer.from('abcabc').includes(99, 3)",
    "Buffer.from('abc').indexOf({})",
    "((b) => [Buffer.from('abcdef').copy(b, 1, 2, 9), b])(Buffer.alloc(4))",
    "Buffer.from('abc').copy(Buffer.alloc(2), 0, 4)",
    "Buffer.from('abcdef').slice(-3, -1)",
    "Buffer.from('abcdef').subarray(1, 3)",
    "Buffer.from('abcdef').toString('latin1', '2', 4.9)",
    "Buffer.from('abc').toString('nonsense')",
    "Buffer.from('abc').write('a', 4)",
    "Buffer.from('abc').fill('ab', 1, 'hex')",
    "Buffer.from('abc').fill('x', 0, 9)",
    "Buffer.from('abcd').swap16()",
    "Buffer.from('abc').swap32()",
    "Buffer.from('abc').toJSON()",
    'Buffer.isEncoding(5)',
    'Buffer.isBuffer(new Uint8Array(1))',
    'Buffer.from([255, 255, 255, 255, 255, 255, 255, 255]).readBigInt64LE()',
    'Buffer.from([1, 2, 3, 4, 5, 6]).readUIntBE(0, 6)',
    'Buffer.from([255, 2, 3, 254, 5, 6]).readIntLE(1, 3)',
    'Buffer.from([1, 2, 3]).readUIntBE(0, 7)',
    'Buffer.from([1, 2, 3]).readInt32LE(0)',
    'Buffer.from([1, 2, 3]).readInt8(1.5)',
    "Buffer.from([1, 2, 3]).readUInt8('0')",
    'Buffer.from([64, 73, 15, 219, 0, 0, 0, 1]).readFloatBE(0)',
    'Buffer.alloc(2).writeUInt16BE(65536)',
    'Buffer.alloc(4).writeInt32BE(2 ** 31)',
    'Buffer.alloc(6).writeIntBE(-(2 ** 47) - 1, 0, 6)',
    'Buffer.alloc(8).writeBigUInt64LE(2n ** 64n)',
    '((b) => [b.writeDoubleLE(0.1, 0), b])(Buffer.alloc(8))',
    '((b) => [b.writeInt16LE(-2, 1), b])(Buffer.alloc(4))',
    "require('buffer').transcode(Buffer.from('€ß'), 'utf8', 'latin1')",
    "require('buffer').transcode(Buffer.from('a'), 'utf8', 'hex')",
    "[require('buffer').isUtf8(Buffer.from([195])), require('buffer').isAscii(Buffer.from('a'))]",
    "require('util').inspect(Buffer.alloc(52, 97))",
  ],
  zlib: [
    `${Z}brotliDecompressSync(${Z}brotliCompressSync('größer '.repeat(900)))`,
    `${Z}brotliCompressSync('')`,
    `${Z}brotliDecompressSync('this is not valid compressed data.')`,
    `${Z}brotliDecompressSync('')`,
    `${Z}brotliDecompressSync(Buffer.from('8b07', 'hex'))`,
    `${Z}brotliDecompressSync(Buffer.from('G38A+CXCIrFAIAM=', 'base64'), { maxOutputLength: 64 })`,
    `${Z}brotliDecompressSync(Buffer.from('G38A+CXCIrFAIAM=', 'base64'), { chunkSize: 64 })`,
    ...["{ 0: 'lol' }", '{ 10000: 0 }', '{ 0: 0, "00": 0 }', '{ 4: 42 }', '{ 1: 99 }'].map(
      (params) => `typeof ${Z}createBrotliCompress({ params: ${params} })`,
    ),
    `${Z}createBrotliDecompress({ params: { 5: 1 } })`,
    `${Z}brotliCompressSync('', { flush: 4 })`,
    `[${Z}BrotliCompress.name, Object.getPrototypeOf(${Z}BrotliCompress).name, typeof ${Z}BrotliCompress.prototype.params]`,
    ...['deflateSync', 'deflateRawSync', 'gzipSync'].flatMap((deflate) => [
      ...[-1, 0, 1, 5, 9].map(
        (level) => `${Z}${deflate}('ababcababc größer '.repeat(99), { level: ${level} })`,
      ),
      ...[1, 2, 3, 4].map(
        (strategy) => `${Z}${deflate}('ababcababc '.repeat(99), { strategy: ${strategy} })`,
      ),
      `${Z}${deflate}('ababcababc '.repeat(999), { windowBits: 9, memLevel: 1 })`,
      `${Z}${deflate}('ababcababc '.repeat(9), { dictionary: Buffer.from('babca') })`,
      `${Z}${deflate}('a', { chunkSize: 1 })`,
      `${Z}${deflate}('a', { finishFlush: 2 })`,
      `${Z}${deflate}(new Uint16Array([1, 2, 515]))`,
      `${Z}${deflate}(7)`,
    ]),
    `${Z}inflateSync(${Z}deflateSync('x'.repeat(70000))).length`,
    `${Z}inflateRawSync(${Z}deflateRawSync('x')).toString()`,
    `${Z}unzipSync(Buffer.concat([${Z}gzipSync('a'), ${Z}gzipSync('b'), Buffer.alloc(3)])).toString()`,
    `${Z}gunzipSync(Buffer.concat([${Z}gzipSync('a'), Buffer.from('zz')])).toString()`,
    `${Z}gunzipSync('no gzip')`,
    `${Z}gunzipSync(${Z}gzipSync('abc').subarray(0, 15))`,
    `${Z}gunzipSync(${Z}gzipSync('abc').subarray(0, 22), { finishFlush: 2 }).toString()`,
    `${Z}gunzipSync(${Z}gzipSync('a'.repeat(99)), { maxOutputLength: 98 })`,
    `${Z}inflateSync(${Z}deflateSync('babca', { dictionary: Buffer.from('babca') }))`,
    `${Z}inflateSync(${Z}deflateSync('babca', { dictionary: Buffer.from('babca') }), { dictionary: Buffer.from('x') })`,
    `${Z}inflateSync(${Z}deflateSync('babca', { dictionary: Buffer.from('babca') }), { dictionary: Buffer.from('babca') }).toString()`,
    `${Z}inflateRawSync(Buffer.from([7]))`,
    `${Z}gzip('a')`,
    `${Z}gzip(7, () => {})`,
    `${Z}createGzip({ level: 10 })`,
    `${Z}createGzip({ windowBits: 8 })`,
    `${Z}createInflate({ windowBits: 0 })._closed`,
    `[${Z}crc32('größer'), ${Z}crc32(Buffer.from('b'), ${Z}crc32('a'))]`,
    `${Z}crc32('a', -1)`,
    `[${Z}codes, ${Z}constants.Z_MAX_CHUNK === Infinity, ${Z}Z_FINISH]`,
  ],
  crypto: [
    ...getHashes()
      .map((name) => `${C}createHash('${name}').update('größer').update(Buffer.from([1])).digest()`)
      .filter((text) => !/sm3|ssl3|md5-sha1|256[-/]192|kmac/i.test(text)),
    ...['md5', 'sha1', 'SHA256', 'sha3-256', 'RSA-SHA512'].flatMap((name) => [
      `${C}createHmac('${name}', 'key').update('größer').digest('base64')`,
      `${C}pbkdf2Sync('password', 'salt', 3, 20, '${name}')`,
      `new Uint8Array(${C}hkdfSync('${name}', 'key', 'salt', 'info', 20)).join()`,
      `${C}hash('${name}', 'größer')`,
    ]),
    `${C}createHash('shake256', { outputLength: 7 }).update('a').digest('hex')`,
    `${C}createHash('shake128', { outputLength: 0 }).digest('hex')`,
    `${C}createHash('sha256', { outputLength: 7 })`,
    `${C}createHash('nonsense')`,
    `${C}createHmac('nonsense', '')`,
    `${C}createHmac('sha1', null)`,
    `${C}createHash('sha1').update(5)`,
    `${C}createHash('sha1').update('abc', 'hex')`,
    `((h) => [h.copy().digest('hex'), h.digest('latin1'), h.update('a')])(${C}createHash('sha1'))`,
    `((h) => [h.digest('hex'), h.digest('hex')])(${C}createHmac('sha1', 'k'))`,
    `((h) => (h.end('a'), h.read()))(${C}createHash('sha1'))`,
    `${C}scryptSync('password', 'salt', 20, { N: 16, r: 2, p: 2 })`,
    `${C}scryptSync('password', 'salt', 20, { N: 3 })`,
    `${C}scryptSync('password', 'salt', 20, { cost: 2 ** 20 })`,
    `${C}pbkdf2Sync('a', 'b', 0, 20, 'sha1')`,
    `${C}hkdfSync('sha1', 'a', 'b', 'c', 9999)`,
    `${C}timingSafeEqual(Buffer.from('a'), Buffer.from('ab'))`,
    `${C}timingSafeEqual('a', Buffer.from('a'))`,
    `${C}randomInt(3, 3)`,
    `${C}randomInt(0, 2 ** 49)`,
    `${C}randomBytes(-1)`,
    `${C}randomFillSync(new Uint8Array(3), 4)`,
    `/^\\w{8}-\\w{4}-7\\w{3}-[89ab]\\w{3}-\\w{12}$/.test(${C}randomUUIDv7())`,
    `${C}randomUUID({ disableEntropyCache: 1 })`,
    `${C}createSecretKey('a').export({ format: 'jwk' })`,
    `${C}createSecretKey(5)`,
    `${C}generateKeySync('aes', { length: 129 })`,
    `${C}generateKeySync('hmac', { length: 77 }).symmetricKeySize`,
    `[${C}constants.RSA_PKCS1_PADDING, ${C}getFips()]`,
  ],
};

test.each(Object.keys(EXPRESSIONS))('%s comes to what it comes to in Node.js', async (name) => {
  const expressions = EXPRESSIONS[name] ?? [];
  const code = `const outcome = ${OUTCOME};\nmodule.exports = { default: [${expressions.map((one) => `() => ${one}`).join(',\n')}].map(outcome) };`;
  const module = { exports: { default: [] as string[] } };
  new Function('require', 'module', code)(createRequire(import.meta.url), module);
  const found = await evaluate<{ default: string[] }>({ 'index.js': code }, 'index.js');
  const outcomes = (all: readonly string[]) =>
    expressions
      .map((one, at) => `${one} => ${all[at]}`)
      .filter((_, at) => found.default[at] !== module.exports.default[at]);
  expect(outcomes(found.default)).toEqual(outcomes(module.exports.default));
});

test('zlib compresses and decompresses with callbacks and in streams, and says how an input is bad', async () => {
  const code = `
    const zlib = require('node:zlib');
    const { promisify } = require('util');
    const { Readable, Writable } = require('stream');
    const { pipeline } = require('stream/promises');
    const texts = async (stream) => { const parts = []; for await (const part of stream) parts.push(part); return Buffer.concat(parts).toString(); };
    const text = 'größer '.repeat(20000);
    module.exports = { default: async () => {
      const zipped = await promisify(zlib.gzip)(text);
      const bytes = Readable.from(Array.from(zipped, (byte) => Buffer.from([byte])));
      const flushed = [];
      const deflate = zlib.createDeflate();
      deflate.on('data', (part) => flushed.push(part));
      deflate.write('first');
      await new Promise((done) => deflate.flush(done));
      const early = zlib.inflateSync(Buffer.concat(flushed), { finishFlush: zlib.constants.Z_SYNC_FLUSH }).toString();
      await new Promise((done) => deflate.params(0, zlib.constants.Z_DEFAULT_STRATEGY, done));
      deflate.end(' second');
      await new Promise((done) => deflate.on('end', done));
      const kept = [];
      await pipeline(Readable.from([text]), zlib.createGzip({ chunkSize: 64 }), zlib.createUnzip(),
        new Writable({ write(part, _, done) { kept.push(part); setTimeout(done, 0); } }));
      const failed = await promisify(zlib.inflate)(zipped).catch(({ code, errno, message }) => [code, errno, message]);
      const cut = new zlib.Gunzip();
      cut.end(zipped.subarray(0, 40));
      const broken = await texts(cut).catch(({ code, message }) => [code, message]);
      return [(await texts(bytes.pipe(zlib.createGunzip()))) === text, early, zlib.inflateSync(Buffer.concat(flushed)).toString(),
        Buffer.concat(kept).toString() === text, failed, broken];
    } };`;
  const run = await evaluate<{ default(): Promise<unknown> }>({ 'index.js': code }, 'index.js');
  expect(await run.default()).toEqual([
    true,
    'first',
    'first second',
    true,
    ['Z_DATA_ERROR', -3, 'incorrect header check'],
    ['Z_BUF_ERROR', 'unexpected end of file'],
  ]);
});

/** Brotli that means words of its dictionary alone, each by a distance beyond what was decoded. */
function wordsIn(length: number, commands: readonly Command[]): Uint8Array {
  const writer = new BitWriter();
  writeWindow(writer, 16);
  writeCommands(writer, length, commands, new Uint8Array(0));
  writer.align();
  return writer.take();
}
const WORD_BITS = [0, 0, 0, 0, 10, 10, 11, 11, 10, 10, 10, 10, 10, 9, 9, 8, 7, 7, 8, 7, 7, 6, 6, 5, 5];

test('zlib knows the words of Brotli, reads what Node.js writes, and writes what Node.js reads', async () => {
  const code = `
    const { brotliCompressSync, brotliDecompressSync } = require('zlib');
    const options = { finishFlush: 1 };
    module.exports = { default: {
      read: (bytes) => brotliDecompressSync(bytes, options).toString('base64'),
      write: (bytes, params) => Uint8Array.from(brotliCompressSync(bytes, { params })),
    } };`;
  const { read, write } = (
    await evaluate<{
      default: { read(bytes: Uint8Array): string; write(bytes: Uint8Array, params: object): Uint8Array };
    }>({ 'index.js': code }, 'index.js')
  ).default;
  const words = WORD_BITS.flatMap((bits, copy) => {
    if (bits === 0) return [];
    const one = (at: number) => ({ insert: 0, copy, distance: at * copy + 1 + at });
    return [
      wordsIn(
        copy * 2 ** bits,
        Array.from({ length: 2 ** bits }, (_, at) => one(at)),
      ),
    ];
  });
  const changed = Array.from({ length: 121 }, (_, way) =>
    wordsIn(64, [{ insert: 0, copy: 10, distance: 1 + way * 2 ** 10 + 1_000 }]),
  );
  const texts = ['größer, und größer', '你好 мир 😀 Ünï'.repeat(40), 'The time of the people. '.repeat(9)];
  const inputs = [
    ...texts.map((text) => Buffer.from(text)),
    Buffer.alloc(300_000),
    Buffer.from([255, 0, 128]),
  ];
  const written = inputs.flatMap((input) =>
    [0, 5, 9, 11].flatMap((quality) =>
      [0, 1, 2].map((mode) =>
        brotliCompressSync(input, { params: { 0: mode, 1: quality, 2: 10 + quality } }),
      ),
    ),
  );
  const finishFlush = constants.BROTLI_OPERATION_FLUSH;
  for (const bytes of [...words, ...changed, ...written])
    expect(read(bytes)).toBe(brotliDecompressSync(bytes, { finishFlush }).toString('base64'));
  for (const input of inputs) {
    for (const params of [{}, { 1: 0, 2: 10 }, { 1: 5, 2: 17 }])
      expect(brotliDecompressSync(write(input, params)).equals(input)).toBe(true);
  }
});

test('perf_hooks tells observers of marks, measures and timed functions', async () => {
  const code = `
    import { createHistogram, performance, PerformanceObserver } from 'node:perf_hooks';
    export default async () => {
      const heard = [];
      const histogram = createHistogram();
      const observer = new PerformanceObserver((list) => heard.push(...list.getEntries().map(({ name, entryType }) => [entryType, name])));
      observer.observe({ entryTypes: ['mark', 'measure', 'function', 'gc'] });
      performance.mark('a');
      performance.measure('from a', 'a');
      const add = performance.timerify(function sumOf(one, other) { return one + other; }, { histogram });
      const sum = add(1, 2);
      while (heard.length < 3) await new Promise((done) => setTimeout(done, 0));
      heard.sort();
      observer.disconnect();
      performance.mark('b');
      await null;
      const numbers = createHistogram();
      for (let value = 1; value <= 1000; value++) numbers.record(value);
      return { heard, sum, counts: [histogram.count, numbers.count, numbers.min, numbers.max, numbers.mean, numbers.percentile(50), numbers.percentile(99)] };
    };`;
  const run = await evaluate<() => Promise<unknown>>({ 'index.ts': code });
  expect(await run()).toEqual({
    heard: [
      ['function', 'sumOf'],
      ['mark', 'a'],
      ['measure', 'from a'],
    ],
    sum: 3,
    counts: [1, 1000, 1, 1000, 500.5, 500, 990],
  });
});
