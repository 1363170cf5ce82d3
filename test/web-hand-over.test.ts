/** What crosses between the prelude and a tenant who has replaced its built-ins. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createWebIsolate, type WebIsolate } from './support/web-isolate.ts';

let isolate: WebIsolate;
beforeEach(async () => {
  isolate = await createWebIsolate();
});
afterEach(() => isolate.dispose());

const show = `const show = (taken) => taken && { ...taken, body: taken.body instanceof ArrayBuffer ? new Uint8Array(taken.body).toHex() : taken.body };`;

test('a response is taken once, as status, flat headers in order and the body it was made from', async () => {
  expect(
    await isolate.run(`${show}
      const response = new Response('text', { status: 201, headers: [['Set-Cookie', 'a=1'], ['X-B', ' 2 '], ['Set-Cookie', 'b=2']] });
      return [show(prelude.takeResponse(response)), response.bodyUsed, prelude.takeResponse(response) === undefined,
        show(prelude.takeResponse(new Response(new Uint8Array([1, 2])))), show(prelude.takeResponse(new Response(null, { status: 204 }))),
        show(prelude.takeResponse(new Response(new Blob(['ü'])))), prelude.takeResponse(new Response(new FormData())).body.byteLength > 10];`),
  ).toEqual([
    {
      status: 201,
      headers: 'set-cookie\na=1\nx-b\n2\nset-cookie\nb=2\ncontent-type\ntext/plain;charset=UTF-8',
      body: 'text',
    },
    true,
    true,
    { status: 200, headers: '', body: '0102' },
    { status: 204, headers: '' },
    { status: 200, headers: '', body: 'c3bc' },
    true,
  ]);
});

test('what only looks like a response is not taken, and runs nothing', async () => {
  expect(
    await isolate.run(`
      let ran = 0;
      const trap = new Proxy(new Response('x'), { get() { ran++; }, has() { ran++; return true; }, getPrototypeOf() { ran++; return Response.prototype; } });
      const fake = Object.create(Response.prototype, { status: { get() { ran++; return 200; } } });
      return [trap, fake, {}, null, undefined, 'x', 1, () => {}].map((value) => prelude.takeResponse(value) === undefined).concat(ran);`),
  ).toEqual([...Array(8).fill(true), 0]);
});

test('a subclass of Response is taken for what it was built as, whatever it overrides', async () => {
  expect(
    await isolate.run(`
      class Mine extends Response { get status() { return 'evil'; } get headers() { throw 1; } }
      return prelude.takeResponse(new Mine('x', { status: 299 })).status;`),
  ).toBe(299);
});

test('a header that HTTP cannot carry, and a network error, are refused with a reason', async () => {
  expect(
    await isolate.run(`
      const reason = (response) => { try { prelude.takeResponse(response); } catch (error) { return error.message; } };
      return [reason(new Response('', { headers: { 'x-a': 'a\\u0001b' } })), reason(Response.error())];`),
  ).toEqual([
    'The value of header x-a holds a control character, which HTTP cannot carry',
    'Response.error() is a network error and cannot be sent',
  ]);
});

test('after every built-in is replaced, an answer still leaves as it was built, in primitives and a genuine buffer', async () => {
  expect(
    await isolate.run(`
      const { takeResponse, makeRequest, formatError } = prelude;
      const { getPrototypeOf, getOwnPropertyDescriptor, getOwnPropertyNames, defineProperty } = Object;
      const genuine = ArrayBuffer.prototype;
      const leaked = [];
      const stolen = [];
      const spare = new Set(['constructor', 'toString', 'valueOf', '__proto__', 'next', 'then']);
      const prototypes = [Array, String, RegExp, Map, Set, Uint8Array, ArrayBuffer, Function, Number, Promise]
        .map((maker) => maker.prototype).concat(getPrototypeOf(Uint8Array.prototype));
      const response = new Response('body', { headers: { a: 'b' } });
      const binary = new Response(new Uint8Array([1, 2, 3]), { headers: [['c', 'd']] });
      for (const prototype of prototypes) for (const key of getOwnPropertyNames(prototype)) {
        if (spare.has(key) || !getOwnPropertyDescriptor(prototype, key).configurable) continue;
        defineProperty(prototype, key, { value: () => { stolen[stolen.length] = key; return 'evil\\r\\nx: y'; }, configurable: true });
      }
      stolen.length = 0;
      for (let i = 0; i < 8; i++) defineProperty(Array.prototype, i, { set() { leaked[leaked.length] = this; }, configurable: true });
      defineProperty(Object.prototype, 'toJSON', { value: () => 'evil', configurable: true });
      for (const key of ['status', 'headers', 'body', 'get', 'set']) defineProperty(Object.prototype, key, { set() {}, get() { return undefined; }, configurable: true });
      JSON.stringify = JSON.parse = Reflect.apply = Object.keys = String.fromCharCode = () => 'evil';
      const text = takeResponse(response);
      const buffer = takeResponse(binary);
      const late = takeResponse(new Response('late', { headers: { 'x-late': 'v' }, status: 202 }));
      const message = formatError(new TypeError('boom'));
      const request = makeRequest({ method: 'POST', url: 'https://a.example/', headers: ['k', 'v'], body: 'b' });
      delete Object.prototype.toJSON;
      return {
        text: [text.status, text.headers, text.body],
        buffer: [buffer.headers, getPrototypeOf(buffer.body) === genuine, new DataView(buffer.body).getUint8(2)],
        late: [late.status, late.headers, late.body], message: message[0] + message[1], method: request.method, leaked: leaked.length, stolen,
      };`),
  ).toEqual({
    text: [200, 'a\nb\ncontent-type\ntext/plain;charset=UTF-8', 'body'],
    buffer: ['c\nd', true, 3],
    late: [202, 'x-late\nv\ncontent-type\ntext/plain;charset=UTF-8', 'late'],
    message: 'Ty',
    method: 'POST',
    leaked: 0,
    stolen: [],
  });
});

test('a request of the host reads its body as bytes, text or JSON, and its headers from a record or a list', async () => {
  expect(
    await isolate.run(`
      const make = (body, headers) => prelude.makeRequest({ method: 'PUT', url: 'https://a.example/p', headers, body });
      const bytes = new TextEncoder().encode('{"a":"ü"}').buffer;
      const request = make(bytes, { 'X-A': '1', 'content-type': 'application/json' });
      const clone = request.clone();
      return [request.method, request.url, [...request.headers], (await request.json()).a, (await clone.text()), request instanceof Request,
        await make('{"b":2}', ['h', 'v', 'h', 'w']).json(), make(undefined, ['h', 'v', 'h', 'w']).headers.get('h'), new Request(make('x', [])).method];`),
  ).toEqual([
    'PUT',
    'https://a.example/p',
    [
      ['content-type', 'application/json'],
      ['x-a', '1'],
    ],
    'ü',
    '{"a":"ü"}',
    true,
    { b: 2 },
    'v, w',
    'PUT',
  ]);
});

test('an envelope answers formData() from its parts, and becomes multipart bytes only for who asks', async () => {
  expect(
    await isolate.run(`
      let built = 0;
      const make = () => prelude.makeRequest({ method: 'POST', url: 'https://a.example/v1', headers: [], formData: () => {
        built++;
        return prelude.formOf([['event', '{"type":"fetch"}'], ['environment', '{}'],
          ['fetch-body', prelude.fileOver(new Uint8Array([0, 255, 13, 10]), 'fetch-body', 'application/octet-stream')]]);
      } });
      const untouched = make();
      const type = untouched.headers.get('content-type');
      const before = built;
      const form = await make().formData();
      const raw = await untouched.clone().text();
      const parsed = await new Response(await untouched.arrayBuffer(), { headers: { 'content-type': type } }).formData();
      return [before, form.get('event'), [...form.keys()], (await form.get('fetch-body').bytes()).toHex(), raw.includes('name="fetch-body"; filename="fetch-body"'),
        (await parsed.get('fetch-body').bytes()).toHex(), parsed.get('event')];`),
  ).toEqual([
    0,
    '{"type":"fetch"}',
    ['event', 'environment', 'fetch-body'],
    '00ff0d0a',
    true,
    '00ff0d0a',
    '{"type":"fetch"}',
  ]);
});
