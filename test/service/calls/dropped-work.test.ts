/**
 * Work that a call leaves unfinished, because nothing awaits it, is named in one line of its log.
 */
import type { Server } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { deployWithLibrary, originOf, serve } from '../../support/library.ts';
import { TestService } from '../../support/service.ts';

const AWAIT = 'Await what the handler needs, and pass other promises to context.waitUntil.';

let annex: TestService;
/**
 * Answers `/now` at once; begins `/body` and `/events`, and never ends them; never answers
 * `/never`.
 */
let upstream: Server;

beforeAll(async () => {
  annex = await TestService.start({ flags: ['--egress-allow', '127.0.0.1/32'] });
  upstream = await serve((request, response) => {
    if (request.url === '/never') return;
    const type = request.url === '/events' ? 'text/event-stream' : 'text/plain';
    response.writeHead(200, { 'content-type': type });
    if (request.url === '/now') response.end('answer');
    else response.write(': begun\n\n');
  });
});
afterAll(async () => {
  await annex.stop();
  upstream.closeAllConnections();
  upstream.close();
});

let deployed = 0;
/** Calls a handler with these lines some times. @returns the lines of its log */
async function logOf(lines: string[], calls = 1): Promise<string[]> {
  deployed += 1;
  const body = [
    `const [url, now, body, events] = ['never', 'now', 'body', 'events'].map((name) => '${originOf(upstream)}/' + name);`,
    'export default { async fetch(request, _, context) {',
    ...lines,
    `  return new Response('ok');`,
    '} };',
  ].join('\n');
  const { endpoint, ...installed } = await annex.deploy(`dropped-work-${deployed}`, body);
  for (let call = 0; call < calls; call += 1) expect(await (await fetch(endpoint)).text()).toBe('ok');
  const log = await annex.log({ endpoint, ...installed });
  return log.map(({ level, text }) => `${level} ${text}`);
}

describe('names', () => {
  test('a fetch, with the line of the author that made it', async () => {
    expect(await logOf(['  fetch(url);'])).toEqual([
      `warn The call ended while 1 fetch was pending; it was dropped. ${AWAIT}\n    at Object.fetch (index.js:3:3)`,
    ]);
  });

  test('a fetch in a function that waits for it', async () => {
    const [line] = await logOf([
      '  const notify = async () => {',
      '    await fetch(url);',
      '  };',
      '  notify();',
    ]);
    expect(line).toContain('1 fetch was pending');
    expect(line).toContain('at notify (index.js:4:11)');
  });

  test('all kinds of work in one line, with the place of the first fetch', async () => {
    expect(
      await logOf([
        '  (await fetch(body)).text();',
        `  crypto.subtle.generateKey({ name: 'RSA-OAEP', modulusLength: 4096, publicExponent: new Uint8Array([1, 0, 1]), hash: 'SHA-256' }, true, ['encrypt']);`,
        '  setTimeout(() => {}, 900);',
        '  setTimeout(() => {}, 900);',
        '  fetch(url);',
      ]),
    ).toEqual([
      `warn The call ended while 1 fetch, 1 body, 1 operation of Web Crypto, 2 timers were pending; they were dropped. ${AWAIT}\n    at Object.fetch (index.js:7:3)`,
    ]);
  });

  test('fetches that wait for others, in each call', async () => {
    const lines = await logOf(['  for (let i = 0; i < 40; i++) fetch(url);'], 2);
    expect(lines).toHaveLength(2);
    for (const line of lines) expect(line).toContain('while 40 fetches were pending; they were dropped.');
  });

  test('timers alone, once for an isolate', async () => {
    expect(await logOf(['  setTimeout(() => console.log("never"), 900);'], 3)).toEqual([
      `warn The call ended while 1 timer was pending; it was dropped. ${AWAIT}\n    at Object.fetch (index.js:3:3)`,
    ]);
  });

  test('the place of a fetch also after many of which none was dropped', async () => {
    const first = '  if (globalThis.first === undefined) ';
    const awaited = `${first} for (let i = 0; i < 40; i++) await fetch(now);`;
    const lines = await logOf([awaited, '  globalThis.first = false;', '  fetch(url);'], 2);
    // The first places are recorded, and again once something was dropped.
    expect(lines.map((line) => line.includes('at Object.fetch (index.js:5:3)'))).toEqual([false, true]);
  });

  test('work of a call whose stack is hostile', async () => {
    const hostile = ['throw 1', 'return { toString: null }', 'context.waitUntil(1); return ""'];
    for (const body of hostile)
      expect(await logOf([`  Error.prepareStackTrace = () => { ${body} };`, '  fetch(url);'])).toEqual([
        `warn The call ended while 1 fetch was pending; it was dropped. ${AWAIT}`,
      ]);
  });
});

describe('does not name', () => {
  test.each([
    ['work that waitUntil holds', ['  context.waitUntil(fetch(now));']],
    ['an answer whose body nobody reads', ['  await fetch(body);']],
    [
      'a fetch that was aborted',
      [
        '  const c = new AbortController();',
        '  fetch(url, { signal: c.signal }).catch(() => {});',
        '  c.abort();',
      ],
    ],
    ['the time limit of a signal', ['  await fetch(now, { signal: AbortSignal.timeout(900) });']],
    [
      'a timer that guards other work',
      [
        '  const late = new Promise((_, reject) => setTimeout(reject, 1_000));',
        '  await Promise.race([fetch(now), late]);',
      ],
    ],
    ['a timer that was cleared', ['  clearTimeout(setTimeout(() => {}, 5));']],
    ['an interval', ['  setInterval(() => {}, 5);']],
    [
      'a timer of Node.js without a reference',
      ['  const timer = setTimeout(() => {}, 900);', '  timer.unref?.();'],
    ],
    [
      'an event source',
      [
        '  const source = new EventSource(events);',
        '  await new Promise((resolve) => (source.onopen = resolve));',
      ],
    ],
    ['an event source that connects', ['  new EventSource(url);']],
    [
      'a subscription',
      [
        '  const { body: lines } = await fetch(events);',
        '  const reader = lines.getReader();',
        '  await reader.read();',
        '  reader.read().catch(() => {});',
      ],
    ],
    ['a task of the next turn', ['  new MessageChannel().port1.postMessage(1);']],
  ])('%s', async (_, lines) => {
    expect(await logOf(lines)).toEqual([]);
  });

  test('what Promise.all leaves beside an exception', async () => {
    deployed += 1;
    const installed = await annex.deploy(
      `dropped-work-${deployed}`,
      `export default { async fetch() { await Promise.all([fetch('${originOf(upstream)}/never'), Promise.reject(new Error('broken'))]); } };`,
    );
    expect((await fetch(installed.endpoint)).status).toBe(500);
    const log = await annex.log(installed);
    expect(log.map(({ level }) => level)).toEqual(['error']);
  });

  // Each keeps timers of less than a second: for its rate, its next attempt, its clock.
  test('what libraries leave behind', async () => {
    deployed += 1;
    const installed = await deployWithLibrary(
      annex,
      `dropped-work-${deployed}`,
      `export { default as PQueue } from 'p-queue';
       export { default as pRetry } from 'p-retry';
       export { LRUCache } from 'lru-cache';`,
      `import { LRUCache, pRetry, PQueue } from './library.js';
       export default { async fetch() {
         const ask = () => fetch('${originOf(upstream)}/now');
         await new PQueue({ interval: 500, intervalCap: 10, timeout: 900 }).add(ask);
         let attempts = 0;
         await pRetry(async () => { if (attempts++ === 0) throw new Error('again'); }, { minTimeout: 10 });
         const cache = new LRUCache({ max: 2, ttl: 900, ttlAutopurge: true, ttlResolution: 500 });
         cache.set('key', 'value');
         return new Response(cache.get('key'));
       } };`,
    );
    expect(await (await fetch(installed.endpoint)).text()).toBe('value');
    expect(await annex.log(installed)).toEqual([]);
  });
});
