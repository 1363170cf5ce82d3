/**
 * Attacks from inside an isolate: each costs its own call alone, and a neighbour in the same cell
 * is served meanwhile.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Installed, TestService } from '../../support/service.ts';

let annex: TestService;
let neighbour: Installed;
beforeAll(async () => {
  annex = await TestService.start({ limits: { callCpuMs: 300, callWallMs: 3_000, logLinesPerCall: 20 } });
  neighbour = await annex.deploy('neighbour', `export default { fetch: () => new Response('served') };`);
});
afterAll(() => annex.stop());

/** A fetch handler with this body. */
const handler = (body: string, before = ''): string =>
  `${before}\nexport default { async fetch(request, env, ctx) { ${body} } };`;

/** Calls the attacker, and checks that the neighbour is served meanwhile and no cell is lost. */
async function attack(name: string, source: string): Promise<{ response: Response; attacker: Installed }> {
  const attacker = await annex.deploy(name, source);
  const pids = annex.cellPids;
  const attacked = fetch(attacker.endpoint);
  for (let i = 0; i < 5; i++) expect(await (await fetch(neighbour.endpoint)).text()).toBe('served');
  const response = await attacked;
  expect(await (await fetch(neighbour.endpoint)).text()).toBe('served');
  expect(annex.cellPids).toEqual(pids);
  return { response, attacker };
}

describe('floods at the bridge', () => {
  // Attack: emissions queue up in the cell's main thread until its watchdog never has a turn.
  // A timer that is cleared at once never reaches the bridge.
  test('setting and clearing timers in a loop ends at the CPU limit, as any loop does', async () => {
    const { response } = await attack(
      'timer-flood',
      handler('for (;;) clearTimeout(setTimeout(() => {}, 1));'),
    );
    expect(await response.json()).toMatchObject({ error: { outcome: 'exceededCpu' } });
  });

  test('more timers than may be pending is an error', async () => {
    const { response } = await attack('timers-pending', handler('for (;;) setTimeout(() => {}, 1000);'));
    expect(response.status).toBe(500);
  });

  // Attack: a synchronous conversion stops the CPU clock of its isolate.
  test('converting domains beyond ASCII without end counts as CPU of the call', async () => {
    const { response } = await attack(
      'domains',
      handler("for (;;) try { URL.canParse('http://\\u00fc' + Math.random()); } catch {}"),
    );
    expect(response.status).toBe(503);
  });

  test('unhandled rejections are logged a few times, not thousands', async () => {
    const { attacker } = await attack(
      'rejections',
      handler(`for (let i = 0; i < 200; i++) setInterval(() => { Promise.reject('x'.repeat(2000)); }, 1);
               await new Promise((done) => setTimeout(done, 500)); return new Response();`),
    );
    expect((await annex.log(attacker)).length).toBeLessThanOrEqual(16 + 2);
  });

  test('a log that has reached its limit still receives the reason of a failure', async () => {
    const { response, attacker } = await attack(
      'lost-reason',
      handler(`for (let i = 0; i < 100; i++) console.log(i); throw new Error('the reason');`),
    );
    expect(response.status).toBe(500);
    expect(await annex.log(attacker)).toContainEqual(
      expect.objectContaining({ level: 'error', text: expect.stringContaining('the reason') }),
    );
  });

  // Attack: the string crosses first, and is refused only then.
  test('a body of hundreds of megabytes never crosses', async () => {
    const { response } = await attack('huge-body', handler(`return new Response('x'.repeat(2 ** 28));`));
    expect(response.status).toBe(502);
  });
});

describe('code outside of entries', () => {
  // Attack: finalizers run wherever garbage is collected, the cell's main thread included, and are
  // charged to no call.
  test('there is no FinalizationRegistry', async () => {
    const { response } = await attack(
      'finalizers',
      handler(
        `return new Response(typeof FinalizationRegistry + ' ' + ('FinalizationRegistry' in globalThis));`,
      ),
    );
    expect(await response.text()).toBe('undefined false');
  });
});

describe('names', () => {
  // Attack: escapes make the head of a frame larger than its bound, for which the host ends the
  // cell.
  test('of components and events that no manifest can have do not end the cell', async () => {
    const pids = annex.cellPids;
    const { status } = await annex.tryPublish('names', {
      'index.js': `
        const names = Array.from({ length: 500 }, (_, i) => '\\u0001'.repeat(250) + i);
        export default { fetch() {}, [Symbol.for('annex.integration')]: { handle() {}, components: names, events: [...names, 'x'.repeat(5e7)] } };`,
    });
    expect(status).toBe(201);
    expect(annex.cellPids).toEqual(pids);
  });
});

describe('a client that disconnects', () => {
  // The timers of a loading script must not end with the first caller: later calls would wait for
  // ever.
  test('while a script loads does not prevent the answer to the next caller', async () => {
    const cold = await annex.deploy(
      'cold',
      handler(`return new Response('loaded');`, 'await new Promise((done) => setTimeout(done, 400));'),
    );
    const leaving = new AbortController();
    const first = fetch(cold.endpoint, { signal: leaving.signal });
    await expect.poll(() => annex.metric('annex_calls_in_flight')).toBe(1);
    leaving.abort();
    await expect(first).rejects.toThrow();
    expect(await (await fetch(cold.endpoint)).text()).toBe('loaded');
  });

  test('leaves nothing behind: its call is ended and counted as canceled', async () => {
    const slow = await annex.deploy('slow', handler('await new Promise(() => {});'));
    const leaving = new AbortController();
    const call = fetch(slow.endpoint, { signal: leaving.signal });
    await expect.poll(() => annex.metric('annex_calls_in_flight')).toBe(1);
    leaving.abort();
    await expect(call).rejects.toThrow();
    await expect.poll(() => annex.metric('annex_calls_in_flight')).toBe(0);
    expect(await annex.metric('annex_calls_total{outcome="canceled"}')).toBeGreaterThanOrEqual(1);
  });
});

describe('the sandbox', () => {
  test('shows a tenant nothing of the bridge, however it replaces its built-ins', async () => {
    const { response } = await attack(
      'replaced',
      `
      const seen = [];
      const spy = (object, key) => {
        const original = object[key];
        object[key] = function (...values) { for (const value of values) look(value); return Reflect.apply(original, this, values); };
      };
      const look = (value) => {
        if (typeof value === 'function' && /native code/.test(Function.prototype.toString.call(value)) === false) seen.push(String(value).slice(0, 40));
      };
      for (const key of ['emit', 'enter', 'then', 'status', 'headers', '0']) {
        Object.defineProperty(Object.prototype, key, { configurable: true, set(value) { look(value); }, get() { return undefined; } });
      }
      spy(Map.prototype, 'get'); spy(Map.prototype, 'set'); spy(Function.prototype, 'call'); spy(Function.prototype, 'bind');
      spy(Array.prototype, 'push'); JSON.parse = () => { throw new Error('mine'); };
      Error.prepareStackTrace = (error, frames) => { for (const frame of frames) { look(frame.getThis()); look(frame.getFunction()); } return 'stack'; };
      export default {
        async fetch() {
          try { null.x; } catch (error) { error.stack; }
          const globals = Object.getOwnPropertyNames(globalThis).filter((name) => /ivm|isolated|emit|enter|prelude|bridge|process|require/i.test(name));
          return new Response(globals.length + ' ' + seen.length);
        },
      };`,
    );
    expect(await response.text()).toBe('0 0');
  });
});
