/**
 * Tenants that attack through the web platform: its streams, its fetches, its log. Their cell,
 * which other installations share, survives each attack.
 */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { CallStreams } from '../../../src/host/calls/call-streams.ts';
import type { StreamMessage } from '../../../src/protocol/wire.ts';
import { type Installed, TestService } from '../../support/service.ts';

/** Runs the code that is posted to it, as the body of an async function of `(origin, envelope)`. */
const RUNNER = `
  const AsyncFunction = (async () => {}).constructor;
  const { parse, stringify } = JSON;
  export default { async fetch(envelope) {
    const form = await envelope.formData();
    const { request } = parse(form.get('event'));
    const code = await form.get('fetch-body').text();
    const value = await new AsyncFunction('origin', 'envelope', code)(request.headers['x-origin'], envelope);
    return value instanceof Response ? value : new Response(stringify(value));
  } };`;

/** A body without end, slow enough that its fetch ends first. */
const ENDLESS = `new ReadableStream({ pull(controller) { controller.enqueue(new Uint8Array(10)); } })`;

let annex: TestService;
let attacker: Installed;
let bystander: Installed;
let server: Server;
let origin: string;
let cells: number[];

beforeAll(async () => {
  // Other paths, such as `/hang`, read the request and never answer.
  server = createServer((request, response) => {
    request.resume();
    if (request.url === '/ok') request.once('end', () => response.end('ok'));
    if (request.url === '/large') response.end(Buffer.alloc(1_000_000));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  annex = await TestService.start({ flags: ['--egress-allow', '127.0.0.1/32'] });
  await annex.publish('runner', { 'index.js': RUNNER });
  bystander = await annex.install('runner');
});
afterAll(async () => {
  server.close();
  server.closeAllConnections();
  await annex.stop();
});

beforeEach(async () => {
  attacker = await annex.install('runner');
  cells = annex.cellPids;
});
/** The cell that the attacker shares with others has not died. */
afterEach(async () => {
  expect(await (await post(`return 'served';`, bystander)).json()).toBe('served');
  expect(annex.cellPids).toEqual(cells);
});

const post = (code: string, where = attacker, signal?: AbortSignal): Promise<Response> =>
  fetch(where.endpoint, {
    method: 'POST',
    body: code,
    headers: { 'x-origin': origin },
    ...(signal && { signal }),
  });
const run = async (code: string): Promise<unknown> => (await post(code)).json();

describe('a fetch that the cell refuses', () => {
  test.each([
    ['a URL without end', `origin + '/?' + 'a'.repeat(70_000)`, '{}'],
    ['headers without end', 'origin', `{ long: 'a'.repeat(40_000) }`],
    ['a name of a header without end', 'origin', `{ ['a'.repeat(300)]: 'b' }`],
    ['too many headers', 'origin', `Array.from({ length: 300 }, (_, i) => ['x-' + i, 'y'])`],
  ])('cancels its streamed body: %s', async (_what, url, headers) => {
    const answer = await run(`
      const given = Promise.withResolvers();
      const body = new ReadableStream({ pull(controller) { controller.enqueue(new Uint8Array(10)); }, cancel: given.resolve });
      const failure = await fetch(${url}, { method: 'POST', headers: ${headers}, body, duplex: 'half' }).catch(({ message }) => message);
      return [failure, (await given.promise).name];`);
    expect(answer).toEqual([expect.stringContaining('too many or too long'), 'TypeError']);
  });
});

describe('the place of a fetch that ends early', () => {
  test.each([
    ['aborted', 'signal: abort.signal', 'abort.abort()'],
    [
      'body failed',
      `method: 'POST', duplex: 'half', body: new ReadableStream({ start(controller) { abort.abort = () => controller.error(new Error('torn')); } })`,
      'abort.abort()',
    ],
    [
      'body too large',
      `method: 'POST', duplex: 'half', body: new ReadableStream({ pull(controller) { return begin.promise.then(() => controller.enqueue(new Uint8Array(11 * 1024 * 1024))); } })`,
      'begin.resolve()',
    ],
  ])('is free for the next one at once: %s', async (_what, init, end) => {
    const answer = await run(`
      const begin = Promise.withResolvers();
      const ends = [];
      for (let i = 0; i < 6; i++) {
        const abort = new AbortController();
        fetch(origin + '/hang', { ${init} }).catch(() => {});
        ends.push(() => ${end});
      }
      const next = [1, 2, 3, 4, 5, 6].map(() => fetch(origin + '/ok').then((response) => response.text()));
      for (const end of ends) end();
      return Promise.all(next);`);
    expect(answer).toEqual(Array(6).fill('ok'));
  });
});

describe('a `then` in the place of a chunk', () => {
  test('lets no more bytes leave than are counted', async () => {
    const response = await post(`
      const large = new ArrayBuffer(65_536);
      class Chunk extends Uint8Array { get then() {} }
      Uint8Array.prototype.then = (resolve) => resolve(new Chunk(large, 0, 1));
      let chunks = 0;
      return new Response(new ReadableStream({ pull(controller) {
        chunks += 1;
        if (chunks < 400) return controller.enqueue(new Uint8Array(1));
        delete Uint8Array.prototype.then;
        controller.close();
      } }));`);
    expect((await response.bytes()).byteLength).toBe(399);
  });

  test.each([
    ['no bytes at all', '{ byteLength: 1, buffer: { byteLength: 1 } }'],
    ['wider than bytes', 'new Uint16Array(new ArrayBuffer(65_536), 0, 1)'],
  ])('that is %s breaks the answer off', async (_what, chunk) => {
    const response = await post(`
      Uint8Array.prototype.then = (resolve) => resolve(${chunk});
      return new Response(new ReadableStream({ pull(controller) { controller.enqueue(new Uint8Array(1)); } }));`);
    await expect(response.bytes()).rejects.toThrow();
  });
});

describe('a getter on Object.prototype', () => {
  /**
   * Looks for a source of bytes, whose holder could send messages to the host in the name of the
   * isolate.
   */
  const trap = (name: string) => `
    const leaked = [];
    Object.defineProperty(Object.prototype, '${name}', { configurable: true, get() {
      for (const key of Reflect.ownKeys(this)) if (typeof this[key]?.take === 'function') leaked.push(this[key]);
      return undefined;
    } });`;

  test.each(['body', 'type', 'headers', 'signal', 'formData'])(
    'named %s gets nothing of an answer',
    async (name) => {
      const answer = await run(`
      ${trap(name)}
      const response = await fetch(origin + '/large');
      delete Object.prototype.${name};
      for (const source of leaked) for (let i = 0; i < 40; i++) { source.chunk(new ArrayBuffer(1)); await source.take(); }
      return [leaked.length, (await response.bytes()).byteLength];`);
      expect(answer).toEqual([0, 1_000_000]);
    },
  );

  test.each(['body', 'formData', 'signal'])('named %s gets nothing of an upload', async (name) => {
    const deployed = await annex.deploy(
      `catcher-${name.toLowerCase()}`,
      `export default { fetch() {}, [Symbol.for('annex.integration')]: { components: [], events: [], async handle({ event }, execution) {
         ${trap(name)}
         const request = execution.request(event.request);
         delete Object.prototype.${name};
         return Response.json([leaked.length, (await request.bytes()).byteLength]);
       } } };`,
    );
    const answer = await fetch(deployed.endpoint, { method: 'POST', body: new Uint8Array(200_000) });
    expect(await answer.json()).toEqual([0, 200_000]);
  });
});

describe('a call that is over', () => {
  const endless = [
    ['the cancel of its answer', `cancel() { for (;;); }`, ''],
    ['microtasks of that cancel', `async cancel() { for (;;) await undefined; }`, ''],
    ['a listener of its signal', '', `envelope.signal.addEventListener('abort', () => { for (;;); });`],
    [
      'the cancel of an upload',
      '',
      `fetch(origin + '/hang', { method: 'POST', duplex: 'half', body: new ReadableStream({ cancel() { for (;;); } }) }).catch(() => {});`,
    ],
  ] as const;
  test.each(endless)('cannot spin for ever: %s', async (_what, cancel, first) => {
    const client = new AbortController();
    const response = await post(
      `globalThis.seen = true;
       ${first}
       return new Response(new ReadableStream({ start(controller) { controller.enqueue(new Uint8Array(1)); }, ${cancel} }));`,
      attacker,
      client.signal,
    );
    await response.body?.getReader().read();
    client.abort();
    // The loop ends its isolate, as it would in the middle of a call.
    await expect.poll(() => run(`return globalThis.seen ?? 'ended';`)).toBe('ended');
  });
});

test('lines logged while the script loads count among those of its first call', async () => {
  const lines = `for (let i = 0; i < 300; i++) console.log('line ' + i);`;
  const talker = await annex.deploy(
    'talker',
    `${lines} export default { fetch() { ${lines} return new Response('said'); } };`,
  );
  expect(await (await fetch(talker.endpoint)).text()).toBe('said');
  const texts = (await annex.log(talker)).map(({ text }) => text);
  expect(texts.at(-1)).toBe('344 more log lines were dropped; the limit is 256 lines (logLinesPerCall).');
  expect(await (await fetch(talker.endpoint)).text()).toBe('said');
  expect((await annex.log(talker)).at(-1)?.text).toBe(
    '44 more log lines were dropped; the limit is 256 lines (logLinesPerCall).',
  );
});

test('a script that spins once it has loaded ends its first call, and is not loaded in a loop', async () => {
  const spinner = await annex.deploy(
    'spinner',
    `const isProbed = new Error().stack.includes('probe.js');
     for (let i = 0; i < 300; i++) console.log('line ' + i);
     let turns = 0;
     const spin = () => { if (turns++ < 200) return Promise.resolve().then(spin); for (;;); };
     if (!isProbed) spin();
     export default { fetch() { return new Response('never'); } };`,
  );
  const response = await fetch(spinner.endpoint);
  expect(await response.json()).toMatchObject({ error: { outcome: 'exceededCpu' } });
  const texts = (await annex.log(spinner)).map(({ text }) => text);
  expect(texts.filter((text) => text === 'line 299' || text === 'line 255')).toHaveLength(1);
});

test('a script that fetches while it loads gets an error that says so, and its cell survives', async () => {
  const eager = await annex.deploy(
    'eager',
    `let failure = 'none';
     try { await fetch('https://example.com/'); } catch (error) { failure = error.name + ': ' + error.message; }
     fetch('https://example.com/', { method: 'POST', body: new Blob(['x']).stream(), duplex: 'half' }).catch(() => {});
     export default { fetch: () => new Response(failure) };`,
  );
  expect(await (await fetch(eager.endpoint)).text()).toBe(
    'TypeError: fetch cannot be used while the script loads, only by its handlers',
  );
  expect(await run('return 1;')).toBe(1);
});

test('fetches that are aborted as soon as they have begun, one after the other, take no place of later ones', async () => {
  const answer = await run(`
    const outcomes = [];
    for (let i = 0; i < 40; i++) {
      const abort = new AbortController();
      const aborted = fetch(origin + '/hang', { method: 'POST', duplex: 'half', body: ${ENDLESS}, signal: abort.signal });
      abort.abort();
      await aborted.catch(({ name }) => outcomes.push(name));
    }
    const last = await fetch(origin + '/ok');
    return [new Set(outcomes).size, outcomes[0], await last.text()];`);
  expect(answer).toEqual([1, 'AbortError', 'ok']);
});

describe('a cell that has been taken over breaks the rules of a stream with', () => {
  const own = { id: 1, stream: 0 };
  const chunk = (bytes: number): [StreamMessage, Buffer] => [{ t: 'chunk', ...own }, Buffer.alloc(bytes)];
  const closed: [StreamMessage, Buffer] = [{ t: 'close', ...own }, Buffer.alloc(0)];
  test.each<[string, [StreamMessage, Buffer][], boolean[]]>([
    ['a chunk of megabytes', [chunk(9_000_000)], [false]],
    ['a chunk of nothing', [chunk(0)], [false]],
    ['more chunks than it has credit for', Array(9).fill(chunk(1)), [...Array(8).fill(true), false]],
    ['a chunk after the end', [closed, chunk(1)], [true, false]],
    ['two ends', [closed, closed], [true, false]],
    ['credit for what was not sent', [[{ t: 'credit', ...own, chunks: 1 }, Buffer.alloc(0)]], [false]],
    ['a stream that was not opened', [[{ t: 'chunk', id: 1, stream: 5 }, Buffer.alloc(1)]], [false]],
  ])('%s', (_what, messages, accepted) => {
    const streams = new CallStreams(1, () => undefined);
    streams.open(0, 10_000_000);
    expect(messages.map(([message, bytes]) => streams.receive(message, bytes))).toEqual(accepted);
  });
});
