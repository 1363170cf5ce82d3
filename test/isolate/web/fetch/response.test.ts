/** The class Response inside an isolate, and bodies that are streams. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createWebIsolate, type WebIsolate } from '../../../support/web/web-isolate.ts';

let isolate: WebIsolate;
beforeAll(async () => {
  isolate = await createWebIsolate();
});
afterAll(() => isolate.dispose());

const tools = `const errorName = async (run) => { try { await run(); return 'none'; } catch (error) { return error?.name ?? error; } };
  const streamOf = (...chunks) => new ReadableStream({ start(c) { for (const chunk of chunks) c.enqueue(chunk); c.close(); } });
  const bytes = (text) => new TextEncoder().encode(text);
  const readAll = async (stream) => { const out = []; for await (const chunk of stream) out.push(...chunk); return new TextDecoder().decode(new Uint8Array(out)); };`;

test('members of an init are read in order and checked in order: range of the status, status text, headers, body', async () => {
  expect(
    await isolate.run(`${tools}
      const read = [];
      new Response(null, new Proxy({}, { get(target, key) { read.push(key); } }));
      const bad = { status: 999, statusText: '\\n', headers: { 'not a name': '' } };
      return [read, await errorName(() => new Response('', bad)), await errorName(() => new Response('', { ...bad, headers: 1 })),
        await errorName(() => new Response('', { ...bad, statusText: 'Ā' })), await errorName(() => new Response('', { ...bad, status: 200, statusText: '' })),
        await errorName(() => new Response('', { status: 204 })), await errorName(() => new Response('', { status: 1n })), await errorName(() => Response('')),
        await errorName(() => Response.redirect('nowhere', 200)), await errorName(() => Response.redirect('https://a.example', 65536 + 301)),
        new Response('', { statusText: 'ÿ', status: 65536 + 200 }).statusText];`),
  ).toEqual([
    ['headers', 'status', 'statusText'],
    'RangeError',
    'TypeError',
    'TypeError',
    'TypeError',
    'TypeError',
    'TypeError',
    'TypeError',
    'TypeError',
    'none',
    'ÿ',
  ]);
});

test('the member body is a byte stream, whatever the body was made from', async () => {
  expect(
    await isolate.run(`${tools}
      const form = new FormData(); form.append('a', 'b');
      const bodies = ['tëxt', '', bytes('bytes'), new Blob(['blob']), new URLSearchParams('a=b'), 'x'.repeat(200000)];
      const shown = [];
      for (const body of bodies) {
        const response = new Response(body);
        const stream = response.body;
        const text = await readAll(stream);
        shown.push([stream === response.body, response.bodyUsed, text.length > 99 ? text.length : text, await errorName(() => response.text())]);
      }
      const byob = new Response('byob').body.getReader({ mode: 'byob' });
      const view = await byob.read(new Uint8Array(9));
      const ended = await byob.read(new Uint8Array(9));
      return [shown, (await readAll(new Response(form).body)).includes('name="a"\\r\\n\\r\\nb\\r\\n'), new TextDecoder().decode(view.value), ended.done,
        new Response().body, Response.error().body, Response.redirect('https://a.example').body];`),
  ).toEqual([
    ['tëxt', '', 'bytes', 'blob', 'a=b', 200_000].map((text) => [true, true, text, 'TypeError']),
    true,
    'byob',
    true,
    null,
    null,
    null,
  ]);
});

test('a stream as a body is read whole by every method, and by its own reader', async () => {
  expect(
    await isolate.run(`${tools}
      const make = (init) => new Response(streamOf(bytes('{"a":'), bytes(''), bytes('1}')), init);
      const own = streamOf(bytes('own'));
      const form = new Response(streamOf(bytes('a=1&b='), bytes('2')), { headers: { 'content-type': 'application/x-www-form-urlencoded' } });
      const blob = await make({ headers: { 'content-type': 'A/B' } }).blob();
      return [await make().text(), (await make().json()).a, (await make().bytes()).length, (await make().arrayBuffer()).byteLength, [...await form.formData()],
        blob.type, await blob.text(), make().headers.get('content-type'), new Response(own).body === own, await readAll(own)];`),
  ).toEqual([
    '{"a":1}',
    1,
    7,
    7,
    [
      ['a', '1'],
      ['b', '2'],
    ],
    'a/b',
    '{"a":1}',
    null,
    true,
    'own',
  ]);
});

test('a stream that fails, is locked, was read from, or has chunks other than bytes, is refused as a body', async () => {
  expect(
    await isolate.run(`${tools}
      const locked = streamOf(); locked.getReader();
      const read = streamOf(bytes('x')); await read.getReader().read();
      const cancelled = streamOf(bytes('x')); await cancelled.cancel();
      const failing = () => new Response(new ReadableStream({ pull(c) { c.error('broke'); } }));
      const odd = (chunk) => errorName(() => new Response(streamOf(chunk)).text());
      return [await Promise.all([locked, read, cancelled].map((stream) => errorName(() => new Response(stream)))),
        await Promise.all(['text', 'json', 'bytes', 'arrayBuffer', 'blob', 'formData'].map((method) => errorName(() => failing()[method]()))),
        await Promise.all(['text', 1, null, new ArrayBuffer(1), new Uint16Array(1), [1]].map(odd)), await odd(new Uint8Array(1))];`),
  ).toEqual([Array(3).fill('TypeError'), Array(6).fill('broke'), Array(6).fill('TypeError'), 'none']);
});

test('a response counts as used from the first read on, also through its stream', async () => {
  expect(
    await isolate.run(`${tools}
      const response = new Response(streamOf(bytes('ab')));
      const reader = response.body.getReader();
      const before = response.bodyUsed;
      const pending = reader.read();
      const during = response.bodyUsed;
      await pending;
      reader.releaseLock();
      const dropped = new Response('x');
      dropped.body.cancel();
      const text = new Response('x');
      const promise = text.text();
      return [before, during, await errorName(() => response.text()), dropped.bodyUsed, text.bodyUsed, await promise, text.body.locked,
        await errorName(() => text.body.getReader())];`),
  ).toEqual([false, true, 'TypeError', true, true, 'x', true, 'TypeError']);
});

test('clones are read independently, also if one fails or is cancelled', async () => {
  expect(
    await isolate.run(`${tools}
      const shown = [];
      const chunk = bytes('chunk');
      for (const body of ['text', bytes('bytes'), streamOf(chunk)]) {
        const response = new Response(body, { status: 201, headers: { a: 'b' } });
        const asked = response.body;
        const clone = response.clone();
        void response.body.cancel();
        shown.push([await clone.text(), clone.status, [...clone.headers].length > 0, response.bodyUsed, asked.locked, asked !== response.body]);
      }
      return shown;`),
  ).toEqual([
    ['text', 201, true, true, true, true],
    ['bytes', 201, true, true, true, true],
    ['chunk', 201, true, true, true, true],
  ]);
});

test('an answer of the network has its URL, and immutable headers', async () => {
  expect(
    await isolate.run(`${tools}
      const make = (body) => prelude.makeResponse({ status: 200, statusText: 'Fine', headers: 'content-type\\ntext/plain\\nset-cookie\\na=1\\nset-cookie\\nb=2',
        url: 'https://a.example/x#fragment', redirected: true, body });
      const response = make(bytes('payload').buffer);
      const clone = response.clone();
      const source = () => new prelude.WholeSource(() => bytes('streamed'));
      return [response.url, response.redirected, response.type, response.statusText, response.ok, response.headers.getSetCookie(),
        await errorName(() => response.headers.set('a', 'b')), await errorName(() => response.headers.append('a', 'b')), await errorName(() => response.headers.delete('x')),
        await errorName(() => clone.headers.set('a', 'b')), clone.url, await response.text(), await clone.text(), await make(source()).text(),
        await readAll(make(source()).body), await make(source()).clone().text(), make(undefined).body];`),
  ).toEqual([
    'https://a.example/x',
    true,
    'basic',
    'Fine',
    true,
    ['a=1', 'b=2'],
    ...Array(4).fill('TypeError'),
    'https://a.example/x',
    'payload',
    'payload',
    'streamed',
    'streamed',
    'streamed',
    null,
  ]);
});

test('the shared members of Request and Response have the shape of Web IDL on both', async () => {
  expect(
    await isolate.run(`${tools}
      const shared = ['arrayBuffer', 'blob', 'bytes', 'formData', 'json', 'text'];
      const odd = [];
      for (const prototype of [Request.prototype, Response.prototype]) {
        for (const name of shared) {
          const { value, enumerable, writable, configurable } = Object.getOwnPropertyDescriptor(prototype, name);
          if (value.name !== name || value.length !== 0 || !enumerable || !writable || !configurable || 'prototype' in value) odd.push(name);
          if (await errorName(() => value.call({})) !== 'TypeError' || !(value.call({}).catch(() => {}) instanceof Promise)) odd.push(name);
        }
        for (const name of ['body', 'bodyUsed']) {
          const { get, set, enumerable } = Object.getOwnPropertyDescriptor(prototype, name);
          if (get.name !== 'get ' + name || set !== undefined || !enumerable || await errorName(() => get.call({})) !== 'TypeError') odd.push(name);
        }
      }
      return [odd, Response.length, Response.json.length, Response.redirect.length, Response.error.length, Request.length,
        await errorName(() => Response.prototype.text.call(new Request('https://a.example'))), String(new Response())];`),
  ).toEqual([[], 0, 1, 1, 0, 1, 'TypeError', '[object Response]']);
});

test('textStream gives the body as it is decoded, and uses it', async () => {
  expect(
    await isolate.run(`${tools}
      const gather = async (stream) => { const out = []; for await (const chunk of stream) out.push(chunk); return out.join(''); };
      const euro = bytes('\\ufeff€');
      const response = new Response(streamOf(euro.slice(0, 4), euro.slice(4), new Uint8Array([255])));
      const stream = response.textStream();
      const locked = new Response('x'); locked.body.getReader();
      return [response.bodyUsed, await gather(stream), await gather(new Response().textStream()), await gather(new Blob(['blob']).textStream()),
        await gather(new Request('https://a.example', { method: 'POST', body: 'r' }).textStream()), await errorName(() => locked.textStream()), await errorName(() => response.textStream())];`),
  ).toEqual([true, '€\ufffd', '', 'blob', 'r', 'TypeError', 'TypeError']);
});

test('attack: a "then" on every object cannot replace the bytes of a body that is read', async () => {
  expect(
    await isolate.run(`${tools}
      const read = async (method) => {
        const response = new Response(streamOf(bytes('"mine"')));
        let ran = 0;
        Object.prototype.then = (resolve) => { ran++; delete Object.prototype.then; resolve({ done: false, value: bytes('"other"'), bytes: bytes('"other"') }); };
        const promise = response[method]();
        for (let i = 0; i < 20; i++) await undefined;
        delete Object.prototype.then;
        return [await promise, ran];
      };
      return [await read('text'), await read('json')];`),
  ).toEqual([
    ['"mine"', 0],
    ['mine', 0],
  ]);
});

test('a stream with very many chunks is read to its end', async () => {
  expect(
    await isolate.run(`${tools}
      return (await new Response(streamOf(...Array.from({ length: 20000 }, () => new Uint8Array([120])))).text()).length;`),
  ).toBe(20_000);
});
