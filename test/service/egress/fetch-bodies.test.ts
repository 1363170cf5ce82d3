/**
 * Bodies of requests and answers: streamed with back pressure, bounded in bytes and time,
 * decompressed.
 */
import type { IncomingMessage } from 'node:http';
import { type Duplex, Readable } from 'node:stream';
import { buffer, text } from 'node:stream/consumers';
import {
  brotliCompressSync,
  constants,
  createGunzip,
  createInflate,
  deflateRawSync,
  deflateSync,
  gzipSync,
} from 'node:zlib';
import { describe, expect, onTestFinished, test } from 'vitest';
import { Decoding } from '../../../src/host/egress/decoding.ts';
import { EgressError } from '../../../src/host/egress/egress.ts';
import { failure, newEgress, send, serve, serveTcp } from '../../support/http/egress.ts';
import { heldBufferBytes } from '../../support/measure/held-buffers.ts';

const KIB = 1024;
const MIB = 1024 * KIB;

/** The head and the body of a request, as a server receives them. */
async function received(body: Uint8Array | Readable, limits = {}) {
  const { promise, resolve, reject } = Promise.withResolvers<{ request: IncomingMessage; bytes: Buffer }>();
  promise.catch(() => undefined);
  const base = await serve((request, response) => {
    buffer(request).then((bytes) => resolve({ request, bytes }), reject);
    request.once('end', () => response.end());
  });
  const response = await send(newEgress({ limits }), base, { method: 'POST', body });
  response.body.resume();
  return promise;
}

/** The body of a fetch, whose answer has these bytes and codings. */
async function decoded(bytes: Uint8Array, coding: string, egress = newEgress()): Promise<Buffer> {
  const base = await serve((_request, response) =>
    response.writeHead(200, { 'content-encoding': coding }).end(bytes),
  );
  return buffer((await send(egress, base)).body);
}

describe('the body of a request', () => {
  test('arrives unchanged, with its length if that is known', async () => {
    const bytes = Buffer.from(Array.from({ length: 70_000 }, (_, at) => at % 251));
    const whole = await received(new Uint8Array(bytes));
    expect(whole.bytes.equals(bytes)).toBe(true);
    expect(whole.request.headers).toMatchObject({ 'content-length': '70000' });
    const streamed = await received(Readable.from([bytes.subarray(0, 5), bytes.subarray(5)]));
    expect(streamed.bytes.equals(bytes)).toBe(true);
    expect(streamed.request.headers).toMatchObject({ 'transfer-encoding': 'chunked' });
  });

  test('may be empty', async () => {
    const { request, bytes } = await received(new Uint8Array());
    expect([request.headers['content-length'], bytes.byteLength]).toEqual(['0', 0]);
    expect((await received(Readable.from([]))).bytes.byteLength).toBe(0);
  });

  test('of the maximum size passes, one byte more does not, whole or streamed', async () => {
    const limits = { fetchRequestBodyBytes: 100_000 };
    const bytes = Buffer.alloc(100_001, 'x');
    const pieces = (length: number) =>
      Readable.from([bytes.subarray(0, 60_000), bytes.subarray(60_000, length)]);
    expect((await received(bytes.subarray(1), limits)).bytes.byteLength).toBe(100_000);
    expect((await received(pieces(100_000), limits)).bytes.byteLength).toBe(100_000);
    for (const body of [bytes, pieces(100_001)])
      expect((await failure(received(body, limits))).message).toBe(
        'The body of the request is too large; the limit is 100,000 bytes (fetchRequestBodyBytes).',
      );
  });

  test('that never ends is cut, and its source is destroyed', async () => {
    const { promise: closed, resolve } = Promise.withResolvers<void>();
    const endless = new Readable({
      read() {
        this.push(Buffer.alloc(16 * KIB));
      },
    }).once('close', resolve);
    expect((await failure(received(endless))).message).toBe(
      'The body of the request is too large; the limit is 10 MiB (fetchRequestBodyBytes).',
    );
    await closed;
  });

  test('that breaks off is an error without details', async () => {
    const broken = new Readable({
      read() {
        this.push('x');
        this.destroy(new Error('at 10.0.0.1'));
      },
    });
    const error = await failure(received(broken));
    expect([error.message, error.detail]).toEqual([
      'The body of the request broke off.',
      'The body of the request: at 10.0.0.1',
    ]);
  });

  test('waits for a server that does not read', async () => {
    let made = 0;
    const source = new Readable({
      highWaterMark: 16 * KIB,
      read() {
        made += 16 * KIB;
        this.push(made > 200 * MIB ? null : Buffer.alloc(16 * KIB));
      },
    });
    const base = await serveTcp((socket) => socket.pause());
    const limits = { fetchMs: 400, fetchRequestBodyBytes: 500 * MIB };
    const error = await failure(send(newEgress({ limits }), base, { method: 'POST', body: source }));
    expect(error.message).toMatch(/the limit is 400 ms \(fetchMs\)/);
    // The buffers of the kernel for a connection, and those of the egress.
    expect(made).toBeLessThan(20 * MIB);
    await expect.poll(() => source.destroyed).toBe(true);
  });

  test('may still be sent while the answer is read', async () => {
    const base = await serve((request, response) => request.pipe(response));
    const sender = new Readable({ read() {} });
    sender.push('one');
    const { body } = await send(newEgress(), base, { method: 'POST', body: sender });
    const pieces = body[Symbol.asyncIterator]();
    expect(String((await pieces.next()).value)).toBe('one');
    sender.push('two');
    expect(String((await pieces.next()).value)).toBe('two');
    sender.push(null);
    expect((await pieces.next()).done).toBe(true);
  });
});

describe('the body of an answer', () => {
  test('starts with its first chunk', async () => {
    const base = await serve((_request, response) => void response.write('first'));
    const { status, body } = await send(newEgress(), base);
    const [piece] = await new Promise<Buffer[]>((resolve) => body.once('data', (chunk) => resolve([chunk])));
    expect([status, String(piece)]).toEqual([200, 'first']);
  });

  test('of the maximum size passes, one byte more does not', async () => {
    const limits = { fetchResponseBodyBytes: 100_000 };
    const base = await serve((request, response) =>
      response.end(Buffer.alloc(Number(request.url?.slice(1)))),
    );
    const egress = newEgress({ limits });
    expect((await buffer((await send(egress, `${base}/100000`)).body)).byteLength).toBe(100_000);
    const { body } = await send(egress, `${base}/100001`);
    expect((await failure(buffer(body))).message).toBe(
      'The body of the answer is too large; the limit is 100,000 bytes (fetchResponseBodyBytes).',
    );
  });

  test('that never ends is cut, with its connection', async () => {
    const closed = Promise.withResolvers<void>();
    const base = await serve((_request, response) => {
      const write = () => {
        response.write(Buffer.alloc(64 * KIB));
        if (!response.destroyed) setImmediate(write);
      };
      write();
      response.once('close', closed.resolve);
    });
    const egress = newEgress();
    const { body } = await send(egress, base);
    const error = await failure(buffer(body));
    expect(error).toBeInstanceOf(EgressError);
    expect(error.message).toBe(
      'The body of the answer is too large; the limit is 10 MiB (fetchResponseBodyBytes).',
    );
    await closed.promise;
    await expect.poll(() => [egress.inFlight, egress.connections]).toEqual([0, 0]);
  });

  // A time-out between two chunks would never come.
  test('that sends a byte at a time is cut at the deadline of the whole fetch', async () => {
    const base = await serve((_request, response) => {
      const timer = setInterval(() => response.write('x'), 20);
      response.once('close', () => clearInterval(timer));
    });
    const egress = newEgress({ limits: { fetchMs: 300 } });
    const { body } = await send(egress, base);
    const error = await failure(buffer(body));
    expect(error).toBeInstanceOf(EgressError);
    expect(error.message).toBe(
      "The fetch, its answer's body included, took too long; the limit is 300 ms (fetchMs).",
    );
    await expect.poll(() => [egress.inFlight, egress.connections]).toEqual([0, 0]);
  });

  test('whose head comes a byte at a time is cut, too', async () => {
    const base = await serveTcp((socket) => {
      socket.write('HTTP/1.1 200 OK\r\nx-a: ');
      const timer = setInterval(() => socket.write('x'), 20);
      socket.once('close', () => clearInterval(timer));
    });
    const error = await failure(send(newEgress({ limits: { fetchMs: 200 } }), base));
    expect(error.message).toMatch(/took too long; the limit is 200 ms/);
    expect(error.detail).toBe(`${base}: ${error.message}`);
  });

  test('that is not read makes the server wait', async () => {
    let sent = 0;
    const base = await serve((_request, response) => {
      const more = () => {
        for (let goesOn = true; goesOn && sent < 200 * MIB; sent += 64 * KIB)
          goesOn = response.write(Buffer.alloc(64 * KIB));
      };
      response.on('drain', more);
      more();
    });
    const egress = newEgress({ limits: { fetchResponseBodyBytes: 500 * MIB, fetchMs: 300 } });
    const { body } = await send(egress, base);
    await new Promise((resolve) => body.once('close', resolve));
    // The buffers of the kernel for a connection, and those of the egress.
    expect(sent).toBeLessThan(20 * MIB);
  });

  test('that is not read is dropped at the deadline, even a small one', async () => {
    const base = await serve((_request, response) => response.end('x'));
    const egress = newEgress({ limits: { fetchMs: 200 } });
    const { body } = await send(egress, base);
    await new Promise((resolve) => body.once('close', resolve));
    expect([egress.inFlight, body.errored?.message]).toEqual([
      0,
      expect.stringMatching(/the limit is 200 ms \(fetchMs\)/),
    ]);
  });

  // Attack: a buffer that is almost empty in bytes, and megabytes in objects.
  test('that comes a byte at a time is not buffered', async () => {
    const pieces = Buffer.from('1\r\nx\r\n'.repeat(100_000));
    const base = await serveTcp((socket) =>
      socket.once('data', () => {
        socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n');
        socket.write(pieces);
      }),
    );
    const egress = newEgress();
    let held = 0;
    const bodies = await Promise.all(Array.from({ length: 20 }, async () => (await send(egress, base)).body));
    for (const body of bodies) {
      await new Promise((resolve) => body.once('readable', resolve));
      held = Math.max(held, body.readableLength);
      expect((body.read(1) as Buffer).toString()).toBe('x');
    }
    expect(held).toBeLessThanOrEqual(2 * KIB);
    const [first] = bodies;
    let bytes = 1;
    for await (const piece of first ?? []) {
      bytes += piece.length;
      if (bytes === 100_000) break;
    }
    expect(bytes).toBe(100_000);
  });

  test('that ends before its length is an error', async () => {
    const base = await serveTcp((socket) =>
      socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nfour')),
    );
    const error = await failure(buffer((await send(newEgress(), base)).body));
    expect(error).toBeInstanceOf(EgressError);
    expect(error.message).toBe('The connection ended before the answer was complete.');
  });

  test('that is destroyed ends its connection; so does one of an aborted fetch', async () => {
    const closed = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let asked = 0;
    const base = await serve((_request, response) => {
      response.once('close', closed[asked++]?.resolve ?? (() => undefined));
      response.write('x');
    });
    const egress = newEgress();
    (await send(egress, base)).body.destroy();
    await closed[0]?.promise;
    const abort = new AbortController();
    const { body } = await send(egress, base, { signal: abort.signal });
    abort.abort(new Error('called off'));
    expect((await failure(buffer(body))).message).toBe('called off');
    await closed[1]?.promise;
    await expect.poll(() => [egress.inFlight, egress.connections]).toEqual([0, 0]);
  });
});

describe('a compressed answer', () => {
  const plain = Buffer.from('Καλημέρα κόσμε. '.repeat(20_000));
  const bare = { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } };

  test.each<[string, (bytes: Buffer) => Buffer]>([
    ['gzip', gzipSync],
    ['x-gzip', gzipSync],
    ['GZip', gzipSync],
    ['deflate', deflateSync],
    ['deflate', deflateRawSync],
    ['br', (bytes) => brotliCompressSync(bytes, bare)],
    ['identity', (bytes) => bytes],
    ['gzip, identity', gzipSync],
    ['deflate, gzip', (bytes) => gzipSync(deflateSync(bytes))],
    ['gzip, br, deflate', (bytes) => deflateSync(brotliCompressSync(gzipSync(bytes), bare))],
  ])('in %s is decoded', async (coding, compress) => {
    expect((await decoded(compress(plain), coding)).equals(plain)).toBe(true);
  });

  test('loses the headers of its coding, so that an integration may pass it on', async () => {
    const bytes = gzipSync('x');
    const base = await serve((_request, response) =>
      response.writeHead(200, { 'content-encoding': 'gzip', 'content-length': bytes.byteLength }).end(bytes),
    );
    const { headers, body } = await send(newEgress(), base);
    const names = headers.map(([name]) => name);
    expect(names.filter((name) => name.startsWith('content-'))).toEqual([]);
    expect(await text(body)).toBe('x');
  });

  test('in an unknown coding is passed on as received', async () => {
    expect(String(await decoded(Buffer.from('as it is'), 'x-rot13'))).toBe('as it is');
    const half = gzipSync('x');
    expect((await decoded(half, 'gzip, x-rot13')).equals(half)).toBe(true);
  });

  test('that is empty is empty', async () => {
    for (const coding of ['gzip', 'deflate', 'br'])
      expect((await decoded(Buffer.alloc(0), coding)).byteLength).toBe(0);
  });

  test('whose last bytes are missing is read as far as it goes', async () => {
    const bytes = gzipSync(plain);
    expect((await decoded(bytes.subarray(0, -8), 'gzip')).equals(plain)).toBe(true);
  });

  test.each(['gzip', 'deflate', 'br'])('that is none, in %s, is an error', async (coding) => {
    const error = await failure(decoded(Buffer.from('\x99 this is not compressed at all'), coding));
    expect(error).toBeInstanceOf(EgressError);
    expect(error.message).toBe('The body of the answer could not be decompressed.');
  });

  test('in more than three codings is an error', async () => {
    const error = await failure(decoded(Buffer.from('x'), 'gzip, gzip, gzip, gzip'));
    expect(error.message).toBe('The answer has too many layers of compression.');
  });
});

describe('a decompression bomb', () => {
  const zeros = Buffer.alloc(100 * MIB);
  const bombs: [string, string, Buffer][] = [
    ['a hundred kilobytes for a hundred megabytes', 'gzip', gzipSync(zeros)],
    ['the same in deflate', 'deflate', deflateSync(zeros)],
    ['the same without its frame', 'deflate', deflateRawSync(zeros)],
    ['a hundred bytes for a hundred megabytes', 'br', brotliCompressSync(zeros)],
    ['one inside the other', 'gzip, gzip', gzipSync(gzipSync(zeros))],
    // Large between the codings, empty at the end: the bytes between stages count, too.
    [
      'one that expands to nothing',
      'gzip, deflate',
      deflateSync(Buffer.concat(Array(500_000).fill(gzipSync('')))),
    ],
  ];

  test.each(bombs)('ends at the limit: %s', async (_what, coding, bomb) => {
    const error = await failure(
      decoded(bomb, coding, newEgress({ limits: { fetchResponseBodyBytes: MIB } })),
    );
    expect(error).toBeInstanceOf(EgressError);
    expect(error.message).toBe(
      'The body of the answer is too large; the limit is 1 MiB (fetchResponseBodyBytes).',
    );
  });

  test.each(bombs.slice(0, 3))('stays compressed until it is read: %s', async (_what, coding, bomb) => {
    const base = await serve((_request, response) =>
      response.writeHead(200, { 'content-encoding': coding }).end(bomb),
    );
    const egress = newEgress({ limits: { fetchResponseBodyBytes: 500 * MIB } });
    const before = heldBufferBytes();
    const bodies = await Promise.all(Array.from({ length: 20 }, async () => (await send(egress, base)).body));
    await Promise.all(bodies.map((body) => new Promise((resolve) => body.once('readable', resolve))));
    // In the time that it takes to expand it elsewhere, an unmetered decoder would have done so.
    const elsewhere = coding === 'gzip' ? createGunzip() : createInflate();
    elsewhere.end(coding === 'gzip' ? bomb : deflateSync(zeros));
    for await (const _ of elsewhere);
    expect(heldBufferBytes() - before).toBeLessThan(40 * MIB);
    const [first] = bodies;
    expect((await buffer(first ?? Readable.from([]))).byteLength).toBe(zeros.byteLength);
    for (const body of bodies) body.destroy();
  });

  // Attack: 53 bytes make a decoder allocate 16 MiB before a read; a thousand of them exhaust the
  // memory of the host.
  test('in Brotli has few decoders at once, which are released', async () => {
    const bomb = brotliCompressSync(zeros.subarray(0, MIB));
    const base = await serve((_request, response) =>
      response.writeHead(200, { 'content-encoding': 'br' }).end(bomb),
    );
    const egress = newEgress();
    const answers = await Promise.allSettled(
      Array.from({ length: 20 }, (_, at) => send(egress, base, { owner: `installation ${at}` })),
    );
    const bodies = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value.body] : []));
    expect(bodies).toHaveLength(16);
    expect(
      answers.flatMap((answer) => (answer.status === 'rejected' ? [answer.reason.message] : [])),
    ).toEqual(Array(4).fill('Too many answers in Brotli are being read; ask for gzip instead.'));
    for (const body of bodies) body.destroy();
    const received = async () => (await buffer((await send(egress, base)).body)).byteLength;
    await expect.poll(received).toBe(MIB);
  });

  // Attack: the body never ends, and its decoder is held for as long as a fetch may take.
  test('that drips in Brotli takes the decoders of its installation and organization alone', async () => {
    const whole = brotliCompressSync(zeros.subarray(0, MIB));
    const base = await serve(({ url = '/' }, response) => {
      response.writeHead(200, { 'content-encoding': url.slice(1).replaceAll('-', ', ') });
      if (url === '/br') response.end(whole);
      else response.write(whole.subarray(0, 1));
    });
    const egress = newEgress();
    const dripping = async (owner: string, organization: string, codings = 'gzip-br') => {
      const settled = await Promise.allSettled(
        Array.from({ length: 6 }, () => send(egress, `${base}/${codings}`, { owner, organization })),
      );
      return settled.filter(({ status }) => status === 'fulfilled').length;
    };
    expect(await dripping('one', 'acme', 'br-br-br')).toBe(0);
    expect(await dripping('one', 'acme')).toBe(4);
    expect(await dripping('two', 'acme')).toBe(4);
    expect(await dripping('three', 'acme')).toBe(0);
    const { body } = await send(egress, `${base}/br`, { owner: 'four', organization: 'other' });
    expect((await buffer(body)).byteLength).toBe(MIB);
  });

  test('that comes slowly in Brotli gives its decoder to the next answer, where all are in use', () => {
    let now = 0;
    const decoding = new Decoding(() => now);
    const opened = (at: number) => {
      const [stage] = decoding.stages(['br'], { owner: `installation ${at}`, organization: `of ${at}` });
      return stage as Duplex;
    };
    const stages = Array.from({ length: 16 }, (_, at) => opened(at));
    onTestFinished(() => void stages.map((stage) => stage.destroy()));
    const errors: string[] = [];
    for (const stage of stages) stage.on('error', ({ message }) => errors.push(message));
    now = 900;
    expect(() => opened(16)).toThrow('Too many answers in Brotli are being read');
    now = 2_000;
    stages.push(opened(16));
    expect(stages.map(({ destroyed }) => destroyed).filter(Boolean)).toHaveLength(1);
    return expect.poll(() => errors).toEqual([expect.stringContaining('came so slowly')]);
  });
});
