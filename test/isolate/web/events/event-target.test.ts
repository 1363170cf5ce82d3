/** Events inside an isolate: dispatch to listeners, and uncaught exceptions. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createWebIsolate, type WebIsolate } from '../../../support/web/web-isolate.ts';

let isolate: WebIsolate;
beforeAll(async () => {
  isolate = await createWebIsolate();
});
afterAll(() => isolate.dispose());
beforeEach(async () => {
  await isolate.run('prelude.thrown.length = 0');
});

/** First lines of the exceptions in the log. */
const logged = (code: string): Promise<unknown> =>
  isolate.run(`${code}; return prelude.thrown.map((text) => text.split('\\n')[0]);`);

describe('an event', () => {
  test.each([
    [
      'ErrorEvent',
      [
        'bubbles',
        'colno',
        'to colno',
        'error',
        'filename',
        'to filename',
        'lineno',
        'to lineno',
        'message',
        'to message',
      ],
    ],
    [
      'MessageEvent',
      ['bubbles', 'data', 'lastEventId', 'to lastEventId', 'origin', 'to origin', 'ports', 'source'],
    ],
  ])(
    'of the kind %s reads and converts one member of its dictionary after the other',
    async (kind, order) => {
      const read = await isolate.run(`
      const read = [];
      const plain = ['bubbles', 'data', 'error', 'ports', 'source'];
      const init = {};
      for (const name of ['source', 'ports', 'origin', 'message', 'lineno', 'lastEventId', 'filename', 'error', 'data', 'colno', 'bubbles'])
        Object.defineProperty(init, name, { get() {
          read.push(name);
          return plain.includes(name) ? undefined : { toString() { read.push('to ' + name); return '1'; } };
        } });
      // The interface is made at its first use. From then on, a replaced iterator has no effect.
      new ${kind}('x');
      const iterate = Array.prototype[Symbol.iterator];
      Array.prototype[Symbol.iterator] = function () { read.push('iterated'); return iterate.call(this); };
      try { new ${kind}('x', init); } finally { Array.prototype[Symbol.iterator] = iterate; }
      return read;`);
      expect(read).toEqual(order);
    },
  );

  test('has the attributes of its dictionary, read in order, and neutral ones before its dispatch', async () => {
    expect(
      await isolate.run(`
        const read = [];
        const init = { get composed() { read.push('composed'); return 1; }, get cancelable() { read.push('cancelable'); return 0; },
          get bubbles() { read.push('bubbles'); return {}; } };
        const event = new Event({ toString: () => 'kind' }, init);
        return [read, event.type, event.bubbles, event.cancelable, event.composed, event.target, event.srcElement, event.currentTarget,
          event.eventPhase, event.composedPath(), event.defaultPrevented, event.returnValue, event.cancelBubble, event.isTrusted,
          Number.isInteger(event.timeStamp) && event.timeStamp > 0];`),
    ).toEqual([
      ['bubbles', 'cancelable', 'composed'],
      ...['kind', true, false, true, null, null, null, 0, [], false, true, false, false, true],
    ]);
  });

  test('has the interface of a browser: constants, unforgeable isTrusted, names, lengths, brands', async () => {
    expect(
      await isolate.run(`
        const threw = (run) => { try { run(); } catch (error) { return error.name; } };
        const [one, two] = [new Event('a'), new CustomEvent('b')].map((event) => Object.getOwnPropertyDescriptor(event, 'isTrusted'));
        return [Event.AT_TARGET, one.get === two.get, one.enumerable, one.configurable, one.set === undefined,
          [Event, CustomEvent, ErrorEvent, EventTarget].map((face) => [face.name, face.length, String(face.prototype)]),
          ['type', 'isTrusted'].map((key) => Object.hasOwn(Event.prototype, key)), Object.keys(Event.prototype).includes('preventDefault'),
          threw(() => new Event()), threw(() => Event('x')), threw(() => Event.prototype.type), threw(() => new Event(Symbol())), threw(() => new Event('x', 1)),
          EventTarget.prototype.addEventListener.length, EventTarget.prototype.dispatchEvent.length, Event.prototype.initEvent.length];`),
    ).toEqual([
      2,
      true,
      true,
      false,
      true,
      [
        ['Event', 1, '[object Event]'],
        ['CustomEvent', 1, '[object CustomEvent]'],
        ['ErrorEvent', 1, '[object ErrorEvent]'],
        ['EventTarget', 0, '[object EventTarget]'],
      ],
      [true, false],
      true,
      ...Array(5).fill('TypeError'),
      ...[2, 1, 1],
    ]);
  });

  test('carries a detail, or an error and its place', async () => {
    expect(
      await isolate.run(`
        const custom = new CustomEvent('c', { detail: [1] });
        custom.initCustomEvent('d', true, true, 'new');
        const error = new ErrorEvent('error', { message: 'm', filename: 'f\\ud800', lineno: -1, colno: 4.7, error: 7 });
        return [new CustomEvent('c').detail, custom.type, custom.detail, custom.cancelable, error.message, error.filename, error.lineno, error.colno, error.error,
          new ErrorEvent('error').error === undefined];`),
    ).toEqual([null, 'd', 'new', true, 'm', 'f\ufffd', 4294967295, 4, 7, true]);
  });

  test('may be made anew by initEvent, but not while it is dispatched', async () => {
    expect(
      await isolate.run(`
        const event = new Event('one', { cancelable: true });
        const seen = [];
        const target = new EventTarget();
        target.addEventListener('one', () => { event.initEvent('two', true); seen.push(event.type, event.bubbles); event.preventDefault(); });
        target.dispatchEvent(event);
        seen.push(event.defaultPrevented);
        event.initEvent('two', true);
        return [...seen, event.type, event.bubbles, event.cancelable, event.defaultPrevented, event.target];`),
    ).toEqual(['one', false, true, 'two', true, false, false, null]);
  });
});

describe('a dispatch', () => {
  test('runs listeners at the target, capturing ones first, and then forgets its path', async () => {
    expect(
      await isolate.run(`
        const target = new EventTarget();
        const seen = [];
        const handler = { handleEvent(event) { seen.push('object', this === handler); } };
        target.addEventListener('x', function (event) {
          seen.push('bubble', this === target, event.target === target, event.currentTarget === target, event.eventPhase, event.composedPath().length);
        });
        target.addEventListener('x', handler, null);
        target.addEventListener('x', () => seen.push('capture'), true);
        target.addEventListener('y', () => seen.push('never'));
        const event = new Event('x');
        return [target.dispatchEvent(event), seen, event.eventPhase, event.currentTarget, event.composedPath(), event.target === target];`),
    ).toEqual([true, ['capture', 'bubble', true, true, true, 2, 1, 'object', true], 0, null, [], true]);
  });

  test('heeds once, passive, duplicates, removal and addition on the way', async () => {
    expect(
      await isolate.run(`
        const target = new EventTarget();
        const seen = [];
        const twice = () => seen.push('twice');
        const removed = () => seen.push('removed');
        target.addEventListener('x', () => { seen.push('once'); target.dispatchEvent(new Event('x')); }, { once: true });
        target.addEventListener('x', twice); target.addEventListener('x', twice, { capture: false, once: true }); target.addEventListener('x', twice, true);
        target.addEventListener('x', (event) => { event.preventDefault(); seen.push(event.defaultPrevented); }, { passive: true });
        target.addEventListener('x', () => { target.removeEventListener('x', removed); target.addEventListener('x', () => seen.push('late'), { once: true }); }, { once: true });
        target.addEventListener('x', removed);
        const first = target.dispatchEvent(new Event('x', { cancelable: true }));
        target.addEventListener('x', null); target.removeEventListener('x', undefined);
        return [first, seen];`),
    ).toEqual([true, ['twice', 'once', 'twice', 'twice', false, 'twice', false]]);
  });

  test('stops when propagation is stopped, and returns whether the default is prevented', async () => {
    expect(
      await isolate.run(`
        const seen = [];
        const run = (stop, options) => {
          const target = new EventTarget();
          target.addEventListener('x', (event) => { seen.push('a'); stop(event); }, true);
          target.addEventListener('x', () => seen.push('b'), true);
          target.addEventListener('x', () => seen.push('c'));
          seen.push(target.dispatchEvent(new Event('x', options)));
        };
        run((event) => event.stopPropagation());
        run((event) => { event.cancelBubble = false; event.cancelBubble = true; });
        run((event) => event.stopImmediatePropagation());
        run((event) => event.preventDefault(), { cancelable: true });
        run((event) => { event.returnValue = false; }, { cancelable: true });
        run((event) => event.preventDefault());
        return seen.join(' ');`),
    ).toBe('a b true a b true a true a b c false a b c false a b c true');
  });

  test('of an event during its own dispatch, or of a value that is not an event, is refused', async () => {
    expect(
      await isolate.run(`
        const target = new EventTarget();
        const names = [];
        const attempt = (run) => { try { run(); } catch (error) { names.push(error.name); } };
        target.addEventListener('x', (event) => attempt(() => target.dispatchEvent(event)), { once: true });
        target.dispatchEvent(new Event('x'));
        attempt(() => target.dispatchEvent(null)); attempt(() => target.dispatchEvent(Object.create(Event.prototype)));
        attempt(() => target.addEventListener('x')); attempt(() => target.addEventListener('x', 1));
        attempt(() => target.addEventListener('x', () => {}, { signal: null })); attempt(() => target.addEventListener('x', null, { signal: {} }));
        attempt(() => EventTarget.prototype.addEventListener.call({}, 'x', null));
        return names;`),
    ).toEqual(['InvalidStateError', ...Array(7).fill('TypeError')]);
  });

  test('continues after a listener throws, and the exception is logged', async () => {
    expect(
      await logged(`
        const target = new EventTarget();
        target.addEventListener('x', () => { throw new Error('first'); });
        target.addEventListener('x', { get handleEvent() { throw new Error('second'); } });
        target.addEventListener('x', { handleEvent: 1 });
        target.addEventListener('x', () => { throw 'last'; });
        target.dispatchEvent(new Event('x'))`),
    ).toEqual([
      'Error: first',
      'Error: second',
      'TypeError: handleEvent of a listener is not a function',
      "'last'",
    ]);
  });

  test('reaches a target of a class of its own', async () => {
    expect(
      await isolate.run(`
        class Radio extends EventTarget { say(detail) { return this.dispatchEvent(new CustomEvent('say', { detail, cancelable: true })); } }
        const radio = new Radio();
        radio.addEventListener('say', (event) => { if (event.detail === 'no') event.preventDefault(); });
        return [radio.say('yes'), radio.say('no')];`),
    ).toEqual([true, false]);
  });

  test('attack: a setter on Array.prototype sees no listener', async () => {
    expect(
      await isolate.run(`
        const seen = [];
        Object.defineProperty(Array.prototype, 0, { set(value) { seen.push(value); }, configurable: true });
        const target = new EventTarget();
        let ran = 0;
        target.addEventListener('x', () => { ran++; });
        target.dispatchEvent(new Event('x'));
        delete Array.prototype[0];
        return [ran, seen.length];`),
    ).toEqual([1, 0]);
  });
});

describe('an uncaught exception', () => {
  test('is dispatched to the listeners of the global scope, and logged unless they prevent it', async () => {
    expect(
      await isolate.run(`
        const seen = [];
        const listen = (event) => { seen.push([event.type, event.message, event.error.message, event.isTrusted, event.cancelable, event.target === globalThis, event.lineno > 0]);
          if (event.error.message === 'kept') event.preventDefault(); };
        addEventListener('error', listen);
        reportError(new TypeError('told'));
        reportError(new TypeError('kept'));
        queueMicrotask(() => { throw new RangeError('micro'); });
        await null; await null;
        self.removeEventListener('error', listen);
        reportError(new Error('alone'));
        return [seen, prelude.thrown.map((text) => text.split('\\n')[0])];`),
    ).toEqual([
      [
        ['error', 'Uncaught TypeError: told', 'told', true, true, true, true],
        ['error', 'Uncaught TypeError: kept', 'kept', true, true, true, true],
        ['error', 'Uncaught RangeError: micro', 'micro', true, true, true, true],
      ],
      ['TypeError: told', 'RangeError: micro', 'Error: alone'],
    ]);
  });

  test('goes to onerror in its five parts, whose true keeps it out of the log', async () => {
    expect(
      await isolate.run(`
        const seen = [];
        const before = onerror;
        onerror = function (...parts) { seen.push([parts.length, parts[0], parts[4], this === globalThis]); return parts[4] === 'kept'; };
        const held = typeof onerror;
        reportError('kept'); reportError('told');
        onerror = 'no function';
        reportError('unheard');
        return [before, held, onerror, seen, prelude.thrown, Object.getOwnPropertyDescriptor(globalThis, 'onerror').set.name];`),
    ).toEqual([
      null,
      'function',
      null,
      [
        [5, 'Uncaught kept', 'kept', true],
        [5, 'Uncaught told', 'told', true],
      ],
      ["'told'", "'unheard'"],
      'set onerror',
    ]);
  });

  test('attack: a listener that throws does not receive its own exception forever', async () => {
    expect(
      await logged(`
        let times = 0;
        const listen = () => { times++; reportError(new Error('nested')); throw new Error('again'); };
        addEventListener('error', listen);
        reportError(new Error('outer'));
        removeEventListener('error', listen);
        prelude.thrown.push('times ' + times)`),
    ).toEqual(['Error: nested', 'Error: again', 'Error: outer', 'times 1']);
  });

  test('may be any value, of which no getter runs', async () => {
    expect(
      await isolate.run(`
        const seen = [];
        const listen = (event) => { seen.push(event.message); event.preventDefault(); };
        addEventListener('error', listen);
        let ran = 0;
        for (const value of [undefined, null, 1n, Symbol('s'), { get name() { ran++; }, get message() { ran++; } }, new Error('x'.repeat(1e5)),
          new Proxy({}, { get() { throw 1; }, getOwnPropertyDescriptor() { throw 1; }, ownKeys() { throw 1; }, getPrototypeOf() { throw 1; } })]) reportError(value);
        removeEventListener('error', listen);
        let refused; try { reportError(); } catch (error) { refused = error.name; }
        return [seen.map((text) => text.slice(0, 60)), ran, Math.max(...seen.map((text) => text.length)) < 5000, refused, prelude.thrown];`),
    ).toEqual([
      [
        'Uncaught undefined',
        'Uncaught null',
        'Uncaught 1n',
        'Uncaught Symbol(s)',
        'Uncaught { name: [Getter], message: [Getter] }',
        `Uncaught Error: ${'x'.repeat(44)}`,
        'Uncaught [cannot be shown]',
      ],
      0,
      true,
      'TypeError',
      [],
    ]);
  });

  test('reaches listeners that were added without the global functions', async () => {
    const other = await createWebIsolate();
    try {
      expect(
        await other.run(`
          const seen = [];
          Object.getPrototypeOf(AbortSignal).prototype.addEventListener.call(globalThis, 'error', (event) => { seen.push(event.error); event.preventDefault(); });
          reportError(1);
          return [seen, prelude.thrown];`),
      ).toEqual([[1], []]);
    } finally {
      other.dispose();
    }
  });
});

test('global listeners take events of any kind', async () => {
  expect(
    await isolate.run(`
      const seen = [];
      addEventListener('mine', function (event) { seen.push(event.target === globalThis, this === globalThis); }, { once: true });
      seen.push(dispatchEvent(new Event('mine')), globalThis.dispatchEvent(new Event('mine')));
      return seen;`),
  ).toEqual([true, true, true, true]);
});

test('performance counts whole milliseconds from its origin, and never backwards', async () => {
  expect(
    await isolate.run(`
      const first = performance.now();
      const clock = Date.now; Date.now = () => 0;
      const second = performance.now();
      Date.now = clock;
      // Both clocks are read in turn, however long the machine takes between them.
      const [before, wall, after] = [performance.now() - 1, Date.now() - performance.timeOrigin, performance.now() + 1];
      let refused; try { new Performance(); } catch (error) { refused = error.message; }
      let unbranded; try { Performance.prototype.now.call({}); } catch (error) { unbranded = error.name; }
      return [Number.isInteger(first) && first > 0, second >= first, Number.isInteger(performance.timeOrigin), before <= wall && wall <= after,
        JSON.stringify(performance) === JSON.stringify({ timeOrigin: performance.timeOrigin }), performance instanceof EventTarget, String(performance), refused, unbranded];`),
  ).toEqual([true, true, true, true, true, true, '[object Performance]', 'Illegal constructor', 'TypeError']);
});
