/**
 * Small Web Crypto jobs, which run on the cell's main thread: the same answers as Node's, in
 * batches.
 */
import { webcrypto } from 'node:crypto';
import { expect, test } from 'vitest';
import { CellCall } from '../../../src/cell/calls/cell-call.ts';
import type { Answers } from '../../../src/cell/crypto/crypto-jobs.ts';
import { CryptoJobs, CryptoThreads } from '../../../src/cell/crypto/crypto-jobs.ts';
import { MainThread } from '../../../src/cell/isolates/main-thread.ts';

const { subtle } = webcrypto;
const HASHES = ['SHA-1', 'SHA-256', 'SHA-384', 'SHA-512'];
/** Both sides of the bound on small data, and of the block of a hash. */
const SIZES = [0, 1, 63, 64, 65, 127, 128, 129, 4_096, 4_097];
const KEY_SIZES = [1, 32, 64, 65, 128, 129, 1_024, 1_025];

const bytesOf = (length: number, seed: number) =>
  Uint8Array.from({ length }, (_, i) => (i * 31 + seed) & 0xff);
const call = (cpuMs = 10_000) => new CellCall({ id: 1, cpuMs, wallMs: 10_000 });

/** A job as the prelude writes it: its members, and the pieces that they refer to by number. */
interface RequestedJob {
  readonly members: object;
  readonly pieces: readonly Uint8Array[];
}

interface JobAnswer {
  readonly answer: { valid?: boolean; error?: string };
  readonly hex: string | undefined;
}

/**
 * Requests jobs in one turn. @returns their answers in the order in which they entered, and the
 * number of entries
 */
async function runJobs(jobs: readonly RequestedJob[]): Promise<{ answers: JobAnswer[]; entries: number }> {
  const answers: JobAnswer[] = [];
  let entries = 0;
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const crypto = new CryptoJobs(new CryptoThreads(), new MainThread().open(), {
    done: (_call, values) => {
      entries += 1;
      for (let at = 0; at < values.length; at += 3) answers.push(read(values, at));
      if (answers.length === jobs.length) resolve();
    },
    overdrawn: () => reject(new Error('overdrawn')),
  });
  const of = call();
  jobs.forEach(({ members, pieces }, i) => {
    const text = JSON.stringify({ ...members, pieces: pieces.map(({ byteLength }) => byteLength) });
    crypto.submit(of, i + 1, text, new Uint8Array(Buffer.concat(pieces)).buffer);
  });
  await promise;
  return { answers, entries };
}

const read = (values: Answers, at: number): JobAnswer => ({
  answer: JSON.parse(values[at + 1] as string) as JobAnswer['answer'],
  hex: values[at + 2] === undefined ? undefined : Buffer.from(values[at + 2] as Uint8Array).toString('hex'),
});

const digest = (name: string, data: Uint8Array): RequestedJob => ({
  members: { operation: 'digest', algorithm: { name }, data: 0 },
  pieces: [data],
});

const hmac = (
  operation: 'sign' | 'verify',
  hash: string,
  key: Uint8Array,
  more: readonly Uint8Array[],
  algorithm: object = {},
): RequestedJob => ({
  members: {
    operation,
    algorithm: { name: 'HMAC' },
    key: {
      id: 1,
      type: 'secret',
      algorithm: { name: 'HMAC', hash, ...algorithm },
      usages: ['sign', 'verify'],
      material: 0,
    },
    data: 1,
    ...(operation === 'verify' && { signature: 2 }),
  },
  pieces: [key, ...more],
});

const hex = (bytes: ArrayBuffer) => Buffer.from(bytes).toString('hex');

async function signed(
  hash: string,
  key: Uint8Array<ArrayBuffer>,
  data: Uint8Array<ArrayBuffer>,
): Promise<string> {
  const imported = await subtle.importKey('raw', key, { name: 'HMAC', hash }, false, ['sign']);
  return hex(await subtle.sign('HMAC', imported, data));
}

test.each(HASHES)('digests and signatures by %s are those of Node, small or not', async (hash) => {
  const digests = await runJobs(SIZES.map((size) => digest(hash, bytesOf(size, 1))));
  expect(digests.answers.map((answered) => answered.hex)).toEqual(
    await Promise.all(SIZES.map(async (size) => hex(await subtle.digest(hash, bytesOf(size, 1))))),
  );
  const pairs = KEY_SIZES.flatMap((keySize) => [0, 200, 4_096].map((size) => [keySize, size] as const));
  const signatures = await runJobs(
    pairs.map(([keySize, size]) => hmac('sign', hash, bytesOf(keySize, 2), [bytesOf(size, 3)])),
  );
  const expected = await Promise.all(
    pairs.map(([keySize, size]) => signed(hash, bytesOf(keySize, 2), bytesOf(size, 3))),
  );
  expect(signatures.answers.map((answered) => answered.hex)).toEqual(expected);
});

test('the whole signature is valid, and no other one', async () => {
  const key = bytesOf(32, 2);
  const data = bytesOf(100, 3);
  const right = Buffer.from(await signed('SHA-256', key, data), 'hex');
  const wrong = Buffer.from(right);
  wrong[31] = (wrong[31] ?? 0) ^ 1;
  const { answers } = await runJobs(
    [right, wrong, right.subarray(1), Buffer.alloc(0), Buffer.concat([right, right])].map((signature) =>
      hmac('verify', 'SHA-256', key, [data, signature]),
    ),
  );
  expect(answers.map(({ answer }) => answer.valid)).toEqual([true, false, false, false, false]);
});

test('unusual small jobs are refused as by Node', async () => {
  const key = bytesOf(4, 2);
  const data = bytesOf(4, 3);
  const { answers } = await runJobs([
    hmac('sign', 'SHA-256', bytesOf(0, 0), [data]),
    hmac('sign', 'MD5', key, [data]),
    digest('MD5', data),
    { members: { operation: 'digest', algorithm: { name: 'HMAC' }, data: 0 }, pieces: [data] },
    { ...hmac('sign', 'SHA-256', key, [data]), pieces: [key] },
    hmac('verify', 'SHA-256', key, [data]),
  ]);
  expect(answers.map(({ answer }) => answer.error)).toEqual([
    'DataError',
    'OperationError',
    'OperationError',
    expect.stringMatching(/^(NotSupported|Operation)Error$/),
    'OperationError',
    'OperationError',
  ]);
});

test('answers to small jobs of a turn enter together, and a larger job keeps its place among them', async () => {
  const data = bytesOf(100, 3);
  const small = Array.from({ length: 16 }, () => digest('SHA-256', data));
  expect((await runJobs(small)).entries).toBe(1);
  const mixed = await runJobs([
    digest('SHA-1', data),
    digest('SHA-1', bytesOf(100_000, 1)),
    digest('SHA-512', data),
  ]);
  expect(mixed.answers.map((answered) => answered.hex?.length)).toEqual([40, 40, 128]);
});

test('attack: a flood of small jobs is charged to its call, bounded in each turn, and ends the call', async () => {
  const request = JSON.stringify({
    operation: 'digest',
    algorithm: { name: 'SHA-512' },
    data: 0,
    pieces: [4_096],
  });
  const { promise, resolve } = Promise.withResolvers<void>();
  let answers = 0;
  const crypto = new CryptoJobs(new CryptoThreads(), new MainThread().open(), {
    done: (_call, values) => {
      answers = Math.max(answers, values.length / 3);
    },
    overdrawn: () => resolve(),
  });
  const of = call(5);
  const flood = setInterval(() => {
    for (let i = 0; i < 1_000; i++) crypto.submit(of, i, request, new ArrayBuffer(4_096));
  });
  await promise;
  clearInterval(flood);
  crypto.close();
  expect(of.cpuLeftNs).toBeLessThan(0);
  expect(answers).toBeLessThanOrEqual(32);
});
