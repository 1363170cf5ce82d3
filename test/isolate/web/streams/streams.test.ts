/**
 * Streams inside an isolate: the corrected classes of the library, and the operations of the
 * prelude on them.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createWebIsolate, type WebIsolate } from '../../../support/web/web-isolate.ts';

const HELPERS = `
  globalThis.nameOf = async (run) => { try { await run(); return 'none'; } catch (error) { return error.name ?? error; } };
  globalThis.collect = async (iterable) => { const all = []; for await (const item of iterable) all.push(item); return all; };
  globalThis.flush = async () => { for (let i = 0; i < 50; i++) await undefined; };
`;

async function open(): Promise<WebIsolate> {
  const isolate = await createWebIsolate();
  await isolate.run(HELPERS);
  return isolate;
}

/** In an isolate of its own, for a body that replaces built-ins. */
async function runAlone(body: string): Promise<unknown> {
  const isolate = await open();
  try {
    return await isolate.run(body);
  } finally {
    isolate.dispose();
  }
}

let isolate: WebIsolate;
beforeAll(async () => {
  isolate = await open();
});
afterAll(() => isolate.dispose());

/** Members of each class with the number of arguments they require; `-` marks an attribute. */
const CLASSES: Record<string, { length: number; members: string }> = {
  ReadableStream: {
    length: 0,
    members: 'cancel:0 getReader:0 locked:- pipeThrough:1 pipeTo:1 tee:0 values:0',
  },
  ReadableStreamDefaultReader: { length: 1, members: 'cancel:0 closed:- read:0 releaseLock:0' },
  ReadableStreamBYOBReader: { length: 1, members: 'cancel:0 closed:- read:1 releaseLock:0' },
  ReadableStreamDefaultController: { length: 0, members: 'close:0 desiredSize:- enqueue:0 error:0' },
  ReadableByteStreamController: {
    length: 0,
    members: 'byobRequest:- close:0 desiredSize:- enqueue:1 error:0',
  },
  ReadableStreamBYOBRequest: { length: 0, members: 'respond:1 respondWithNewView:1 view:-' },
  WritableStream: { length: 0, members: 'abort:0 close:0 getWriter:0 locked:-' },
  WritableStreamDefaultWriter: {
    length: 1,
    members: 'abort:0 close:0 closed:- desiredSize:- ready:- releaseLock:0 write:0',
  },
  WritableStreamDefaultController: { length: 0, members: 'error:0 signal:-' },
  TransformStream: { length: 0, members: 'readable:- writable:-' },
  TransformStreamDefaultController: { length: 0, members: 'desiredSize:- enqueue:0 error:0 terminate:0' },
  ByteLengthQueuingStrategy: { length: 1, members: 'highWaterMark:- size:-' },
  CountQueuingStrategy: { length: 1, members: 'highWaterMark:- size:-' },
};

describe('classes', () => {
  test('every class has its name, its members and their lengths, and no others', async () => {
    const found = await isolate.run(`
      const found = {};
      for (const name of ${JSON.stringify(Object.keys(CLASSES))}) {
        const made = globalThis[name];
        const { prototype } = made;
        const members = Object.getOwnPropertyNames(prototype).filter((key) => key !== 'constructor').sort().map((key) => {
          const { value, get, enumerable, writable = true, configurable } = Object.getOwnPropertyDescriptor(prototype, key);
          if (!enumerable || !writable || !configurable) return key + ':hidden';
          if ((value ?? get).name !== (get ? 'get ' : '') + key) return key + ':misnamed';
          return key + ':' + (get ? '-' : value.length);
        });
        const { writable, enumerable } = Object.getOwnPropertyDescriptor(made, 'prototype');
        const right = made.name === name && prototype.constructor === made && String(prototype) === '[object ' + name + ']' && !writable && !enumerable;
        found[name] = right ? { length: made.length, members: members.join(' ') } : 'misshapen';
      }
      return found;`);
    expect(found).toEqual(CLASSES);
  });

  test('a class that was never named by the script has its name as well', async () => {
    expect(
      await runAlone(`
        const { readable, writable } = new TransformStream();
        return [readable, writable, readable.getReader(), writable.getWriter()].map((made) => made.constructor.name)`),
    ).toEqual([
      'ReadableStream',
      'WritableStream',
      'ReadableStreamDefaultReader',
      'WritableStreamDefaultWriter',
    ]);
  });

  test('ReadableStream is a constructor that can be extended, and nothing without new', async () => {
    expect(
      await isolate.run(`
        class Numbers extends ReadableStream {
          constructor() { super({ start(controller) { controller.enqueue(1); controller.close(); } }); this.own = true; }
        }
        const numbers = new Numbers();
        return [await nameOf(() => ReadableStream()), numbers instanceof Numbers, numbers instanceof ReadableStream, numbers.own, await collect(numbers)]`),
    ).toEqual(['TypeError', true, true, true, [1]]);
  });

  test('an asynchronous iterator inherits from that of the engine and has next and return only', async () => {
    expect(
      await isolate.run(`
        const iterator = new ReadableStream().values();
        const prototype = Object.getPrototypeOf(iterator);
        const base = Object.getPrototypeOf(Object.getPrototypeOf(async function* () {}).prototype);
        return [Object.getPrototypeOf(prototype) === base, Object.getOwnPropertyNames(prototype), prototype.next.length,
          prototype.return.length, iterator[Symbol.asyncIterator]() === iterator, String(iterator),
          ReadableStream.prototype[Symbol.asyncIterator] === ReadableStream.prototype.values]`),
    ).toEqual([true, ['next', 'return'], 0, 1, true, '[object ReadableStream AsyncIterator]', true]);
  });

  test('leaving a loop cancels the stream, unless preventCancel is set', async () => {
    expect(
      await isolate.run(`
        const log = [];
        const make = () => new ReadableStream({ start(c) { c.enqueue(1); c.enqueue(2); }, cancel() { log.push('cancelled'); } });
        for await (const _ of make()) break;
        const kept = make();
        for await (const _ of kept.values({ preventCancel: true })) break;
        return [log, kept.locked, (await kept.getReader().read()).value]`),
    ).toEqual([['cancelled'], false, 2]);
  });

  test('an inspection shows the state of a stream, and nothing of the library', async () => {
    expect(
      await isolate.run(`
        const stream = new ReadableStream({ type: 'bytes' });
        const reader = stream.getReader();
        return [stream, reader, new WritableStream(), Object.create(ReadableStream.prototype)].map((value) => prelude.inspect(value))`),
    ).toEqual([
      "ReadableStream { locked: true, state: 'readable', supportsBYOB: true }",
      'ReadableStreamDefaultReader {}',
      "WritableStream { locked: false, state: 'writable' }",
      'ReadableStream {}',
    ]);
  });
});

describe('from', () => {
  test('reads asynchronous and synchronous iterables, strings and other streams', async () => {
    expect(
      await isolate.run(`return [
        await collect(ReadableStream.from('a😀')),
        await collect(ReadableStream.from([1, Promise.resolve(2)])),
        await collect(ReadableStream.from((async function* () { yield 3; })())),
        await collect(ReadableStream.from(ReadableStream.from([4]))),
      ]`),
    ).toEqual([['a', '😀'], [1, 2], [3], [4]]);
  });

  test('reads the iterator, not a method called getReader, and refuses values without an iterator', async () => {
    expect(
      await isolate.run(`
        const alike = { getReader() { throw new Error('asked'); }, *[Symbol.iterator]() { yield 1; } };
        const refused = [null, undefined, 0, true, {}, () => 1, Symbol(), { [Symbol.iterator]: 1 }, { getReader() {} }];
        return [await collect(ReadableStream.from(alike)), await Promise.all(refused.map((value) => nameOf(() => ReadableStream.from(value))))]`),
    ).toEqual([[1], Array(9).fill('TypeError')]);
  });
});

describe('bytes', () => {
  test("a reader's own buffer is filled to the requested minimum, and transferred", async () => {
    expect(
      await isolate.run(`
        let next = 0;
        const stream = new ReadableStream({ type: 'bytes', pull(controller) { controller.enqueue(new Uint8Array([next++, next++])); } });
        const reader = stream.getReader({ mode: 'byob' });
        const own = new Uint8Array(8);
        const { value } = await reader.read(own, { min: 5 });
        const tooMuch = await nameOf(() => reader.read(new Uint8Array(2), { min: 3 }));
        return [[...value], own.byteLength, tooMuch, await nameOf(() => reader.read(new Uint8Array(2), { min: 0 }))]`),
    ).toEqual([[0, 1, 2, 3, 4, 5], 0, 'RangeError', 'TypeError']);
  });

  test('a queue of many thousand chunks gives them back in order', async () => {
    expect(
      await isolate.run(`
        let control;
        const stream = new ReadableStream({ start(controller) { control = controller; } });
        for (let i = 0; i < 40_000; i++) control.enqueue(i);
        control.close();
        const all = await collect(stream);
        return all.length === 40_000 && all.every((value, i) => value === i)`),
    ).toBe(true);
  });
});

describe('pipes', () => {
  test.each([
    [
      'the last write fails',
      `write() { return new Promise((_, reject) => setImmediately(() => reject(boom))); }`,
    ],
    ['the last write throws', `write() { throw boom; }`],
    [
      'it fails during the last write',
      `start(c) { this.c = c; }, write() { this.c.error(boom); return flush(); }`,
    ],
    [
      'it fails before the close',
      `start(c) { this.c = c; }, write() { setImmediately(() => this.c.error(boom)); return flush(); }`,
    ],
    ['the close fails', `close() { throw boom; }`],
  ])('end with the error of the sink where %s', async (_what, sink) => {
    expect(
      await isolate.run(`
        const boom = { name: 'boom' };
        const setImmediately = async (run) => { await undefined; await undefined; run(); };
        const ends = [];
        for (const options of [{}, { preventAbort: true, preventCancel: true }]) {
          for (const make of [
            () => new ReadableStream({ start(c) { c.enqueue('a'); c.close(); } }),
            () => new ReadableStream({ pull(c) { c.enqueue('a'); c.close(); } }, { highWaterMark: 0 }),
          ]) {
            const [source, target] = [make(), new WritableStream({ ${sink} })];
            ends.push(await nameOf(() => source.pipeTo(target, options)), source.locked, target.locked);
          }
        }
        return ends;`),
    ).toEqual(Array.from({ length: 4 }, () => ['boom', false, false]).flat());
  });

  test('an aborted signal ends the pipe, both sides and their locks', async () => {
    expect(
      await isolate.run(`
        const log = [];
        const source = new ReadableStream({ cancel(reason) { log.push(['cancel', reason.name]); } });
        const target = new WritableStream({ abort(reason) { log.push(['abort', reason.name]); } });
        const controller = new AbortController();
        const pipe = source.pipeTo(target, { signal: controller.signal });
        controller.signal.dispatchEvent(new Event('abort'));
        await flush();
        const piping = source.locked;
        controller.abort();
        return [piping, await nameOf(() => pipe), log, source.locked, target.locked]`),
    ).toEqual([
      true,
      'AbortError',
      [
        ['abort', 'AbortError'],
        ['cancel', 'AbortError'],
      ],
      false,
      false,
    ]);
  });

  test('an invalid signal, destination or pair is refused before anything is locked', async () => {
    expect(
      await isolate.run(`
        const results = [];
        for (const signal of [null, 'AbortSignal', -1, { aborted: false }, Object.create(AbortSignal.prototype)]) {
          const stream = new ReadableStream();
          results.push(await nameOf(() => stream.pipeTo(new WritableStream(), { signal })), stream.locked);
        }
        for (const run of [
          () => new ReadableStream().pipeTo(),
          () => new ReadableStream().pipeTo({}),
          () => new ReadableStream().pipeThrough(),
          () => new ReadableStream().pipeThrough({ readable: new ReadableStream() }),
        ]) results.push(await nameOf(run));
        return results;`),
    ).toEqual([...Array(5).fill(['TypeError', false]).flat(), ...Array(4).fill('TypeError')]);
  });

  test('a pipe writes neither inside `enqueue` nor inside `pipeTo`', async () => {
    expect(
      await isolate.run(`
        const log = [];
        const sink = () => new WritableStream({ write(chunk) { log.push(chunk); } });
        let control;
        const source = new ReadableStream({ start(given) { control = given; } }, { highWaterMark: 0 });
        const open = sink();
        await flush();
        void source.pipeTo(open);
        await flush();
        control.enqueue('first');
        log.push('enqueued');
        await flush();
        const filled = new ReadableStream({ start(given) { given.enqueue('second'); given.close(); } });
        const other = sink();
        await flush();
        const done = filled.pipeTo(other);
        log.push('piped', filled.locked, other.locked);
        await done;
        return log;`),
    ).toEqual(['enqueued', 'first', 'piped', true, true, 'second']);
  });

  test('read chunks are written before the destination is closed, and an error of either side reaches the other', async () => {
    expect(
      await isolate.run(`
        const log = [];
        const slow = new WritableStream({ write: async (chunk) => { await flush(); log.push(chunk); }, close() { log.push('close'); } });
        await ReadableStream.from([1, 2, 3]).pipeTo(slow);
        let control;
        const source = new ReadableStream({ start(given) { control = given; }, cancel(reason) { log.push(['cancel', reason]); } });
        const target = new WritableStream({ write(chunk) { log.push(chunk); }, abort(reason) { log.push(['abort', reason]); } });
        const failing = source.pipeTo(target);
        control.enqueue('last');
        control.error('broken');
        log.push(await failing.catch((reason) => reason));
        const refusing = new WritableStream({ write() { throw 'full'; } });
        const endless = new ReadableStream({ pull(given) { given.enqueue('x'); }, cancel(reason) { log.push(['cancel', reason]); } });
        log.push(await endless.pipeTo(refusing).catch((reason) => reason), endless.locked, refusing.locked);
        return log;`),
    ).toEqual([1, 2, 3, 'close', ['abort', 'broken'], 'broken', ['cancel', 'full'], 'full', false, false]);
  });

  test('attack: a `then` on Object.prototype is not called by a pipe of a stream or of a body', async () => {
    expect(
      await isolate.run(`
        const log = [];
        const sink = (name) => new WritableStream({ write(chunk) { log.push([name, typeof chunk === 'string' ? chunk : chunk.length]); }, close() { log.push([name, 'close']); } });
        const targets = ['stream', 'body', 'made', 'through'].map(sink);
        const stream = new ReadableStream({ start(given) { given.enqueue('a'); given.close(); } });
        const body = new Response('four').body;
        const made = new Response(new Blob(['blob'])).body;
        const through = new Response('gone through').body.pipeThrough(new TransformStream());
        let asked = 0;
        Object.prototype.then = function (fulfilled) { asked++; fulfilled(); };
        try {
          await stream.pipeTo(targets[0]);
          await body.pipeTo(targets[1]);
          await made.pipeTo(targets[2]);
          await through.pipeTo(targets[3]);
        } finally { delete Object.prototype.then; }
        return [asked, log];`),
    ).toEqual([
      0,
      [
        ['stream', 'a'],
        ['stream', 'close'],
        ['body', 4],
        ['body', 'close'],
        ['made', 4],
        ['made', 'close'],
        ['through', 12],
        ['through', 'close'],
      ],
    ]);
  });

  test('the arguments of a pipe are converted in their order, each member read once', async () => {
    expect(
      await isolate.run(`
        const log = [];
        const spy = (members) => new Proxy(members, { get(target, key) { log.push(key); return target[key]; } });
        const { readable, writable } = new TransformStream();
        void new ReadableStream().pipeThrough(spy({ readable, writable }), spy({ preventClose: true }));
        const failed = await nameOf(() => new ReadableStream().pipeThrough(spy({ readable: {} }), spy({})));
        return [log, failed]`),
    ).toEqual([
      ['readable', 'writable', 'preventAbort', 'preventCancel', 'preventClose', 'signal', 'readable'],
      'TypeError',
    ]);
  });

  test('the signal of a sink is a genuine AbortSignal, aborted before the write it interrupts is over', async () => {
    expect(
      await isolate.run(`
        let signal;
        const stream = new WritableStream({ start(controller) { signal = controller.signal; }, write: () => new Promise(() => {}) });
        const writer = stream.getWriter();
        void writer.write(1).catch(() => {});
        await flush();
        void writer.abort('why').catch(() => {});
        return [signal instanceof AbortSignal, signal.aborted, signal.reason]`),
    ).toEqual([true, true, 'why']);
  });
});

describe('the operations of the prelude', () => {
  test('checking for a stream does not load the library, and no imitation passes', async () => {
    expect(
      await runAlone(`
        const { isReadableStream } = prelude.streams;
        const before = isReadableStream({});
        const lazy = Object.getOwnPropertyDescriptor(globalThis, 'ReadableStream').get !== undefined;
        const real = new ReadableStream();
        const [half] = new ReadableStream().tee();
        const imitation = Object.create(ReadableStream.prototype, Object.getOwnPropertyDescriptors(real));
        const genuine = [real, half, ReadableStream.from([]), new TransformStream().readable, new (class extends ReadableStream {})()];
        return [before, lazy, genuine.map(isReadableStream), isReadableStream(imitation), isReadableStream(null),
          isReadableStream(Object.setPrototypeOf(new ReadableStream(), null))]`),
    ).toEqual([false, true, Array(5).fill(true), false, false, true]);
  });

  test('a byte stream pulls its source only for a pending read, and ends an open read into a buffer', async () => {
    expect(
      await isolate.run(`
        const { readAllBytes, streamState } = prelude;
        const { acquireReader, isDisturbed, isLocked, newByteStream } = prelude.streams;
        let pulls = 0;
        const stream = newByteStream({ pull(control) { if (pulls++ === 2) control.close(); else control.enqueue(new Uint8Array([pulls])); } });
        await flush();
        const before = [pulls, isDisturbed(stream), isLocked(stream)];
        const bytes = await readAllBytes(acquireReader(stream));
        const own = newByteStream({ pull(control) { control.close(); } }).getReader({ mode: 'byob' });
        const last = await own.read(new Uint8Array(4));
        return [before, [...bytes], isDisturbed(stream), isLocked(stream), streamState(stream), last.done, last.value.length]`),
    ).toEqual([[0, false, false], [1, 2], true, true, 'closed', true, 0]);
  });

  test('a source is cancelled with its reader; later calls of its controller are ignored', async () => {
    expect(
      await isolate.run(`
        const { streamState } = prelude;
        const { acquireReader, cancelStream, newReadableStream } = prelude.streams;
        const log = [];
        let control;
        const stream = newReadableStream({ start(given) { control = given; }, cancel(reason) { log.push(reason); } });
        await cancelStream(stream, 'gone');
        control.enqueue(1); control.close(); control.error(new Error('late'));
        const locked = newReadableStream({});
        acquireReader(locked);
        return [log, streamState(stream), await nameOf(() => cancelStream(locked)), await nameOf(() => acquireReader(locked))]`),
    ).toEqual([['gone'], 'closed', 'TypeError', 'TypeError']);
  });

  test('errors of a source and of invalid chunks reach the reader', async () => {
    expect(
      await isolate.run(`
        const { readAllBytes } = prelude;
        const { acquireReader, newReadableStream } = prelude.streams;
        const failing = newReadableStream({ pull() { throw new RangeError('broken'); } });
        const reader = acquireReader(failing);
        return [
          await nameOf(() => readAllBytes(reader)), await nameOf(() => (reader.release(), failing.getReader().closed)),
          await nameOf(() => readAllBytes(acquireReader(ReadableStream.from(['text'])))),
          await nameOf(() => readAllBytes(acquireReader(ReadableStream.from([new Uint16Array(1)])))),
        ]`),
    ).toEqual(['RangeError', 'RangeError', 'TypeError', 'TypeError']);
  });

  test('a long queue is read to its end without a deep stack', async () => {
    expect(
      await isolate.run(`
        const { readAllBytes, streams: { acquireReader } } = prelude;
        const stream = new ReadableStream({ start(c) { for (let i = 0; i < 100_000; i++) c.enqueue(new Uint8Array([i])); c.close(); } });
        const bytes = await readAllBytes(acquireReader(stream));
        return [bytes.length, bytes[99_999]]`),
    ).toEqual([100_000, 99_999 & 255]);
  });

  test('a tee for a clone copies the chunks of the second stream; each continues after the other is cancelled', async () => {
    expect(
      await isolate.run(`
        const { acquireReader, newReadableStream, teeStream } = prelude.streams;
        const chunk = { list: [1] };
        const { first, second } = teeStream(new ReadableStream({ start(c) { c.enqueue(chunk); c.enqueue(chunk); c.close(); } }), true);
        const one = acquireReader(first), two = acquireReader(second);
        const [a, b] = [(await one.next()).value, (await two.next()).value];
        void one.cancel('enough');
        const c = (await two.next()).value;
        const failing = teeStream(new ReadableStream({ start(c) { c.enqueue(() => {}); } }), true);
        return [a === chunk, b === chunk, b, c, (await two.next()).done, await nameOf(() => acquireReader(failing.first).next()),
          await nameOf(() => acquireReader(failing.second).next())]`),
    ).toEqual([true, false, { list: [1] }, { list: [1] }, true, 'DataCloneError', 'DataCloneError']);
  });

  test('cancelling both branches of a tee cancels the stream with both reasons; an error reaches both', async () => {
    expect(
      await isolate.run(`
        const { acquireReader, cancelStream, newReadableStream, teeStream } = prelude.streams;
        let reasons;
        const pair = teeStream(newReadableStream({ cancel(reason) { reasons = reason; } }), true);
        await Promise.all([cancelStream(pair.first, 'a'), cancelStream(pair.second, 'b')]);
        let control;
        const failing = teeStream(newReadableStream({ start(given) { control = given; } }), true);
        control.error(new RangeError('broken'));
        return [reasons, await nameOf(() => acquireReader(failing.first).next()), await nameOf(() => acquireReader(failing.second).next())]`),
    ).toEqual([['a', 'b'], 'RangeError', 'RangeError']);
  });

  test('attack: replaced methods and built-ins have no effect on it', async () => {
    expect(
      await runAlone(`
        const { readAllBytes } = prelude;
        const { acquireReader, cancelStream, isLocked, newByteStream, newReadableStream, teeStream } = prelude.streams;
        // The caller of this body calls the method "then" of its promise first.
        await undefined;
        let hostile = '';
        const trap = (target, key) => {
          const { value, get } = Object.getOwnPropertyDescriptor(target, key);
          const fake = function () { hostile += key + ' '; return undefined; };
          Object.defineProperty(target, key, value === undefined ? { get: fake, configurable: true } : { value: fake, configurable: true });
          return () => Object.defineProperty(target, key, value === undefined ? { get, configurable: true } : { value, configurable: true, writable: true });
        };
        const { ReadableStream, ReadableStreamDefaultReader, ReadableByteStreamController, ReadableStreamDefaultController } = globalThis;
        void ReadableStream.prototype;
        const undo = [
          ...['getReader', 'cancel', 'tee', 'locked'].map((key) => trap(ReadableStream.prototype, key)),
          ...['read', 'cancel', 'releaseLock', 'closed'].map((key) => trap(ReadableStreamDefaultReader.prototype, key)),
          ...['enqueue', 'close', 'error'].map((key) => trap(ReadableByteStreamController.prototype, key)),
          ...['enqueue', 'close', 'error'].map((key) => trap(ReadableStreamDefaultController.prototype, key)),
          trap(Array.prototype, 'push'), trap(Array.prototype, 'shift'), trap(Promise.prototype, 'then'), trap(Function.prototype, 'apply'),
        ];
        Object.defineProperty(Array.prototype, 0, { set() { hostile += 'setter '; }, configurable: true });
        Object.prototype.pull = Object.prototype.start = Object.prototype.cancel = () => { hostile += 'callback '; };
        let pulls = 0, results = {}, bytes, cancelled;
        const stream = newByteStream({ pull(control) { if (pulls++ === 2) control.close(); else control.enqueue(new Uint8Array([pulls])); } });
        const reading = readAllBytes(acquireReader(stream));
        results.locked = isLocked(stream);
        const queued = newReadableStream({ start(control) { control.enqueue('a'); control.enqueue('b'); control.close(); } }, 3);
        const pair = teeStream(queued, true);
        let seen = '';
        const reader = acquireReader(pair.second);
        const steps = { chunk(value) { seen += value; reader.read(steps); }, close() { seen += '.'; }, error(reason) { seen += reason; } };
        reader.read(steps);
        void cancelStream(newReadableStream({ cancel(reason) { cancelled = reason; } }), 'why');
        for (let i = 0; i < 100; i++) await undefined;
        for (let i = 0; i < undo.length; i++) undo[i]();
        delete Array.prototype[0]; delete Object.prototype.pull; delete Object.prototype.start; delete Object.prototype.cancel;
        return [hostile, results.locked, [...await reading], seen, cancelled]`),
    ).toEqual(['', true, [1, 2], 'ab.', 'why']);
  });

  test('attack: built-ins replaced before the library is loaded never receive a source, its callbacks or its controller', async () => {
    expect(
      await runAlone(`
        await undefined;
        const { readAllBytes, streams: { acquireReader, newByteStream } } = prelude;
        let calls = 0, leaks = '', control;
        const source = { pull(given) { control = given; if (calls++ === 1) given.close(); else given.enqueue(new Uint8Array([7])); } };
        const { pull } = source;
        const watch = (target, key) => {
          const original = target[key];
          const { apply } = watch;
          target[key] = function () {
            for (let i = -1; i < arguments.length; i++) {
              const value = i < 0 ? this : arguments[i];
              if (value === pull || value === source || (control !== undefined && value === control)) leaks += key + ' ';
            }
            return new.target === undefined ? apply(original, this, arguments) : undefined;
          };
          return () => { target[key] = original; };
        };
        watch.apply = Reflect.apply;
        const undo = [watch(Function.prototype, 'call'), watch(Function.prototype, 'apply'), watch(Function.prototype, 'bind'),
          watch(Reflect, 'apply'), watch(Reflect, 'construct'), watch(Object, 'getOwnPropertyDescriptor'), watch(Object, 'getPrototypeOf'),
          watch(Promise, 'resolve'), watch(Promise.prototype, 'then')];
        const reading = readAllBytes(acquireReader(newByteStream(source)));
        for (let i = 0; i < 100; i++) await undefined;
        for (let i = 0; i < undo.length; i++) undo[i]();
        return [leaks, [...await reading]]`),
    ).toEqual(['', [7]]);
  });

  test('attack: callbacks that a tenant finds on a stream are harmless at any time', async () => {
    expect(
      await isolate.run(`
        const { cancelStream, newByteStream } = prelude.streams;
        let pulls = 0, cancels = 0;
        const stream = newByteStream({ pull: () => { pulls++; return new Promise(() => {}); }, cancel() { cancels++; } });
        const controller = stream._readableStreamController;
        const { _pullAlgorithm, _cancelAlgorithm } = controller;
        for (let i = 0; i < 5; i++) void _pullAlgorithm();
        await cancelStream(stream);
        for (let i = 0; i < 5; i++) { void _cancelAlgorithm(); void _pullAlgorithm(); }
        return [pulls, cancels]`),
    ).toEqual([1, 1]);
  });

  test('attack: a read that the tenant answers twice is answered once', async () => {
    expect(
      await isolate.run(`
        const { acquireReader, newReadableStream } = prelude.streams;
        const stream = newReadableStream({});
        const answers = [];
        acquireReader(stream).read({ chunk: (value) => answers.push(value), close: () => answers.push('closed'), error: () => answers.push('failed') });
        const request = stream._reader._readRequests.peek();
        request._chunkSteps('first'); request._chunkSteps('second'); request._closeSteps(); request._errorSteps();
        return answers;`),
    ).toEqual(['first']);
  });
});
