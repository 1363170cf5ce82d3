/**
 * Large bodies on their way out of a cell: in pieces, with credit from the host, and without
 * delaying other calls.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Duplex } from 'node:stream';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Outbox } from '../../../src/cell/calls/outbox.ts';
import { IncomingBodies, IncomingBody } from '../../../src/host/calls/incoming-body.ts';
import { FrameReader } from '../../../src/protocol/frames.ts';
import { TestService } from '../../support/service.ts';

const MIB = 1024 * 1024;
const PIECE = Buffer.alloc(64 * 1024);

/** A pipe that takes nothing until the test lets it, and records the frames written to it. */
function slowPipe() {
  const frames: { t: string; id?: number }[] = [];
  const reader = new FrameReader({ headBytes: MIB, bodyBytes: MIB }, (head) =>
    frames.push(head as { t: string }),
  );
  let taken: (() => void) | undefined;
  let open = false;
  const pipe = new Duplex({
    read: () => undefined,
    write: (chunk: Buffer, _encoding, done) => {
      reader.push(chunk);
      if (open) done();
      else taken = done;
    },
  });
  return {
    pipe,
    frames,
    open: async () => {
      open = true;
      taken?.();
      for (let turn = 0; turn < 200; turn++) await new Promise((next) => setImmediate(next));
    },
  };
}

describe('a message of a cell', () => {
  test('does not wait behind pieces of bodies, of which few are in the pipe at once', async () => {
    const { pipe, frames, open } = slowPipe();
    const outbox = new Outbox(pipe);
    for (let piece = 0; piece < 100; piece++)
      outbox.send({ t: 'chunk', id: 1 + (piece % 2), stream: 0 }, PIECE);
    outbox.send({ t: 'end', id: 1, end: { outcome: 'ok', cpuMs: 1 } });
    outbox.send({ t: 'pulse', isolates: 1, stuck: 0, heapMib: 1 });
    outbox.send({ t: 'response', id: 3, status: 200, headers: [] }, Buffer.from('small'));
    expect(outbox.flush()).toBe(false);
    expect(pipe.writableLength).toBeLessThan(512 * 1024);
    await open();
    const order = frames.map(({ t }) => t);
    expect(order.indexOf('pulse')).toBeLessThan(10);
    expect(order.indexOf('response')).toBeLessThan(10);
    expect(order.filter((t) => t === 'chunk')).toHaveLength(100);
    // The end of a call is sent after its own pieces, and does not wait for those of the other
    // call.
    const ofOne = frames.filter(({ id }) => id === 1).map(({ t }) => t);
    expect(ofOne.indexOf('end')).toBe(50);
    expect(outbox.flush()).toBe(true);
  });

  test('that is a piece takes turns with pieces of other calls', async () => {
    const { pipe, frames, open } = slowPipe();
    const outbox = new Outbox(pipe);
    for (const id of [1, 2, 3])
      for (let piece = 0; piece < 30; piece++) outbox.send({ t: 'chunk', id, stream: 0 }, PIECE);
    await open();
    const late = frames.slice(20, 50).map(({ id }) => id);
    for (const id of [2, 3]) expect(late.filter((one) => one === id).length).toBeGreaterThan(8);
  });
});

describe('bodies that the host collects', () => {
  /** A sender that always uses all its credit. */
  function sender(collecting: IncomingBodies, owner: string, bytesMax = 64 * MIB) {
    const state = { credit: 2, done: 0 };
    const body = new IncomingBody(bytesMax, collecting, owner, {
      credit: (chunks) => (state.credit += chunks),
      done: ({ byteLength }) => (state.done = byteLength),
    });
    const send = () => {
      while (state.credit > 0) {
        state.credit -= 1;
        expect(body.receive(PIECE)).toBe(true);
        if (collecting.bytes > 512 * MIB) throw new Error('There is no bound.');
        if (state.done === -1) return;
      }
    };
    return { body, state, send };
  }

  test('get credit for pieces that were taken, and no more', () => {
    const { body, state } = sender(new IncomingBodies(), 'a');
    expect(state.credit).toBe(8);
    for (let piece = 0; piece < 8; piece++) expect(body.receive(PIECE)).toBe(true);
    expect(state.credit).toBe(16);
    for (let piece = 0; piece < 8; piece++) expect(body.receive(PIECE)).toBe(true);
    expect(body.close()).toBe(true);
    expect(state.done).toBe(16 * PIECE.byteLength);
    expect([body.receive(PIECE), body.close(), body.breakOff()]).toEqual([false, false, false]);
  });

  test('end a cell that sends more than its credit, or more than the limit of a body', () => {
    const silent = new IncomingBody(MIB, new IncomingBodies(), 'a', {
      credit: () => undefined,
      done: () => undefined,
    });
    const accepted = Array.from({ length: 20 }, () => silent.receive(PIECE));
    expect(accepted.slice(0, 16)).toEqual(Array(16).fill(true));
    expect(accepted[16]).toBe(false);
    expect(silent.receive(Buffer.alloc(0))).toBe(false);
    expect(silent.receive(Buffer.alloc(64 * 1024 + 1))).toBe(false);
  });

  test('wait beyond the bound of their installation, except the first, and delay no other installation', () => {
    const collecting = new IncomingBodies();
    const greedy = Array.from({ length: 40 }, () => sender(collecting, 'greedy'));
    for (const { state } of greedy) expect(state.credit).toBe(8);
    // The first alone gets further credit.
    const [first, ...others] = greedy;
    for (const { send } of others) send();
    const held = collecting.bytes;
    expect(held).toBeLessThan(16 * MIB + 40 * 8 * PIECE.byteLength);
    const other = sender(collecting, 'other');
    other.body.receive(PIECE);
    other.body.receive(PIECE);
    other.body.receive(PIECE);
    other.body.receive(PIECE);
    expect(other.state.credit).toBe(12);
    for (let piece = 0; piece < 100; piece++) if (first?.state.credit) first.body.receive(PIECE);
    expect(first?.state.credit).toBeGreaterThan(0);
    // The others continue when it has ended.
    const waiting = others.filter(({ state }) => state.credit === 0);
    expect(waiting.length).toBeGreaterThan(0);
    for (const one of greedy) if (!waiting.includes(one as never)) one.body.close();
    expect(waiting[0]?.state.credit).toBeGreaterThan(0);
    for (const { body } of waiting) body.drop();
    other.body.breakOff();
    expect(collecting.bytes).toBe(0);
  });

  test('that are no longer wanted are released, and pieces in flight are no breach', () => {
    const collecting = new IncomingBodies();
    const { body, state } = sender(collecting, 'a');
    body.receive(PIECE);
    body.drop();
    expect(collecting.bytes).toBe(0);
    expect(body.receive(PIECE)).toBe(true);
    expect(body.close()).toBe(true);
    expect(state.done).toBe(0);
  });
});

describe('a service', () => {
  let annex: TestService;
  const received: { url: string; bytes: number }[] = [];
  const server = createServer((request, response) => {
    let bytes = 0;
    request.on('data', (chunk: Buffer) => (bytes += chunk.byteLength));
    request.on('end', () => {
      received.push({ url: request.url ?? '', bytes });
      if (request.url === '/first') response.writeHead(307, { location: '/second' }).end();
      else response.end(String(bytes));
    });
  });
  let origin = '';
  beforeAll(async () => {
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
    const { port } = server.address() as AddressInfo;
    origin = `http://127.0.0.1:${port}`;
    annex = await TestService.start({ flags: ['--egress-allow', `127.0.0.1:${port}`] });
  });
  afterAll(async () => {
    await annex.stop();
    server.close();
  });

  test('answers with large texts and bytes unchanged, and with their length', async () => {
    // A surrogate pair lies across the end of each piece of the text, wherever that is.
    const { endpoint } = await annex.deploy(
      'large',
      `const bytes = new Uint8Array(10 * 2 ** 20).map((_, i) => i % 251);
       const text = 'x' + '\\u{1f600}é'.repeat(400_000);
       let calls = 0;
       export default { fetch() { calls += 1; return new Response(calls === 2 ? text : bytes); } };`,
    );
    const bytes = await fetch(endpoint);
    expect(bytes.headers.get('content-length')).toBe(String(10 * MIB));
    const all = Buffer.from(await bytes.arrayBuffer());
    expect(all.equals(Buffer.from(Uint8Array.from({ length: 10 * MIB }, (_, i) => i % 251)))).toBe(true);
    const text = await (await fetch(endpoint)).text();
    expect(text === `x${'\u{1f600}é'.repeat(400_000)}`).toBe(true);
    const head = await fetch(endpoint, { method: 'HEAD' });
    expect(head.headers.get('content-length')).toBe(String(10 * MIB));
  });

  test('refuses a text that is too large in bytes, though not in characters', async () => {
    const { endpoint } = await annex.deploy(
      'too-large',
      `const text = 'é'.repeat(6 * 2 ** 20);
       export default { fetch: () => new Response(text) };`,
    );
    const response = await fetch(endpoint);
    expect(response.status).toBe(502);
    expect(await response.json()).toMatchObject({ error: { outcome: 'responseTooLarge' } });
  });

  test('keeps a call open for its waitUntil after a large answer', async () => {
    const installed = await annex.deploy(
      'later',
      `export default { fetch(request, env, ctx) {
        ctx.waitUntil(new Promise((done) => setTimeout(done, 20)).then(() => console.log('later')));
        return new Response(new Uint8Array(300_000)); } };`,
    );
    expect((await (await fetch(installed.endpoint)).arrayBuffer()).byteLength).toBe(300_000);
    await expect.poll(async () => (await annex.log(installed)).map(({ text }) => text)).toEqual(['later']);
  });

  test('sends large bodies of fetches with their length, and again after a redirect', async () => {
    const { endpoint } = await annex.deploy(
      'sends',
      `export default { async fetch() {
        const sent = [];
        for (const body of [new Uint8Array(3 * 2 ** 20), 'é'.repeat(2 ** 20)])
          sent.push(await (await fetch('${origin}/first', { method: 'POST', body })).text());
        const stop = new AbortController();
        const aborted = fetch('${origin}/aborted', { method: 'POST', body: new Uint8Array(5 * 2 ** 20), signal: stop.signal });
        stop.abort();
        sent.push(await aborted.catch((error) => error.name));
        return Response.json(sent); } };`,
    );
    expect(await (await fetch(endpoint)).json()).toEqual([String(3 * MIB), String(2 * MIB), 'AbortError']);
    expect(received.map(({ url }) => url)).toEqual(['/first', '/second', '/first', '/second']);
    expect(annex.cellPids).toHaveLength(1);
  });
});
