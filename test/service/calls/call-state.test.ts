/**
 * Calls of many callers share an isolate. Each call begins without the states that the platform
 * keeps for code, whatever the calls before it have done and however they have ended.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Installed, TestService } from '../../support/service.ts';

let annex: TestService;
let caller: Installed;
beforeAll(async () => {
  annex = await TestService.start({
    limits: { callCpuMs: 300, callWallMs: 3_000, responseBodyBytes: 1_024, breachesBeforeCoolDown: 1_000 },
  });
  caller = await annex.publish('state', { 'index.jsx': SOURCE }).then(() => annex.install('state'));
});
afterAll(() => annex.stop());

/**
 * Each entry notes what it finds of earlier calls, and leaves what a careless call leaves. The
 * notes are state of the author's own, which the isolate keeps.
 */
const SOURCE = `
import { AsyncLocalStorage } from 'node:async_hooks';
import { createComponent, createIntegration } from '@annex/sdk';
const notes = [];
const storage = new AsyncLocalStorage();
const other = new AsyncLocalStorage();
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
function enter(entry) {
  const found = [storage.getStore(), other.getStore(), performance.getEntries().length];
  notes.push([entry, ...found.filter((value) => value !== undefined)]);
  console.log('entered ' + entry);
  console.count('entries');
  storage.enterWith('first of ' + entry);
  storage.enterWith('second of ' + entry);
  other.enterWith('other of ' + entry);
  console.group();
  performance.mark(entry);
}
const answer = (entry) => (enter(entry), new Response('answered'));
export default createIntegration({
  async fetch(request, { waitUntil }) {
    enter('fetch');
    const end = new URL(request.url).searchParams.get('end');
    if (end === 'throw') throw new Error('thrown');
    if (end === 'throw in run') storage.run('run', () => { storage.enterWith('in run'); throw new Error('thrown'); });
    if (end === 'limit') return new Response('x'.repeat(2_000));
    if (end === 'cpu') for (;;) {}
    if (end === 'overflow') (function deeper() { storage.run('deep', deeper); })();
    if (end === 'abort' || end === 'time-out') { storage.enterWith('waits'); await pause(60_000); }
    if (end === 'waitUntil') waitUntil(pause(1).then(() => { storage.enterWith('late'); storage.enterWith('later'); }));
    await null;
    return Response.json({ kept: [storage.getStore(), other.getStore()], notes });
  },
  components: [createComponent({ componentId: 'block', render() {
    enter('component');
    return <text>drawn</text>;
  } })],
  fetch_published_script: () => answer('script'),
  fetch_visitor_authentication: () => answer('visitor'),
  events: {
    task: () => answer('task'),
    made_up: () => answer('event'),
  },
});`;

const ENTRIES = {
  fetch: { type: 'fetch', request: { method: 'GET', url: 'https://a.example/', headers: {} } },
  component: { type: 'ui_render', componentId: 'block', props: {}, context: { type: 'document' } },
  script: { type: 'fetch_published_script' },
  visitor: { type: 'fetch_visitor_authentication' },
  task: { type: 'task', task: {} },
  event: { type: 'made_up' },
};

const send = (end: string, signal?: AbortSignal): Promise<Response> =>
  fetch(`${caller.endpoint}/?end=${encodeURIComponent(end)}`, signal === undefined ? {} : { signal });

test.each([
  ['answer', 200],
  ['throw', 500],
  ['throw in run', 500],
  ['limit', 502],
  ['overflow', 500],
  ['abort', 0],
  ['time-out', 504],
  ['waitUntil', 200],
  ['cpu', 503],
])('after a call that ends by %s, each entry begins without its values', async (end, status) => {
  if (end === 'abort') {
    const leaving = new AbortController();
    const left = send(end, leaving.signal).catch(() => undefined);
    await expect.poll(() => annex.metric('annex_calls_in_flight')).toBe(1);
    leaving.abort();
    await left;
    await expect.poll(() => annex.metric('annex_calls_in_flight')).toBe(0);
  } else {
    const response = await send(end);
    expect([response.status, await response.text()]).toEqual([status, expect.anything()]);
  }
  for (const event of Object.values(ENTRIES)) {
    const response = await annex.envelope(caller, event);
    expect(response.status).toBe(200);
  }
  const { notes } = (await (await send('answer')).json()) as { notes: string[][] };
  const entered = notes.map(([entry]) => entry);
  // The isolate is still the one in which the call ended, but after a breach.
  if (end !== 'cpu') expect(entered.length).toBeGreaterThan(Object.keys(ENTRIES).length + 1);
  expect(entered).toEqual(expect.arrayContaining(Object.keys(ENTRIES)));
  expect(notes.filter(([, ...found]) => String(found) !== '0')).toEqual([]);
});

test('a value that was entered stays for the rest of its call', async () => {
  const response = await send('answer');
  expect(await response.json()).toMatchObject({ kept: ['second of fetch', 'other of fetch'] });
});

test('timers, microtasks, messages and signals keep the values of the code that registered them', async () => {
  const { endpoint } = await annex.deploy(
    'schedulers',
    `
    import { AsyncLocalStorage } from 'node:async_hooks';
    import { setTimeout as nodeTimeout } from 'node:timers';
    const storage = new AsyncLocalStorage();
    const seen = (schedule) => storage.run('in', () => new Promise((resolve) => {
      schedule(() => resolve(storage.getStore() ?? 'none'));
    }));
    export default { async fetch() {
      return Response.json({
        timeout: await seen((done) => setTimeout(done, 1)),
        microtask: await seen((done) => queueMicrotask(done)),
        immediate: await seen((done) => setImmediate(done)),
        nodeTimeout: await seen((done) => nodeTimeout(done, 1)),
        tick: await seen((done) => process.nextTick(done)),
        signal: await seen((done) => AbortSignal.timeout(1).addEventListener('abort', done)),
        message: await seen((done) => {
          const { port1, port2 } = new MessageChannel();
          port2.onmessage = done;
          port1.postMessage(1);
        }),
        fromAsync: (await storage.run('in', () => Array.fromAsync([1], () => storage.getStore() ?? 'none')))[0],
        byDefault: new AsyncLocalStorage({ defaultValue: 'in' }).getStore(),
        after: storage.getStore() ?? 'none',
      });
    } };`,
  );
  const { after, ...seen } = (await (await fetch(endpoint)).json()) as Record<string, string>;
  expect([...new Set(Object.values(seen))], JSON.stringify(seen)).toEqual(['in']);
  expect(after).toBe('none');
});

test('groups and counters of the console begin anew with each call', async () => {
  const lines = (await annex.log(caller)).filter(({ text }) => /entered|entries/.test(text));
  expect(new Set(lines.map(({ text }) => text.replace(/entered \w+/, 'entered')))).toEqual(
    new Set(['entered', 'entries: 1']),
  );
});

/**
 * What a careless call begins and leaves, and what a later call of the same isolate asks for: by
 * module. Whatever the modules keep for both is there for the later call.
 */
const BEGUN_AND_USED: Readonly<Record<string, readonly [begin: string, use: string]>> = {
  stream: [
    `new PassThrough().end('x')`,
    `new Promise((end) => new PassThrough().on('end', end).end('x').resume())`,
  ],
  'a stream that both have': [`shared.write('x')`, `new Promise((heard) => shared.once('data', heard))`],
  'stream/promises': [
    `void pipeline(Readable.from(['a']), new PassThrough())`,
    `pipeline(Readable.from(['a']), async function (parts) { for await (const part of parts); })`,
  ],
  'stream, finished': [`finished(shared, () => {})`, `finishedLater(Readable.from([]).resume())`],
  'stream/consumers': [`void text(shared)`, `text(Readable.from(['a', 'b']))`],
  'streams of the web': [
    `void Readable.toWeb(new PassThrough()).getReader().read()`,
    `text(Readable.fromWeb(Readable.toWeb(Readable.from(['a']))))`,
  ],
  events: [
    `void once(emitter, 'said')`,
    `(queueMicrotask(() => emitter.emit('said')), once(emitter, 'said'))`,
  ],
  'events, on': [
    `void said.next()`,
    `(queueMicrotask(() => { emitter.emit('told'); emitter.emit('told'); }), said.next())`,
  ],
  timers: [`setImmediate(() => {})`, `new Promise((resolve) => setImmediate(resolve))`],
  'a timer that both have': [
    `(timer = setTimeout(() => fired(), 20)).unref()`,
    `new Promise((resolve) => { fired = resolve; timer.refresh(); })`,
  ],
  'timers/promises': [`void wait(60_000)`, `wait(1)`],
  'timers/promises, setInterval': [`void ticks.next()`, `ticks.next()`],
  'timers/promises, scheduler': [`void scheduler.yield()`, `scheduler.yield()`],
  'process.nextTick': [`process.nextTick(() => {})`, `new Promise((resolve) => process.nextTick(resolve))`],
  'a loader of batches': [`void load('a')`, `load('b')`],
  util: [
    `callbackify(async () => 1)(() => {})`,
    `new Promise((resolve) => callbackify(async () => 1)(resolve))`,
  ],
  crypto: [`randomBytes(8, () => {})`, `new Promise((resolve) => randomBytes(8, resolve))`],
  async_hooks: [
    `new AsyncResource('left').runInAsyncScope(() => { void wait(60_000); })`,
    `new AsyncResource('used').runInAsyncScope(() => wait(1))`,
  ],
  diagnostics_channel: [
    `void channel.tracePromise(() => wait(60_000))`,
    `channel.tracePromise(async () => 1)`,
  ],
  'AbortSignal.timeout': [
    `AbortSignal.timeout(60_000)`,
    `wait(60_000, undefined, { signal: AbortSignal.timeout(1) }).catch(() => {})`,
  ],
};

test('what a call leaves in a module of Node.js does not hold up the next call', async () => {
  const cases = Object.entries(BEGUN_AND_USED).map(
    ([name, [begin, use]]) => `${JSON.stringify(name)}: [() => { ${begin}; }, () => ${use}]`,
  );
  const { endpoint } = await annex.deploy(
    'modules',
    `import { AsyncResource } from 'node:async_hooks'; import { randomBytes } from 'node:crypto';
    import { tracingChannel } from 'node:diagnostics_channel'; import { EventEmitter, on, once } from 'node:events';
    import { finished, PassThrough, Readable } from 'node:stream'; import { text } from 'node:stream/consumers';
    import { finished as finishedLater, pipeline } from 'node:stream/promises';
    import { scheduler, setInterval as every, setTimeout as wait } from 'node:timers/promises';
    import { callbackify } from 'node:util';
    import { createIntegration } from '@annex/sdk';
    const [shared, emitter, channel] = [new PassThrough(), new EventEmitter(), tracingChannel('c')];
    channel.subscribe({ start() {} });
    const [said, ticks] = [on(emitter, 'told'), every(1)];
    let timer, fired = () => {}, batch;
    // As the much-used loaders of data do: a batch is read after the code that asks for its items.
    const load = (key) => new Promise((resolve) => {
      if (batch === undefined) {
        batch = [];
        Promise.resolve().then(() => process.nextTick(() => { const full = batch; batch = undefined; for (const done of full) done(key); }));
      }
      batch.push(resolve);
    });
    const cases = { ${cases.join(',\n')} };
    export default createIntegration({ async fetch(request) {
      const [[how, name]] = new URL(request.url).searchParams;
      if (how === 'begin') { cases[name][0](); return new Response('left'); }
      await cases[name][1]();
      return new Response('used');
    } });`,
  );
  for (const name of Object.keys(BEGUN_AND_USED)) {
    const call = async (how: string) =>
      (await fetch(`${endpoint}/?${new URLSearchParams({ [how]: name })}`)).text();
    expect([name, await call('begin'), await call('use')]).toEqual([name, 'left', 'used']);
  }
});
