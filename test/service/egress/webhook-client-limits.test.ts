/** The limits of a post: met exactly, and exceeded. */
import { describe, expect, test } from 'vitest';
import { serveTcp } from '../../support/http/egress.ts';
import {
  answered,
  ManualClock,
  newWebhookClient,
  postTo,
  receive,
  receiveWith,
} from '../../support/receivers/scripted-receivers.ts';

/** Lets sockets read what has arrived. */
const aTurn = () => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));

/** Whether a promise is settled. */
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  let settled = false;
  void promise.then(() => (settled = true));
  await aTurn();
  return settled;
}

describe('webhookMs', () => {
  test.each([
    ['no head', '', { kind: 'failed', reason: 'timeout' }],
    ['a head alone', 'HTTP/1.1 500 X\r\ncontent-length: 2\r\n\r\n', { status: 500, truncated: true }],
  ])('is the time for all of a post, to the millisecond: %s', async (_what, bytes, expected) => {
    const clock = new ManualClock();
    const receiver = await receiveWith(bytes);
    const client = newWebhookClient({ clock, limits: { webhookMs: 700 } });
    const post = postTo(client, receiver.url);
    await expect.poll(() => receiver.requests).toHaveLength(1);
    clock.advance(699);
    expect(await isSettled(post)).toBe(false);
    // The head has arrived: it is sent before the request is counted.
    clock.advance(1);
    expect(await post).toMatchObject(expected);
  });

  test('is not reached by an answer just before', async () => {
    const clock = new ManualClock();
    let answer = () => {};
    const receiver = await receive((socket) => (answer = () => void socket.write(answered(200))));
    const client = newWebhookClient({ clock, limits: { webhookMs: 700 } });
    const post = postTo(client, receiver.url);
    await expect.poll(() => receiver.requests).toHaveLength(1);
    clock.advance(699);
    answer();
    expect(await post).toMatchObject({ status: 200, truncated: false });
    expect(clock.pending).toBe(0);
  });

  test('counts from the look-up of the name', async () => {
    const clock = new ManualClock();
    const client = newWebhookClient({
      clock,
      lookup: () => new Promise(() => undefined),
      limits: { webhookMs: 700 },
    });
    const post = postTo(client, 'https://slow.example/');
    clock.advance(699);
    expect(await isSettled(post)).toBe(false);
    clock.advance(1);
    expect(await post).toMatchObject({
      reason: 'timeout',
      detail: expect.stringContaining('700 ms (webhookMs)'),
    });
  });
});

test('webhookConnectMs is the time for look-up, TCP and TLS together', async () => {
  const clock = new ManualClock();
  const silent = await serveTcp(() => undefined);
  const { promise, resolve } = Promise.withResolvers<string[]>();
  const client = newWebhookClient({ clock, lookup: () => promise, limits: { webhookConnectMs: 500 } });
  const post = postTo(client, silent.replace('http://127.0.0.1', 'https://slow.example'));
  clock.advance(300);
  resolve(['127.0.0.1']);
  await expect.poll(() => client.connections).toBe(1);
  clock.advance(199);
  expect(await isSettled(post)).toBe(false);
  clock.advance(1);
  expect(await post).toMatchObject({
    reason: 'timeout',
    detail: expect.stringContaining('500 ms (webhookConnectMs)'),
  });
  expect(client.connections).toBe(0);
});

test('webhookConnectMs does not bound the answer of an open connection', async () => {
  const clock = new ManualClock();
  let answer = () => {};
  const receiver = await receive((socket) => (answer = () => void socket.write(answered(200))));
  const client = newWebhookClient({ clock, limits: { webhookConnectMs: 500 } });
  const post = postTo(client, receiver.url);
  await expect.poll(() => receiver.requests).toHaveLength(1);
  clock.advance(600);
  answer();
  expect(await post).toMatchObject({ status: 200 });
});

test.each([
  [3_000, true],
  [3_001, false],
])(
  'webhookResponseBytes: of an answer of %i bytes, the connection is used again: %s',
  async (bytes, isWhole) => {
    const receiver = await receiveWith(answered(200, 'x'.repeat(bytes)));
    const client = newWebhookClient({
      limits: { webhookResponseBytes: 3_000, webhookResponseKeptBytes: 4_000 },
    });
    const result = await postTo(client, receiver.url);
    expect(result).toMatchObject({ status: 200, response: 'x'.repeat(bytes), truncated: !isWhole });
    await aTurn();
    await postTo(client, receiver.url);
    expect(receiver.connections()).toBe(isWhole ? 1 : 2);
  },
);

describe('webhookResponseKeptBytes', () => {
  const limits = { webhookResponseKeptBytes: 10 };
  test.each<[what: string, body: string, kept: string]>([
    ['ten bytes are kept', '0123456789', '0123456789'],
    ['an eleventh is not', '0123456789a', '0123456789'],
    ['a character that would be cut is left out', '01234567€9', '01234567'],
  ])('%s, and the connection is used again', async (_what, body, kept) => {
    const receiver = await receiveWith(Buffer.from(answered(200, body)).toString('latin1'));
    const client = newWebhookClient({ limits });
    expect(await postTo(client, receiver.url)).toMatchObject({ response: kept, truncated: kept !== body });
    await aTurn();
    await postTo(client, receiver.url);
    expect(receiver.connections()).toBe(1);
  });

  test('replacement characters count with their own bytes', async () => {
    const bytes = `HTTP/1.1 200 X\r\ncontent-length: 5\r\n\r\n\0\xff\xffab`;
    const result = await postTo(newWebhookClient({ limits }), (await receiveWith(bytes)).url);
    expect(result).toMatchObject({ response: '\uFFFD\uFFFD\uFFFDa', truncated: true });
  });

  test('it holds over many chunks', async () => {
    const receiver = await receiveWith(
      `HTTP/1.1 200 X\r\ntransfer-encoding: chunked\r\n\r\n${'1\r\nx\r\n'.repeat(11)}0\r\n\r\n`,
    );
    const result = await postTo(newWebhookClient({ limits }), receiver.url);
    expect(result).toMatchObject({ response: 'x'.repeat(10), truncated: true });
  });
});

test('webhookConnections bounds the connections to all receivers; beyond, nothing is dialled', async () => {
  const receiver = await receive(() => undefined);
  const free = await receiveWith(answered(200));
  const client = newWebhookClient({ limits: { webhookConnections: 2 } });
  const held = ['one', 'two'].map((owner) => postTo(client, receiver.url, { owner }));
  await expect.poll(() => receiver.requests).toHaveLength(2);
  expect(await postTo(client, free.url, { owner: 'three' })).toEqual({
    kind: 'fault',
    detail: expect.stringContaining('the limit is 2 (webhookConnections)'),
  });
  expect([client.connections, free.connections()]).toEqual([2, 0]);
  await client.close();
  await Promise.all(held);
});

test('idle webhookConnections are closed for others', async () => {
  const receiver = await receiveWith(answered(200));
  const client = newWebhookClient({ limits: { webhookConnections: 2 } });
  for (const owner of ['one', 'two', 'three', 'four'])
    expect(await postTo(client, receiver.url, { owner })).toMatchObject({ status: 200 });
  expect(receiver.connections()).toBe(4);
});

test('deliveriesInFlightPerEndpoint also bounds the connections to one receiver', async () => {
  const waiting: (() => void)[] = [];
  const receiver = await receive((socket) => waiting.push(() => void socket.write(answered(200))));
  const client = newWebhookClient({ limits: { deliveriesInFlightPerEndpoint: 2 } });
  const posts = [1, 2, 3].map(() => postTo(client, receiver.url));
  await expect.poll(() => waiting).toHaveLength(2);
  for (const answer of waiting.splice(0)) answer();
  await expect.poll(() => waiting).toHaveLength(1);
  for (const answer of waiting.splice(0)) answer();
  expect(await Promise.all(posts)).toHaveLength(3);
  expect(receiver.connections()).toBe(2);
});

test('earlier bytes of a connection do not count for an answer', async () => {
  const receiver = await receiveWith(answered(200, 'x'.repeat(200)));
  const client = newWebhookClient({ limits: { fetchHeaderBytes: 100, webhookResponseBytes: 200 } });
  // Each answer has a tenth of the bytes that one may have in all.
  for (let nth = 0; nth < 30; nth += 1) {
    expect(await postTo(client, receiver.url)).toMatchObject({ status: 200, truncated: false });
    await aTurn();
  }
  expect(receiver.connections()).toBe(1);
});

// Attack: chunks of one byte, each of which costs the host a callback and an object.
test('an answer in more than a thousand chunks is truncated, and counts', async () => {
  const chunked = (chunks: number) =>
    `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${'1\r\nx\r\n'.repeat(chunks)}0\r\n\r\n`;
  const client = newWebhookClient({});
  const within = await receiveWith(chunked(1_024));
  expect(await postTo(client, within.url)).toMatchObject({
    status: 200,
    response: 'x'.repeat(1_024),
    truncated: false,
  });
  const beyond = await receiveWith(chunked(20_000));
  expect(await postTo(client, beyond.url)).toMatchObject({
    status: 200,
    response: 'x'.repeat(1_025),
    truncated: true,
  });
});
