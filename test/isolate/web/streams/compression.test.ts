/** CompressionStream and DecompressionStream inside an isolate; compared with Node's zlib. */
import { deflateRawSync, deflateSync, gunzipSync, gzipSync, inflateRawSync, inflateSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createWebIsolate, type WebIsolate } from '../../../support/web/web-isolate.ts';

let isolate: WebIsolate;
beforeAll(async () => {
  isolate = await createWebIsolate();
  await isolate.run(HELPERS);
});
afterAll(() => isolate.dispose());

/**
 * `through(stream, chunks)`: hex of the output, or the name of the error and the output before it.
 */
const HELPERS = `
  globalThis.through = async (stream, chunks) => {
    const writer = stream.writable.getWriter();
    for (const chunk of chunks) writer.write(chunk).catch(() => {});
    writer.close().catch(() => {});
    const reader = stream.readable.getReader();
    let hex = '';
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return hex;
        hex += value.toHex();
      }
    } catch (error) {
      return [error.name, hex];
    }
  };
  globalThis.bytes = (hex) => Uint8Array.fromHex(hex);
  globalThis.flush = async () => { for (let i = 0; i < 50; i++) await undefined; };
`;

const FORMATS = [
  { format: 'gzip', pack: gzipSync, unpack: gunzipSync },
  { format: 'deflate', pack: deflateSync, unpack: inflateSync },
  { format: 'deflate-raw', pack: deflateRawSync, unpack: inflateRawSync },
];
const TEXT = 'Annex compresses what it is given. '.repeat(400);

test.each(FORMATS)(
  '$format works in both directions, whole and byte by byte',
  async ({ format, pack, unpack }) => {
    const packed = pack(Buffer.from(TEXT)).toString('hex');
    const [made, whole, single] = (await isolate.run(`
    const text = new TextEncoder().encode(${JSON.stringify(TEXT)});
    return [
      await through(new CompressionStream('${format}'), [text.subarray(0, 5000), text.subarray(5000)]),
      await through(new DecompressionStream('${format}'), [bytes('${packed}')]),
      await through(new DecompressionStream('${format}'), Array.from(bytes('${packed}'), (byte) => new Uint8Array([byte]))),
    ]`)) as [string, string, string];
    expect(unpack(Buffer.from(made, 'hex')).toString()).toBe(TEXT);
    expect(Buffer.from(whole, 'hex').toString()).toBe(TEXT);
    expect(single).toBe(whole);
  },
);

test.each(FORMATS)('$format of no input is a valid file, and an empty file is not valid', async (sample) => {
  const { format, pack, unpack } = sample;
  const [made, opened, nothing] = (await isolate.run(`return [
    await through(new CompressionStream('${format}'), [new Uint8Array()]),
    await through(new DecompressionStream('${format}'), [bytes('${pack(Buffer.alloc(0)).toString('hex')}')]),
    await through(new DecompressionStream('${format}'), []),
  ]`)) as unknown[];
  expect(unpack(Buffer.from(made as string, 'hex'))).toHaveLength(0);
  expect([opened, nothing]).toEqual(['', ['TypeError', '']]);
});

test.each(FORMATS)('$format: a truncated file, or one with trailing bytes, is refused', async (sample) => {
  const { format, pack } = sample;
  const packed = pack(Buffer.from('expected output')).toString('hex');
  const plain = Buffer.from('expected output').toString('hex');
  const results = await isolate.run(`
    const whole = bytes('${packed}');
    return [
      await through(new DecompressionStream('${format}'), [whole.subarray(0, whole.length - 1)]),
      await through(new DecompressionStream('${format}'), [new Uint8Array([...whole, 0])]),
      await through(new DecompressionStream('${format}'), [whole, new Uint8Array([0])]),
      await through(new DecompressionStream('${format}'), [whole, new Uint8Array()]),
    ]`);
  expect((results as unknown[][]).slice(0, 3).map(([name]) => name)).toEqual(Array(3).fill('TypeError'));
  expect((results as unknown[])[3]).toBe(plain);
});

/**
 * Single fields of a valid file set to one byte value: which of them a decompressor must refuse
 * (RFC 1950, RFC 1952).
 */
const DAMAGES: [format: string, from: number, length: number, value: number, valid: boolean][] = [
  ['deflate', 0, 1, 0, false],
  ['deflate', 1, 1, 218, true],
  ['deflate', 1, 1, 1, true],
  ['deflate', 1, 1, 157, false],
  // A preset dictionary is asked for (with a valid check of the header).
  ['deflate', 1, 1, 0x20 | 0x1b, false],
  ['deflate', -4, 4, 255, false],
  ['gzip', 0, 2, 255, false],
  ['gzip', 2, 1, 0, false],
  ['gzip', 3, 1, 1, true],
  ['gzip', 3, 1, 2, false],
  ['gzip', 3, 1, 0xe0, false],
  ['gzip', 4, 4, 255, true],
  ['gzip', 8, 1, 255, true],
  ['gzip', 9, 1, 128, true],
  ['gzip', -8, 4, 0, false],
  ['gzip', -4, 4, 1, false],
  ['deflate-raw', 0, 1, 0x07, false],
];

test('headers, checksums and lengths are checked', async () => {
  const packed = {
    gzip: gzipSync('expected output').toString('hex'),
    deflate: deflateSync('expected output').toString('hex'),
    'deflate-raw': deflateRawSync('expected output').toString('hex'),
  };
  const results = await isolate.run(`
    const packed = ${JSON.stringify(packed)};
    const results = [];
    for (const [format, from, length, value] of ${JSON.stringify(DAMAGES)}) {
      const input = bytes(packed[format]);
      const start = from < 0 ? input.length + from : from;
      input.fill(value, start, start + length);
      results.push(typeof (await through(new DecompressionStream(format), [input])) === 'string');
    }
    return results;`);
  expect(results).toEqual(DAMAGES.map(([, , , , valid]) => valid));
});

test('a second gzip member is not read as more of the first', async () => {
  const two = Buffer.concat([gzipSync('one'), gzipSync('two')]).toString('hex');
  expect(await isolate.run(`return through(new DecompressionStream('gzip'), [bytes('${two}')])`)).toEqual([
    'TypeError',
    '6f6e65',
  ]);
});

test('an unknown format, a missing one and a chunk that is no BufferSource are TypeErrors', async () => {
  const results = await isolate.run(`
    const name = (run) => { try { run(); return 'made'; } catch (error) { return error.name; } };
    const results = [];
    for (const Stream of [CompressionStream, DecompressionStream]) {
      results.push(name(() => new Stream()), name(() => new Stream('zip')), name(() => new Stream('GZIP')));
      results.push(name(() => Stream('gzip')), Stream.length, String(Stream.prototype));
      for (const chunk of [undefined, null, 3.14, {}, [65], 'text']) {
        const stream = new Stream('gzip');
        const reader = stream.readable.getReader();
        const read = reader.read().catch((error) => error.name);
        results.push(await stream.writable.getWriter().write(chunk).catch((error) => error.name), await read);
      }
    }
    return results;`);
  const one = (name: string) => [
    ...Array(4).fill('TypeError'),
    1,
    `[object ${name}]`,
    ...Array(12).fill('TypeError'),
  ];
  expect(results).toEqual([...one('CompressionStream'), ...one('DecompressionStream')]);
});

test('every kind of BufferSource is taken, and copied: the writer may change its own afterwards', async () => {
  const packed = gzipSync('expected output!').toString('hex');
  expect(
    await isolate.run(`
      const results = [];
      for (const View of [Uint8Array, Int8Array, Uint8ClampedArray, DataView, ArrayBuffer]) {
        const { buffer } = bytes('${packed}');
        results.push(await through(new DecompressionStream('gzip'), [View === ArrayBuffer ? buffer : new View(buffer)]));
      }
      const input = new Uint8Array(300_000);
      for (let i = 0, x = 1; i < input.length; i++) input[i] = (x = (x * 48271) % 2147483647) & 255;
      const before = input.toHex();
      const stream = new CompressionStream('deflate');
      const writer = stream.writable.getWriter();
      void writer.write(input);
      void writer.close();
      const reader = stream.readable.getReader();
      let packed = (await reader.read()).value.toHex();
      input.buffer.transfer();
      for (let next = await reader.read(); !next.done; next = await reader.read()) packed += next.value.toHex();
      return [results, (await through(new DecompressionStream('deflate'), [bytes(packed)])) === before];`),
  ).toEqual([Array(5).fill(Buffer.from('expected output!').toString('hex')), true]);
});

const BOMB_MIB = 64;
test('attack: a bomb of 1000:1 waits for its reader, and never holds more than a piece of its output', async () => {
  const bomb = gzipSync(Buffer.alloc(BOMB_MIB * 1024 * 1024));
  expect(bomb.length).toBeLessThan((BOMB_MIB * 1024 * 1024) / 1000);
  const small = await createWebIsolate({ memoryMib: 16 });
  await small.run(HELPERS);
  const results = await small.run(`
    const stream = new DecompressionStream('gzip');
    let written = false;
    const write = stream.writable.getWriter().write(bytes('${bomb.toString('hex')}')).then(() => { written = true; });
    const reader = stream.readable.getReader();
    const lengths = [];
    for (let i = 0; i < 3; i++) { lengths.push((await reader.read()).value.length); await flush(); }
    const held = !written;
    let total = lengths[0] + lengths[1] + lengths[2];
    while (total < ${BOMB_MIB * 1024 * 1024}) total += (await reader.read()).value.length;
    await write;
    return [lengths, held, total, written];`);
  small.dispose();
  expect(results).toEqual([Array(3).fill(65_536), true, BOMB_MIB * 1024 * 1024, true]);
});

test('a reader that cancels ends the inflating', async () => {
  const bomb = gzipSync(Buffer.alloc(8 * 1024 * 1024)).toString('hex');
  expect(
    await isolate.run(`
      const stream = new DecompressionStream('gzip');
      const writer = stream.writable.getWriter();
      const write = writer.write(bytes('${bomb}')).then(() => 'written', (error) => error);
      const reader = stream.readable.getReader();
      await reader.read();
      await reader.cancel('enough');
      return [await write, await writer.closed.catch((reason) => reason)];`),
  ).toEqual(['written', 'enough']);
});

test('a writer that aborts ends the inflating at the next read', async () => {
  const bomb = gzipSync(Buffer.alloc(8 * 1024 * 1024)).toString('hex');
  expect(
    await isolate.run(`
      const stream = new DecompressionStream('gzip');
      const writer = stream.writable.getWriter();
      void writer.write(bytes('${bomb}')).catch(() => {});
      const reader = stream.readable.getReader();
      await reader.read();
      const abort = writer.abort('enough').then(() => 'aborted');
      const reads = [];
      for (let i = 0; i < 3; i++) reads.push(await reader.read().then(({ value }) => value.length, (reason) => reason));
      return [reads.at(-1), reads.length, await abort];`),
  ).toEqual(['enough', 3, 'aborted']);
});

test('a stream makes at most 256 MiB, then it fails with an error that names the bound', {
  timeout: 60_000,
}, async () => {
  const mib = Buffer.alloc(1024 * 1024);
  const bomb = gzipSync(Buffer.concat(Array(257).fill(mib)), { level: 9 }).toString('hex');
  expect(
    await isolate.run(`
      const stream = new DecompressionStream('gzip');
      const write = stream.writable.getWriter().write(bytes('${bomb}')).catch((error) => error.name);
      let total = 0;
      try {
        for await (const piece of stream.readable) total += piece.length;
      } catch (error) {
        return [error.name, error.message.includes('256 MiB'), total, await write];
      }`),
  ).toEqual(['TypeError', true, 256 * 1024 * 1024, 'TypeError']);
});

test('the sides are read-only attributes of the interface, and refuse another receiver', async () => {
  expect(
    await isolate.run(`
      const results = [];
      for (const Stream of [CompressionStream, DecompressionStream]) {
        const { get, set, enumerable } = Object.getOwnPropertyDescriptor(Stream.prototype, 'readable');
        let refused; try { get.call({}); } catch (error) { refused = error.name; }
        const stream = new Stream('gzip');
        results.push(set === undefined, enumerable, refused, stream.readable === stream.readable,
          stream.readable instanceof ReadableStream, stream.writable instanceof WritableStream);
      }
      return results;`),
  ).toEqual([true, true, 'TypeError', true, true, true, true, true, 'TypeError', true, true, true]);
});
