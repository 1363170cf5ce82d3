/** Timers of a real cell, as in HTML, section 8.6, and their exceptions. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Installed, TestService } from '../../support/service.ts';

let annex: TestService;
beforeAll(async () => {
  annex = await TestService.start();
});
afterAll(() => annex.stop());

let deployed = 0;
/** Deploys a handler with this body. */
function handler(body: string): Promise<Installed> {
  deployed += 1;
  return annex.deploy(`timers-${deployed}`, `export default { async fetch() { ${body} } };`);
}
/** The answer of such a handler, as JSON. */
async function answer(body: string): Promise<unknown> {
  const { endpoint } = await handler(
    `const value = await (async () => { ${body} })(); return Response.json(value);`,
  );
  return (await fetch(endpoint)).json();
}
const WAIT = 'const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));';

test('the functions have the interface of a browser', async () => {
  expect(
    await answer(`
      const threw = (run) => { try { run(); } catch (error) { return error.name; } };
      return ['setTimeout', 'setInterval', 'clearTimeout', 'clearInterval'].map((name) => {
        const { enumerable, writable, configurable } = Object.getOwnPropertyDescriptor(globalThis, name);
        const call = globalThis[name];
        return [call.name, call.length, enumerable, writable, configurable, threw(() => new call(() => {})), 'prototype' in call];
      });`),
  ).toEqual([
    ['setTimeout', 1, false, true, true, 'TypeError', false],
    ['setInterval', 1, false, true, true, 'TypeError', false],
    ['clearTimeout', 0, false, true, true, 'TypeError', false],
    ['clearInterval', 0, false, true, true, 'TypeError', false],
  ]);
});

test('a handler gets its arguments, and the global scope as this', async () => {
  expect(
    await answer(`
      return new Promise((resolve) => {
        const id = setTimeout(function (...parameters) { resolve([this === globalThis, parameters, typeof id, id > 0, Number.isInteger(id)]); }, 1, 'a', null);
      });`),
  ).toEqual([true, ['a', null], 'number', true, true]);
});

test('a handler that is not a function is refused, also a text', async () => {
  expect(
    await answer(`return [[], [undefined], [null], ['1 + 1'], [{}]].flatMap((parameters) => [setTimeout, setInterval].map((set) => {
      try { return set(...parameters); } catch (error) { return error.name; }
    }));`),
  ).toEqual(Array(10).fill('TypeError'));
});

test('a delay becomes 32 signed bits: a negative or huge one, and any other value, is due at once', async () => {
  expect(
    await answer(`
      const seen = [];
      let converted = 0;
      const last = setTimeout(() => seen.push('too late'), 60_000);
      const delays = [-100, NaN, Infinity, -Infinity, 2 ** 31, 2 ** 32, 2 ** 32 + 1, 'x', undefined, null, {}, { valueOf() { converted++; return '1'; } }, 0.9, false];
      await Promise.all(delays.map((delay) => new Promise((resolve) => setTimeout(resolve, delay))));
      let refused = []; for (const delay of [1n, Symbol()]) try { setTimeout(() => {}, delay); } catch (error) { refused.push(error.name); }
      clearTimeout(last);
      return [seen, converted, refused];`),
  ).toEqual([[], 1, ['TypeError', 'TypeError']]);
});

test('timers of one delay run in the order they were set, a shorter one before', async () => {
  expect(
    await answer(`
      const seen = [];
      await new Promise((resolve) => {
        setTimeout(() => { seen.push('long'); resolve(); }, 600);
        // Later than a busy machine takes to set the next one.
        for (const name of ['a', 'b', 'c']) setTimeout(() => seen.push(name), 300);
        setTimeout(() => seen.push('short'));
      });
      return seen;`),
  ).toEqual(['short', 'a', 'b', 'c', 'long']);
});

test('an interval repeats until it is cleared, by itself or by the function of the other kind', async () => {
  expect(
    await answer(`
      ${WAIT}
      const seen = [];
      await new Promise((resolve) => {
        const id = setInterval((name) => { seen.push(name); if (seen.length === 3) { clearTimeout(id); resolve(); } }, 1, 'again');
      });
      const timeout = setTimeout(() => seen.push('never'), 5);
      clearInterval(\`\${timeout}\`);
      for (const unknown of [undefined, null, 0, -1, 1e9, NaN, 'x', {}]) { clearTimeout(unknown); clearInterval(unknown); }
      clearTimeout(); clearInterval();
      const wrapped = setTimeout(() => seen.push('never'), 5);
      clearTimeout(wrapped + 2 ** 32);
      await wait(30);
      return seen;`),
  ).toEqual(['again', 'again', 'again']);
});

describe('timers that are cleared', () => {
  const FLOOD = 5_000;

  test('do not count, however many there were in one entry', async () => {
    expect(
      await answer(`
        let fired = 0;
        for (let i = 0; i < ${FLOOD}; i++) clearTimeout(setTimeout(() => fired++, 1));
        for (let i = 0; i < ${FLOOD}; i++) clearInterval(setInterval(() => fired++, 1));
        return new Promise((resolve) => { for (let i = 1; i <= 1_000; i++) setTimeout(() => { if (i === 1_000) resolve([fired, i]); }, 2); });`),
    ).toEqual([0, 1_000]);
  });

  test('do not count if they guarded a promise that settled soon', async () => {
    expect(
      await answer(`
        const guarded = async (work) => {
          let timer;
          const late = new Promise((_, reject) => { timer = setTimeout(() => reject(new Error('late')), 5); });
          try { return await Promise.race([work, late]); } finally { clearTimeout(timer); }
        };
        let done = 0;
        for (let i = 0; i < ${FLOOD}; i++) done += await guarded(Promise.resolve(1));
        await new Promise((resolve) => setTimeout(resolve, 10));
        return done;`),
    ).toEqual(FLOOD);
  });

  test('do not count once the cell knows them: 1,000 are pending, cleared, and set again, turn after turn', async () => {
    expect(
      await answer(`${WAIT}
        let fired = 0;
        for (let round = 0; round < 3; round++) {
          const timers = Array.from({ length: 999 }, () => setTimeout(() => fired++, 60_000));
          await wait(2);
          timers.forEach(clearTimeout);
        }
        return new Promise((resolve) => { for (let i = 1; i <= 1_000; i++) setTimeout(() => { if (i === 1_000) resolve(fired); }, 2); });`),
    ).toBe(0);
  });

  test('a delay counts from the time at which the timer was set, not from its arrival in the cell', async () => {
    const [early, late] = (await answer(`
      const from = Date.now();
      const order = [];
      return new Promise((resolve) => {
        setTimeout(() => order.push('long'), 100);
        while (Date.now() - from < 90);
        setTimeout(() => { order.push('short'); }, 40);
        setTimeout(() => resolve(order), 60);
      });`)) as string[];
    expect([early, late]).toEqual(['long', 'short']);
  });
});

test('from the sixth timer that sets a timer on, each waits for 4 ms', async () => {
  const took = (await answer(`
    const chain = (count, next) => new Promise((resolve) => {
      const run = (left) => left === 0 ? resolve() : next(() => run(left - 1));
      run(count);
    });
    const clock = async (run) => { const start = Date.now(); await run(); return Date.now() - start; };
    return clock(() => chain(26, (then) => setTimeout(then)));`)) as number;
  expect(took).toBeGreaterThanOrEqual(70);
  // An interval is nested in its own run before.
  expect(
    await answer(`
      let runs = 0;
      const start = Date.now();
      return new Promise((resolve) => { const id = setInterval(() => { if (++runs === 26) { clearInterval(id); resolve(Date.now() - start >= 70); } }); });`),
  ).toBe(true);
});

describe('an exception in a handler', () => {
  test('is logged for its call, which continues', async () => {
    const worker = await handler(`
      ${WAIT}
      setTimeout(() => { throw new Error('in a timer'); });
      await wait(20);
      return new Response('went on');`);
    expect(await (await fetch(worker.endpoint)).text()).toBe('went on');
    expect(await annex.log(worker)).toMatchObject([
      { level: 'error', text: expect.stringContaining('Error: in a timer') },
    ]);
  });

  test('goes to global listeners first, which may keep it out of the log', async () => {
    const worker = await handler(`
      ${WAIT}
      const seen = [];
      addEventListener('error', (event) => { seen.push([event.message, event.lineno > 0, event.filename !== '']); if (event.error.message === 'kept') event.preventDefault(); });
      setTimeout(() => { throw new Error('kept'); });
      setTimeout(() => { throw new Error('told'); });
      queueMicrotask(() => { throw new Error('kept'); });
      await wait(20);
      onerror = () => true;
      reportError(new Error('handled'));
      onerror = () => { throw new Error('by the handler'); };
      reportError(new Error('kept'));
      return Response.json(seen.slice(0, 3));`);
    expect(await (await fetch(worker.endpoint)).json()).toEqual([
      ['Uncaught Error: kept', true, true],
      ['Uncaught Error: kept', true, true],
      ['Uncaught Error: told', true, true],
    ]);
    expect((await annex.log(worker)).map(({ text }) => text.split('\n')[0])).toEqual([
      'Error: told',
      'Error: by the handler',
    ]);
  });
});

test('a timer ends with its call', async () => {
  const worker = await annex.deploy(
    'timers-left',
    `${WAIT} let ran = 0; let first = true;
     export default { async fetch() {
       if (first) { first = false; setTimeout(() => ran++, 1); setInterval(() => ran++, 1); return new Response('left'); }
       await wait(30);
       return new Response(String(ran));
     } };`,
  );
  expect(await (await fetch(worker.endpoint)).text()).toBe('left');
  expect(await (await fetch(worker.endpoint)).text()).toBe('0');
});

test('attack: a frame of the prelude in a stack exposes neither its function nor its receiver', async () => {
  expect(
    await answer(`
      const found = [];
      Error.prepareStackTrace = (error, frames) => { for (const frame of frames) found.push(frame.getFunction(), frame.getThis()); return 'text'; };
      const look = () => void new Error('look').stack;
      addEventListener('error', look);
      const controller = new AbortController();
      controller.signal.addEventListener('abort', look);
      controller.abort();
      await new Promise((resolve) => setTimeout(() => { look(); resolve(); }));
      reportError(new Error('x'));
      delete Error.prepareStackTrace;
      return [found.length > 0, found.filter((value) => value !== undefined && value !== globalThis).length];`),
  ).toEqual([true, 0]);
});
