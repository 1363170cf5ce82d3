/**
 * Random input of a taken-over cell or isolate: the host accepts well-formed messages, and nothing
 * else.
 */
import assert from 'node:assert/strict';
import { validateHeaderName, validateHeaderValue } from 'node:http';
import { expect, test } from 'vitest';
import { readAnswer, readExports, readFetch, readStream } from '../../../src/cell/calls/emission-check.ts';
import { CryptoError } from '../../../src/cell/crypto/crypto-errors.ts';
import { CryptoRequest, keyLength } from '../../../src/cell/crypto/crypto-request.ts';
import { DEFAULT_LIMITS } from '../../../src/limits.ts';
import type { Emission } from '../../../src/protocol/bridge.ts';
import { type FrameBounds, FrameReader } from '../../../src/protocol/frames.ts';
import { parseCellMessage } from '../../../src/protocol/parse-cell-message.ts';
import {
  type CellMessage,
  OUTCOMES,
  STREAM_CHUNK_BYTES_MAX,
  WIRE_BOUNDS,
} from '../../../src/protocol/wire.ts';
import { CELL_MESSAGES, frame } from '../../support/cells/cell-messages.ts';
import { type Chance, fuzz, INPUTS_IN_ALL } from '../../support/fuzz/fuzz.ts';
import { hostileValue, mutateBytes, mutateJson } from '../../support/fuzz/mutations.ts';

test('the fuzzer tries a hundred thousand inputs', () => {
  expect(INPUTS_IN_ALL).toBeGreaterThanOrEqual(100_000);
});

interface Cut {
  /** Head and body of each frame, as text. */
  readonly frames: string[];
  readonly broken: boolean;
}

const shown = (head: unknown, body: Buffer): string => `${JSON.stringify(head)} ${body.toString('hex')}`;

/** The contract of `FrameReader`, implemented without regard to how bytes arrive. */
function cutWhole(bytes: Buffer, bounds: FrameBounds): Cut {
  const frames: string[] = [];
  for (let at = 0; ; ) {
    if (bytes.length < at + 8) return { frames, broken: false };
    const headBytes = bytes.readUInt32LE(at);
    const bodyBytes = bytes.readUInt32LE(at + 4);
    if (headBytes > bounds.headBytes || bodyBytes > bounds.bodyBytes) return { frames, broken: true };
    const bodyAt = at + 8 + headBytes;
    if (bytes.length < bodyAt + bodyBytes) return { frames, broken: false };
    try {
      frames.push(
        shown(JSON.parse(bytes.toString('utf8', at + 8, bodyAt)), bytes.subarray(bodyAt, bodyAt + bodyBytes)),
      );
    } catch {
      return { frames, broken: true };
    }
    at = bodyAt + bodyBytes;
  }
}

/**
 * Through the reader, in pieces; it goes on getting bytes after it has refused one, as from a full
 * pipe.
 */
function cutInPieces(bytes: Buffer, bounds: FrameBounds, random: Chance): Cut {
  const frames: string[] = [];
  const reader = new FrameReader(bounds, (head, body) => frames.push(shown(head, body)));
  let broken = false;
  const pieceMax = random.pick([1, 2, 9, 100, 10_000]);
  for (let at = 0; at < bytes.length; ) {
    const piece = bytes.subarray(at, at + 1 + random.below(pieceMax));
    const taken = reader.push(piece);
    assert(!(broken && taken), 'a stream without frame boundaries was taken up again');
    broken = !taken;
    at += piece.length;
  }
  return { frames, broken };
}

test('a stream of bytes is cut into the same frames, or refused at the same one, however it arrives', async () => {
  const corpus = CELL_MESSAGES.map((head) => frame(head, Buffer.from('body')));
  const streams = [...corpus, Buffer.concat(corpus), Buffer.concat([...corpus].reverse())];
  const bounds = { headBytes: 512, bodyBytes: 1_024 };
  await fuzz('frames', {
    make: (random) => mutateBytes(random, streams, ['{"t":"ready"}', '\x02\0\0\0\0\0\0\0{}']),
    check: (bytes, random) => {
      assert.deepEqual(cutInPieces(bytes, bounds, random), cutWhole(bytes, bounds));
    },
  });
});

/** Members of each message, including `end` and `exports`. */
const MEMBERS: Record<CellMessage['t'] | 'end of a call' | 'exports', readonly string[]> = {
  ready: ['t'],
  need: ['t', 'script'],
  begun: ['t', 'id'],
  stuck: ['t', 'owner'],
  log: ['t', 'id', 'level'],
  response: ['t', 'id', 'status', 'headers', 'more', 'end'],
  chunk: ['t', 'id', 'stream'],
  close: ['t', 'id', 'stream', 'error'],
  credit: ['t', 'id', 'stream', 'chunks'],
  drop: ['t', 'id', 'stream'],
  fetch: ['t', 'id', 'stream', 'method', 'url', 'redirect', 'headers', 'body'],
  store: ['t', 'id', 'operation', 'request'],
  end: ['t', 'id', 'end'],
  probed: ['t', 'id', 'end', 'exports'],
  pulse: ['t', 'isolates', 'stuck', 'heapMib'],
  'end of a call': ['outcome', 'cpuMs', 'detail', 'limit', 'met'],
  exports: ['fetch', 'sdk', 'components', 'events'],
};

function assertMembers(value: object, known: readonly string[]): void {
  assert.equal(Object.getPrototypeOf(value), Object.prototype);
  for (const key of Reflect.ownKeys(value))
    assert(known.includes(String(key)), `has a member ${String(key)}`);
}

function assertHeaders(headers: readonly (readonly [string, string])[]): void {
  assert(headers.length <= WIRE_BOUNDS.headers);
  for (const [name, value] of headers) {
    // Headers that Node refuses would throw where the answer is written.
    validateHeaderName(name);
    validateHeaderValue(name, value);
  }
  assert(headers.flat().join('').length <= WIRE_BOUNDS.headerBytes);
}

/** All that the host relies on in an accepted message. */
function assertWithinBounds(message: CellMessage): void {
  assertMembers(message, MEMBERS[message.t]);
  for (const value of Object.values(message)) {
    if (typeof value === 'number') assert(Number.isSafeInteger(value) && value >= 0);
    if (typeof value === 'string') assert(value.length <= WIRE_BOUNDS.urlChars);
  }
  if ('headers' in message) assertHeaders(message.headers);
  if ('stream' in message) assert(message.stream < WIRE_BOUNDS.streams);
  if (message.t === 'response') assert(message.status >= 200 && message.status <= 599);
  if (message.t === 'fetch') assert(message.stream > 0);
  if ('end' in message) {
    assertMembers(message.end, MEMBERS['end of a call']);
    const { outcome, cpuMs, detail = '' } = message.end;
    assert(OUTCOMES.includes(outcome) && outcome !== 'loadShed' && outcome !== 'cellCrashed');
    const { limit, met = [] } = message.end;
    if (limit) assertMembers(limit, ['name', 'used']);
    for (const name of [...met, ...(limit ? [limit.name] : [])]) assert(name in DEFAULT_LIMITS);
    assert((limit?.used ?? 0) <= WIRE_BOUNDS.used && met.length === new Set(met).size);
    assert(cpuMs >= 0 && cpuMs <= WIRE_BOUNDS.cpuMs && detail.length <= WIRE_BOUNDS.detailChars);
  }
  if (message.t === 'probed' && message.exports) {
    assertMembers(message.exports, MEMBERS.exports);
    const { components, events } = message.exports;
    assert(components.length <= WIRE_BOUNDS.names && events.length <= WIRE_BOUNDS.names);
    for (const name of [...components, ...events])
      assert(name !== '' && name.length <= WIRE_BOUNDS.nameChars);
  }
}

const ownNames = Reflect.ownKeys(Object.prototype).length;
function assertUnpolluted(): void {
  assert.equal(Reflect.ownKeys(Object.prototype).length, ownNames, 'Object.prototype has a new member');
  assert.equal(({} as { polluted?: unknown }).polluted, undefined);
}

test('a message of a cell is refused, or has known members within their bounds, and no prototype of its own', async () => {
  let taken = 0;
  await fuzz('cellMessages', {
    make: (random) => JSON.stringify(mutateJson(random, CELL_MESSAGES)),
    check: (text) => {
      const message = parseCellMessage(JSON.parse(text));
      assertUnpolluted();
      if (message === undefined) return;
      taken += 1;
      assertWithinBounds(message);
      const again = parseCellMessage(JSON.parse(JSON.stringify(message)));
      assert.equal(JSON.stringify(again), JSON.stringify(message));
    },
  });
  // Inputs that are all refused would test only the first check.
  expect(taken).toBeGreaterThan(0);
});

const HEADERS = 'content-type\ntext/plain\nx-a\nb';
const ANSWERS = [
  ['respond', 1, 200, HEADERS, 'body', true, false, false, 0],
  ['respond', 1, 200, HEADERS, 'body', true, false, false, 0, 'Gone\tfor good'],
];
const FETCHES = [['fetch', 1, 1, 'POST', 'https://api.example/', 'follow', HEADERS, 'body', false, false]];
const LOADED = [['loaded', 1, true, true, 'counter\nother', 'page_view']];
const STREAMS = [
  ['chunk', 1, 0, 'bytes'],
  ['close', 1, 0, 'why'],
  ['credit', 1, 0, 4],
  ['drop', 1, 0],
];

/** Replaces some arguments of an emission with any value that isolated-vm can pass, and others. */
function mutateArguments(random: Chance, corpus: readonly (readonly unknown[])[]): unknown[] {
  const values = [...random.pick(corpus)];
  const from = typeof values[0] === 'string' && values.length > 2 && values[1] === 1 ? 2 : 0;
  for (let left = 1 + random.below(3); left > 0; left -= 1) {
    const at = from + random.below(values.length - from);
    const text = values[at];
    values[at] =
      typeof text === 'string' && random.once(2) ? mutateJson(random, [text]) : hostileValue(random, true);
    if (random.once(8)) values[at] = `${HEADERS}\n`.repeat(random.pick([1, 128, 129, 2_000])).slice(0, -1);
  }
  return values;
}

test('an emission of an isolate is refused, or becomes a message that the host accepts', async () => {
  const wire = (message: object) => parseCellMessage(JSON.parse(JSON.stringify(message)));
  await fuzz('emissions', {
    make: (random) => ({
      kind: random.pick(['answer', 'fetch', 'stream', 'loaded']),
      answer: mutateArguments(random, ANSWERS),
      fetch: mutateArguments(random, FETCHES),
      stream: mutateArguments(random, STREAMS),
      loaded: mutateArguments(random, LOADED),
    }),
    check: ({ kind, answer, fetch, stream, loaded }) => {
      if (kind === 'answer') {
        const read = readAnswer(answer as Extract<Emission, ['respond', ...unknown[]]>);
        const { body: _body, more: _more, ...head } = read ?? {};
        if (read) assert(wire({ t: 'response', id: 1, ...head }));
      } else if (kind === 'fetch') {
        const read = readFetch(1, fetch as Extract<Emission, ['fetch', ...unknown[]]>);
        if (read) assert(wire(read.message) && Buffer.isBuffer(read.bytes));
      } else if (kind === 'stream') {
        const read = readStream(1, stream as Extract<Emission, ['chunk', ...unknown[]]>);
        if (read) assert(wire(read.message) && read.bytes.byteLength <= STREAM_CHUNK_BYTES_MAX);
      } else {
        const exports = readExports(loaded as Extract<Emission, ['loaded', ...unknown[]]>);
        assert(wire({ t: 'probed', id: 1, end: { outcome: 'ok', cpuMs: 0 }, exports }));
      }
    },
  });
});

const KEY = {
  ...{ id: 1, type: 'secret', algorithm: { name: 'AES-GCM', length: 128 }, usages: ['encrypt'], material: 0 },
};
const CRYPTO_REQUESTS = [
  { operation: 'digest', algorithm: { name: 'SHA-256' }, data: 1, pieces: [2, 2] },
  {
    operation: 'encrypt',
    algorithm: { name: 'AES-GCM', iv: 0, tagLength: 128 },
    key: KEY,
    data: 1,
    pieces: [1, 3],
  },
  { operation: 'deriveBits', algorithm: { name: 'ECDH', public: KEY }, key: KEY, length: null, pieces: [4] },
  {
    ...{ operation: 'importKey', format: 'jwk', extractable: true, usages: ['sign'], pieces: [] },
    ...{
      jwk: { kty: 'oct', k: 'AQ', key_ops: ['sign'], ext: true },
      algorithm: { name: 'HMAC', hash: 'SHA-1' },
    },
  },
];
/** Each parses a part of a request, or throws a CryptoError. */
const READERS: readonly ((request: CryptoRequest) => unknown)[] = [
  (request) => request.bytes('data'),
  (request) => request.format,
  (request) => request.length,
  (request) => request.usages,
  (request) => request.jwk,
  (request) => request.key('key'),
  (request) => request.algorithm('algorithm'),
  (request) => keyLength(request.algorithm('algorithm').algorithm),
];

test('a job for Web Crypto is refused, or parsed into new values', async () => {
  const reading = (read: () => unknown): unknown => {
    try {
      return read();
    } catch (error) {
      if (!(error instanceof CryptoError)) throw error;
      return undefined;
    }
  };
  let read = 0;
  await fuzz('cryptoRequests', {
    make: (random) => ({
      json: random.once(50)
        ? hostileValue(random, true)
        : JSON.stringify(mutateJson(random, CRYPTO_REQUESTS)),
      bytes: random.once(50) ? hostileValue(random, true) : new ArrayBuffer(4),
    }),
    check: ({ json, bytes }) => {
      const request = reading(() => new CryptoRequest(json, bytes)) as CryptoRequest | undefined;
      if (request === undefined) return;
      read += 1;
      for (const reader of READERS) {
        const value = reading(() => reader(request));
        if (value instanceof Uint8Array) assert(value.byteLength <= 4);
      }
      assertUnpolluted();
    },
  });
  expect(read).toBeGreaterThan(0);
});
