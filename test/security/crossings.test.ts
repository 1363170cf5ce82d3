/**
 * Every way out of an isolate, used while the tenant's code tries to have a value of its own cross:
 * the cell receives strings, numbers, booleans and plain bytes alone.
 */
import { readdirSync, readFileSync } from 'node:fs';
import ivm from 'isolated-vm';
import { describe, expect, test } from 'vitest';
import { DEFAULT_LIMITS } from '../../src/limits.ts';
import { cellSources } from '../support/built-once.ts';

const [prelude = '', ...parts] = (await cellSources()).isolate;

/**
 * Code of a tenant's script that changes its built-ins before its handlers run. `trap` is an object
 * that must not cross.
 */
const HOSTILE: Readonly<Record<string, string>> = {
  nothing: '',
  'a then on Object.prototype': `
    let reads = 0;
    Object.defineProperty(Object.prototype, 'then', { configurable: true, get() {
      if (this === trap || reads++ > 500) return undefined;
      return (resolve) => resolve(trap);
    } });`,
  'a then on every kind of bytes': `
    for (const kind of [Uint8Array, ArrayBuffer])
      kind.prototype.then = function (resolve) { delete kind.prototype.then; resolve(trap); };`,
  'getters and setters on Object.prototype': `
    for (const key of ['status', 'headers', 'body', 'url', 'method', 'redirect', 'components', 'events', 'fetch', 'sdk', 'value', 'done', 'signal', 'kind', 'length', '0', '4'])
      Object.defineProperty(Object.prototype, key, { configurable: true, get: () => trap, set() {} });`,
  'toJSON and toString on every prototype': `
    for (const { prototype } of [Object, String, Number, Array, Uint8Array, Error]) {
      prototype.toJSON = () => trap;
      if (prototype !== Number.prototype) prototype.toString = () => trap;
    }`,
  'replaced methods of arrays, strings, maps and expressions': `
    for (const { prototype } of [Array, String, Map, RegExp, Function, Uint8Array]) {
      for (const key of Object.getOwnPropertyNames(prototype)) {
        const { value, configurable } = Object.getOwnPropertyDescriptor(prototype, key);
        if (typeof value === 'function' && configurable && key !== 'constructor')
          Object.defineProperty(prototype, key, { configurable: true, value: () => trap });
      }
    }
    for (const key of ['iterator', 'toPrimitive', 'replace', 'split', 'match'])
      Object.defineProperty(Array.prototype, Symbol[key], { configurable: true, value: function* () { yield trap; yield trap; } });`,
  'replaced constructors': `
    for (const name of ['TypeError', 'RangeError', 'Uint8Array', 'Map', 'Promise', 'Date', 'URL', 'Headers'])
      globalThis[name] = function () { return trap; };`,
  'a promise of its own kind': `
    class Liar extends Promise { then(resolve) { resolve?.(trap); return this; } }
    Promise.prototype.then = function (resolve) { resolve?.(trap); return this; };
    Object.defineProperty(Promise.prototype, 'constructor', { configurable: true, get: () => Liar });
    Object.defineProperty(Promise, Symbol.species, { get: () => Liar });`,
};

/**
 * Uses each way out. Errors are ignored: a tenant that breaks its own built-ins harms itself alone.
 */
const HANDLER = `
const quiet = async (work) => { try { await work(); } catch {} };
const own = { Uint8Array, Response, Headers, URL, ReadableStream, Promise, Error, Blob, FormData, Date };
async function handle(kind, execution) {
  switch (kind) {
    case 'text': return new own.Response('text', { headers: { a: 'b' } });
    case 'bytes': return new own.Response(new own.Uint8Array(10), { status: 201 });
    case 'large': return new own.Response('x'.repeat(20_000));
    case 'stream': return new own.Response(new own.ReadableStream({ start(c) {
      c.enqueue(new own.Uint8Array(5000)); c.enqueue(new own.Uint8Array(1)); c.close(); } }));
    case 'torn': return new own.Response(new own.ReadableStream({ start(c) { c.enqueue(new own.Uint8Array(5000)); c.error(trap); } }));
    case 'subclass': return new (class extends own.Response { get status() { return trap; } get headers() { return trap; } })('x');
    case 'thenable': return { then: (resolve) => resolve(trap) };
    case 'object': return trap;
    case 'throws': throw trap;
    case 'error': throw Object.assign(new own.Error('x'), { stack: trap, cause: trap, name: trap });
    case 'waits': execution.waitUntil({ then: (resolve) => resolve(trap) }); execution.waitUntil(own.Promise.reject(trap)); return new own.Response('w');
    case 'logs': return quiet(() => { console.log(trap, [trap], 'x'.repeat(1e6)); console.table([trap]); console.error(trap); for (let i = 0; i < 30; i++) console.log(i); }).then(() => new own.Response('l'));
    case 'timers': { const late = setTimeout(() => {}, 1e4, trap); for (let i = 0; i < 64; i++) await undefined; clearTimeout(late); setInterval(() => {}, { valueOf: () => trap }); for (let i = 0; i < 20; i++) setTimeout(() => {}, 1); return new own.Response('t'); }
    case 'memory': await quiet(() => new ArrayBuffer(2 ** 30)); return new own.Response('m');
    case 'job': await quiet(() => crypto.subtle.digest('SHA-256', new own.Uint8Array(4)));
    case 'requests': await quiet(() => new own.URL('http://b\\u00fccher.example/')); await quiet(() => crypto.getRandomValues(new own.Uint8Array(8))); return new own.Response('q');
    case 'stores': {
      const { storage } = execution;
      const asked = '{"do":"put"}';
      for (const [request, value] of [[asked, 'text'], [asked, new own.Uint8Array(3).buffer], [trap, trap], [asked, trap], [asked, [trap]], [asked, { toString: () => trap, byteLength: 3 }]])
        void quiet(() => storage(request, value));
      return new own.Promise(() => {});
    }
    case 'fetches': {
      const sends = [
        () => fetch('http://a.example/', { method: 'POST', body: 'text', headers: { a: 'b' } }),
        () => fetch(new own.URL('http://a.example/'), { method: 'PUT', body: new own.Uint8Array(3) }),
        () => fetch('http://a.example/', { method: 'POST', duplex: 'half', body: new own.ReadableStream({ start(c) { c.enqueue(new own.Uint8Array(5000)); c.close(); } }) }),
        () => fetch(trap, trap),
        () => { const stop = new AbortController(); const f = fetch('http://a.example/', { signal: stop.signal }); stop.abort(trap); return f; },
        async () => { const answer = await fetch('http://a.example/'); await answer.text(); },
      ];
      for (const send of sends) void quiet(send);
      return new own.Promise(() => {});
    }
  }
}`;

interface Walked {
  readonly emissions: unknown[][];
  readonly requests: unknown[];
}

/** Runs one isolate through all kinds of calls. */
async function walk(hostile: string): Promise<Walked> {
  const emissions: unknown[][] = [];
  const requests: unknown[] = [];
  const request = (answer: (argument: unknown) => string) => (argument: unknown) => {
    requests.push(argument);
    return answer(argument);
  };
  const isolate = new ivm.Isolate({ memoryLimit: 64 });
  try {
    const context = await isolate.createContext();
    const start = await (await isolate.compileScript(prelude)).run(context, { reference: true });
    const enter = await start.apply(
      undefined,
      [
        new ivm.Callback((...emission: unknown[]) => emissions.push(emission), { ignored: true }),
        new ivm.Callback(
          request(() => 'xn--bcher-kva.example'),
          { sync: true },
        ),
        new ivm.Callback(
          request((count) => '\u0001'.repeat(Number(count))),
          { sync: true },
        ),
        ...parts.map((text) => new ivm.ExternalCopy(text).copyInto()),
      ],
      { result: { reference: true } },
    );
    const send = (...entry: unknown[]) => enter.apply(undefined, entry, { timeout: 5_000 }).catch(() => 0);
    const script = `(async function (run) {
      // It has no function: an object that cannot be copied would not cross for that reason alone.
      const trap = { trap: [1, 2, 3] };
      for (const key of ['components', 'events', 'status', 'headers', 'body', 'url', 'method', 'redirect', 'bytes', 'value', 'fetch', 'sdk'])
        trap[key] = { crossed: key };
      ${HANDLER}
      const integration = {
        components: ['one', trap, { toString: () => 'two' }], events: new Proxy(['e'], {}),
        handle({ event }, execution) { return handle(event.kind, execution); },
      };
      ${hostile}
      run({ default: { fetch() {}, [Symbol.for('annex.integration')]: integration } });
    })`;
    const factory = await (await isolate.compileScript(script)).run(context, { reference: true });
    const limits = { ...DEFAULT_LIMITS, responseBodyBytes: 10_000, logLinesPerCall: 20, timersPerCall: 10 };
    const settings = JSON.stringify({ ...limits, fetchesPerCall: 6, fetchesInFlightPerCall: 6 });
    await send('load', 0, factory.derefInto({ release: true }), settings);
    const bytes = () => new ivm.ExternalCopy(new ArrayBuffer(5_000)).copyInto({ release: true });
    for (const [index, kind] of KINDS.entries()) {
      const id = index + 1;
      // The upload follows as stream 0, so that there is credit to give and a stream to drop.
      await send('call', id, 'http://x.example/v1', undefined, true, 1, JSON.stringify({ kind }), '{}');
      await send('chunk', id, 0, bytes());
      await send('close', id, 0, '');
      await send('credit', id, 0, 4);
      await send('done', id, 1, '{}', bytes());
      await send('timer', id, 1);
      for (let operation = 1; operation <= 6; operation++) await send('stored', id, operation, '{}', bytes());
      const head = [200, 'OK', 'http://a.example/', false, 'content-type\ntext/plain'];
      for (let stream = 1; stream <= 6; stream++) {
        await send('fetched', id, stream, ...head, undefined, true);
        for (let piece = 0; piece < 5; piece++) await send('chunk', id, stream, bytes());
        await send('close', id, stream, '');
        await send('fetch-failed', id, stream, 'gone');
      }
      await send('drop', id, 0);
      await send('cancel', id);
    }
    // A script that throws has an emission of its own.
    const failing = await (await isolate.compileScript('(async function () { throw { trap: [1] }; })')).run(
      context,
      { reference: true },
    );
    await send('load', 0, failing.derefInto({ release: true }), settings);
    return { emissions, requests };
  } finally {
    isolate.dispose();
  }
}

const KINDS = [...HANDLER.matchAll(/case '(\w+)':/g)].map(([, kind]) => kind);
/** The kinds of emissions that `src/protocol/bridge.ts` lists. */
const BRIDGE = readFileSync(new URL('../../src/protocol/bridge.ts', import.meta.url), 'utf8');
const EMISSIONS = new Set(
  [...BRIDGE.slice(BRIDGE.indexOf('export type Emission')).matchAll(/\[\s*kind: '([\w-]+)'/g)]
    .concat([...BRIDGE.slice(0, BRIDGE.indexOf('export type Entry')).matchAll(/\[kind: '([\w-]+)'/g)])
    .map(([, kind]) => kind),
);

const crosses = (value: unknown): boolean =>
  ['string', 'number', 'boolean', 'undefined'].includes(typeof value) || value instanceof ArrayBuffer;

describe('what leaves an isolate', () => {
  test.each(Object.keys(HOSTILE))('is text, numbers and bytes, with %s', async (name) => {
    const { emissions, requests } = await walk(HOSTILE[name] ?? '');
    const wrong = [
      ...emissions.filter((emission) => !emission.every(crosses)),
      ...requests.filter((argument) => !crosses(argument)),
    ];
    expect(wrong).toEqual([]);
    expect(emissions.length).toBeGreaterThan(KINDS.length / 2);
    const texts = emissions.flatMap((emission) => emission.filter((value) => typeof value === 'string'));
    expect(Math.max(...texts.map(({ length }) => length))).toBeLessThanOrEqual(64 * 1024 + 1);
  });

  test('is covered here: every kind of emission occurs in ordinary calls', async () => {
    const { emissions, requests } = await walk('');
    expect(new Set(emissions.map(([kind]) => kind))).toEqual(EMISSIONS);
    expect(new Set(requests.map((argument) => typeof argument))).toEqual(new Set(['string', 'number']));
  });

  test('goes through one gate: the prelude uses the functions of the cell nowhere else', () => {
    const entry = readFileSync(new URL('../../sandbox/entry.ts', import.meta.url), 'utf8');
    const uses = (name: string) => [...entry.matchAll(new RegExp(`\\b${name}\\b`, 'g'))].length;
    // Each name occurs as a parameter, and as the argument of its guard.
    expect([uses('unguardedEmit'), uses('domainToAscii'), uses('randomBytes')]).toEqual([2, 2, 2]);
  });

  test('is received at known places only: a new place has to be covered here too', () => {
    const folder = new URL('../../src/cell/', import.meta.url);
    const filesIn = (at: URL) =>
      readdirSync(at, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
    const found = filesIn(folder).flatMap((file) => {
      const text = readFileSync(new URL(file, folder), 'utf8');
      const ways =
        /engine\.(Callback|Reference)\(|\.applySync|\.applySyncPromise|\.evalClosure|\.evalSync|copy: true|promise: true|\.copySync\(|\.copy\(|\.getSync\(/g;
      return [...text.matchAll(ways)].map(([way]) => `${file} ${way}`);
    });
    expect(found.toSorted()).toEqual([
      // Before any tenant code, in cells for debuggers alone. It takes no value, and code that runs
      // later has no reference to it.
      'isolates/blank-isolates.ts .evalClosure',
      ...Array(4).fill('isolates/blank-isolates.ts engine.Callback('),
    ]);
  });
});
