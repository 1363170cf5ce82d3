/** AbortController and AbortSignal: inside an isolate, and with the timers of a real cell. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { TestService } from '../../../support/service.ts';
import { createWebIsolate, type WebIsolate } from '../../../support/web/web-isolate.ts';

let isolate: WebIsolate;
beforeAll(async () => {
  isolate = await createWebIsolate();
});
afterAll(() => isolate.dispose());
beforeEach(async () => {
  await isolate.run('prelude.thrown.length = 0');
});

test('an abort has its reason, and fires one trusted event, once', async () => {
  expect(
    await isolate.run(`
      const controller = new AbortController();
      const { signal } = controller;
      const seen = [signal.aborted, signal.reason === undefined, controller.signal === signal];
      signal.addEventListener('abort', (event) => seen.push('listener', event.isTrusted, event.bubbles, event.target === signal, signal.aborted));
      signal.onabort = function () { seen.push('handler', this === signal); };
      controller.abort('why'); controller.abort('again');
      signal.onabort = () => seen.push('late');
      let thrown; try { signal.throwIfAborted(); } catch (error) { thrown = error; }
      return [seen, signal.reason, thrown];`),
  ).toEqual([[false, true, true, 'listener', true, false, true, true, 'handler', true], 'why', 'why']);
});

test('an abort without a reason is an AbortError; null is a reason', async () => {
  expect(
    await isolate.run(`
      const controller = new AbortController();
      controller.abort();
      const { reason } = controller.signal;
      return [reason.name, reason.code, reason instanceof DOMException, AbortSignal.abort(undefined).reason.name, AbortSignal.abort(null).reason, AbortSignal.abort().aborted,
        new AbortController().signal.throwIfAborted() === undefined];`),
  ).toEqual(['AbortError', 20, true, 'AbortError', null, true, true]);
});

test('the interfaces look like those of a browser', async () => {
  expect(
    await isolate.run(`
      const threw = (run) => { try { run(); } catch (error) { return error.name; } };
      const getter = (face, key) => Object.getOwnPropertyDescriptor(face.prototype, key).get;
      const bad = [null, undefined, 0, 'x', {}, Object.create(AbortSignal.prototype), Object.create(AbortController.prototype)];
      return [[AbortController, AbortSignal].map((face) => [face.name, face.length, String(face.prototype)]), Object.getPrototypeOf(AbortSignal) === EventTarget,
        Object.keys(AbortSignal), Object.keys(AbortSignal.prototype), Object.keys(AbortController.prototype), AbortSignal.any.length, AbortSignal.timeout.length, AbortSignal.abort.length,
        threw(() => new AbortSignal()), threw(() => AbortSignal()), threw(() => AbortController()),
        bad.every((value) => threw(() => getter(AbortSignal, 'aborted').call(value)) === 'TypeError' && threw(() => getter(AbortSignal, 'onabort').call(value)) === 'TypeError'
          && threw(() => getter(AbortController, 'signal').call(value)) === 'TypeError' && threw(() => AbortController.prototype.abort.call(value)) === 'TypeError')];`),
  ).toEqual([
    [
      ['AbortController', 0, '[object AbortController]'],
      ['AbortSignal', 0, '[object AbortSignal]'],
    ],
    true,
    ['abort', 'any', 'timeout'],
    ['aborted', 'reason', 'throwIfAborted', 'onabort'],
    ['signal', 'abort'],
    ...[1, 1, 0],
    ...Array(3).fill('TypeError'),
    true,
  ]);
});

test('a signal removes the listeners that were added with it', async () => {
  expect(
    await isolate.run(`
      const controller = new AbortController();
      const { signal } = controller;
      const target = new EventTarget();
      let count = 0;
      target.addEventListener('x', () => count++, { signal });
      target.addEventListener('x', () => count++, { signal, once: true, capture: true });
      target.dispatchEvent(new Event('x')); target.dispatchEvent(new Event('x'));
      target.addEventListener('y', () => controller.abort(), { signal });
      target.addEventListener('y', () => count += 100, { signal });
      target.dispatchEvent(new Event('y')); target.dispatchEvent(new Event('x'));
      target.addEventListener('x', () => count += 100, { signal });
      target.dispatchEvent(new Event('x'));
      return count;`),
  ).toBe(3);
});

describe('AbortSignal.any', () => {
  test('aborts with the first of its signals, or at once with the first that is aborted already', async () => {
    expect(
      await isolate.run(`
        const [a, b] = [new AbortController(), new AbortController()];
        const any = AbortSignal.any(new Set([a.signal, b.signal, a.signal]));
        b.abort('b'); a.abort('a');
        return [any.reason, AbortSignal.any([b.signal, a.signal]).reason, AbortSignal.any([]).aborted, any === AbortSignal.any([any])];`),
    ).toEqual(['b', 'b', false, false]);
  });

  test('is composable, and all have their reason before the first event, in the order they were made', async () => {
    expect(
      await isolate.run(`
        const controller = new AbortController();
        const source = controller.signal;
        const one = AbortSignal.any([source]);
        const two = AbortSignal.any([one]);
        const three = AbortSignal.any([source, two]);
        const signals = [source, one, two, three];
        const seen = [];
        signals.forEach((signal, i) => signal.addEventListener('abort', () => seen.push(i, signals.every(({ aborted, reason }) => aborted && reason === 'why'))));
        controller.abort('why');
        return seen;`),
    ).toEqual([0, true, 1, true, 2, true, 3, true]);
  });

  test('allows an abort from inside of an abort event', async () => {
    expect(
      await isolate.run(`
        const [a, b] = [new AbortController(), new AbortController()];
        const any = AbortSignal.any([a.signal, b.signal]);
        let events = 0;
        any.onabort = () => events++;
        a.signal.onabort = () => b.abort('b');
        a.abort('a');
        const late = AbortSignal.any([any]);
        return [any.reason, events, late.reason];`),
    ).toEqual(['a', 1, 'a']);
  });

  test('takes signals and nothing else', async () => {
    expect(
      await isolate.run(`
        const signal = new AbortController().signal;
        return [[], [undefined], [null], ['x'], [{}], [[{}]], [[Object.create(signal)]], [{ length: 0 }], [signal]].map((parameters) => {
          try { return AbortSignal.any(...parameters).aborted; } catch (error) { return error.name; }
        });`),
    ).toEqual(Array(9).fill('TypeError'));
  });

  test('dependent signals of a long-lived one are collected, except those with a listener', async () => {
    const small = await createWebIsolate({ memoryMib: 16 });
    await small.run(`
      globalThis.long = new AbortController();
      globalThis.heard = 0;
      AbortSignal.any([long.signal]).addEventListener('abort', () => heard++);`);
    // Weakly held objects live at least until the end of the entry that used them.
    for (let entry = 0; entry < 60; entry++) {
      await small.run(`
        for (let i = 0; i < 400; i++) {
          const signal = AbortSignal.any([long.signal]);
          signal.ballast = new Array(200).fill(i);
          const listen = () => { heard += 100; };
          signal.addEventListener('abort', listen);
          signal.removeEventListener('abort', listen);
        }`);
    }
    expect(await small.run('long.abort(); return heard;')).toBe(1);
    small.dispose();
  });
});

describe('AbortSignal.timeout', () => {
  test('takes a whole number of milliseconds that a script can count', async () => {
    expect(
      await isolate.run(`return [[], [-1], [NaN], [Infinity], [2 ** 53], ['x'], [1n], [Symbol()], [-0.5], ['5'], [2 ** 53 - 1], [null]].map((parameters) => {
        try { return AbortSignal.timeout(...parameters).aborted; } catch (error) { return error.name; }
      })`),
    ).toEqual([...Array(8).fill('TypeError'), false, false, false, false]);
  });

  test('aborts with a TimeoutError, and no clearTimeout prevents it', async () => {
    const annex = await TestService.start();
    try {
      const { endpoint } = await annex.deploy(
        'timeout',
        `export default { async fetch() {
           const signal = AbortSignal.timeout(20);
           for (let id = 1; id < 100; id++) { clearTimeout(id); clearInterval(id); }
           const any = AbortSignal.any([signal, new AbortController().signal]);
           await new Promise((resolve) => { any.onabort = resolve; });
           return Response.json([signal.reason.name, signal.reason.code, any.reason === signal.reason, signal.reason instanceof DOMException]);
         } };`,
      );
      expect(await (await fetch(endpoint)).json()).toEqual(['TimeoutError', 23, true, true]);
    } finally {
      await annex.stop();
    }
  });

  test('ends with its call', async () => {
    const annex = await TestService.start();
    try {
      const { endpoint } = await annex.deploy(
        'left-behind',
        `let left; export default { async fetch() {
           if (left === undefined) { left = AbortSignal.timeout(1); return new Response('left'); }
           await new Promise((resolve) => { AbortSignal.timeout(30).onabort = resolve; });
           return new Response(String(left.aborted));
         } };`,
      );
      expect(await (await fetch(endpoint)).text()).toBe('left');
      expect(await (await fetch(endpoint)).text()).toBe('false');
    } finally {
      await annex.stop();
    }
  });
});

test('attack: replaced prototypes change no abort, and do not hide it from the prelude', async () => {
  const other = await createWebIsolate();
  try {
    expect(
      await other.run(`
        const controller = new AbortController();
        const { signal } = controller;
        const any = AbortSignal.any([signal]);
        const target = new EventTarget();
        let count = 0;
        target.addEventListener('x', () => count++, { signal: any });
        const [set, deref] = [Map.prototype.set, WeakRef.prototype.deref];
        for (const prototype of [AbortSignal.prototype, EventTarget.prototype, Event.prototype])
          for (const key of Object.keys(prototype)) if (Object.getOwnPropertyDescriptor(prototype, key).configurable) Object.defineProperty(prototype, key, { get() { throw new Error('replaced'); } });
        WeakRef.prototype.deref = () => undefined;
        Map.prototype.set = () => { throw new Error('replaced'); };
        Array.prototype[Symbol.iterator] = () => { throw new Error('replaced'); };
        controller.abort('why');
        return [count, prelude.thrown.length];`),
    ).toEqual([0, 0]);
  } finally {
    other.dispose();
  }
});
