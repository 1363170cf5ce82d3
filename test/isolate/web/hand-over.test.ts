/** Values that cross between the prelude and a tenant that has replaced built-ins. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createWebIsolate, type WebIsolate } from '../../support/web/web-isolate.ts';

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

test('an imitation of a response is refused, and runs no code', async () => {
  expect(
    await isolate.run(`
      let ran = 0;
      const trap = new Proxy(new Response('x'), { get() { ran++; }, has() { ran++; return true; }, getPrototypeOf() { ran++; return Response.prototype; } });
      const fake = Object.create(Response.prototype, { status: { get() { ran++; return 200; } } });
      return [trap, fake, {}, null, undefined, 'x', 1, () => {}].map((value) => prelude.takeResponse(value) === undefined).concat(ran);`),
  ).toEqual([...Array(8).fill(true), 0]);
});

test('a subclass of Response is taken by its internal state, whatever it overrides', async () => {
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

test('an envelope returns formData() from its parts, and becomes multipart bytes only when they are read', async () => {
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

const drain = `const drain = async (source) => { const out = []; for (let piece; (piece = await source.take()) !== undefined; ) out.push(...piece.bytes); return new TextDecoder().decode(new Uint8Array(out)); };
  const streamOf = (...chunks) => new ReadableStream({ start(c) { for (const chunk of chunks) c.enqueue(new TextEncoder().encode(chunk)); c.close(); } });
  const at = 'https://a.example/';`;

test('only a stream of the tenant leaves as a stream; any other body leaves whole, even if its stream was read as a member', async () => {
  expect(
    await isolate.run(`${show}${drain}
      const whole = ['text', new TextEncoder().encode('bytes'), new Blob(['blob']), new URLSearchParams('a=b')].map((body) => {
        const response = new Response(body);
        const stream = response.body;
        const { body: taken } = show(prelude.takeResponse(response));
        return [taken, response.bodyUsed, stream.locked];
      });
      const streamed = new Response(streamOf('st', 'ream'));
      const source = prelude.takeResponse(streamed).body;
      const again = prelude.takeResponse(streamed);
      const locked = new Response(streamOf('x')); locked.body.getReader();
      const passed = new prelude.WholeSource(() => new TextEncoder().encode('network'));
      const answer = prelude.makeResponse({ status: 200, statusText: '', headers: '', url: at, redirected: false, body: passed });
      return [whole, prelude.isByteSource(source), streamed.bodyUsed, streamed.body.locked, await drain(source), again === undefined, prelude.takeResponse(locked) === undefined,
        prelude.takeResponse(answer).body === passed, answer.bodyUsed];`),
  ).toEqual([
    [
      ['text', true, true],
      ['6279746573', true, true],
      ['626c6f62', true, true],
      ['a=b', true, true],
    ],
    true,
    true,
    true,
    'stream',
    true,
    true,
    true,
    true,
  ]);
});

test('a stream that leaves is cancelled at a chunk that is not bytes', async () => {
  expect(
    await isolate.run(`
      let cancelled;
      const stream = new ReadableStream({ pull(c) { c.enqueue('text'); }, cancel(reason) { cancelled = reason.name; } });
      const { body } = prelude.takeResponse(new Response(stream));
      const failed = await body.take().catch((error) => error.name);
      return [failed, cancelled];`),
  ).toEqual(['TypeError', 'TypeError']);
});

test('a fetch leaves as the constructor of Request understands it, its body used, with the signal that was given', async () => {
  expect(
    await isolate.run(`${show}${drain}
      const take = (...args) => { const { request, signal, ...taken } = show(prelude.takeRequest(...args)); return { ...taken, used: request.bodyUsed, signal: signal === undefined ? 'none' : signal.aborted }; };
      const first = new Request(at, { method: 'post', body: 'moved', headers: { a: 'b' } });
      const controller = new AbortController();
      const signalled = new Request(at, { signal: controller.signal });
      const streamed = prelude.takeRequest(at, { method: 'PUT', body: streamOf('a', 'b'), duplex: 'half' });
      const held = prelude.takeRequest(at, { signal: controller.signal }).signal === controller.signal;
      controller.abort();
      return [take(at + 'ü#f'), take(new URL(at), { method: 'PUT', body: new Uint8Array([1]), redirect: 'manual' }), take(first), first.bodyUsed, take(signalled).signal, held,
        prelude.isByteSource(streamed.body), await drain(streamed.body), ['/x', {}, undefined].map((input) => { try { prelude.takeRequest(input); } catch (error) { return error.name; } }),
        (() => { try { prelude.takeRequest(at, { headers: { a: '\\u0001' } }); } catch (error) { return error.message; } })()];`),
  ).toEqual([
    {
      method: 'GET',
      url: 'https://a.example/%C3%BC#f',
      redirect: 'follow',
      headers: '',
      used: false,
      signal: 'none',
    },
    {
      method: 'PUT',
      url: 'https://a.example/',
      redirect: 'manual',
      headers: '',
      body: '01',
      used: true,
      signal: 'none',
    },
    {
      method: 'POST',
      url: 'https://a.example/',
      redirect: 'follow',
      headers: 'a\nb\ncontent-type\ntext/plain;charset=UTF-8',
      body: 'moved',
      used: true,
      signal: 'none',
    },
    true,
    true,
    true,
    true,
    'ab',
    ['TypeError', 'TypeError', 'TypeError'],
    'The value of header a holds a control character, which HTTP cannot carry',
  ]);
});

test('a request of the host may have a streamed body, a form that is a promise, and a signal that is made at first use', async () => {
  expect(
    await isolate.run(`${drain}
      const source = (text) => new prelude.WholeSource(() => new TextEncoder().encode(text));
      let asked = 0;
      const signal = () => { asked++; return new AbortController().signal; };
      const make = (parts) => prelude.makeRequest({ method: 'POST', url: at, headers: [], signal, ...parts });
      const form = () => make({ formData: async () => prelude.formOf([['a', 'b']]) });
      const upload = make({ body: source('{"a":1}') });
      const early = prelude.takeRequest(make({ body: source('pass') }));
      const before = [asked, early.signal === undefined, await drain(early.body)];
      const one = form();
      const late = prelude.takeRequest(form()).body;
      const clone = make({ body: source('twice') });
      return [before, (await upload.json()).a, upload.bodyUsed, await clone.clone().text(), await clone.text(), (await form().formData()).get('a'),
        (await form().text()).includes('name="a"'), (await drain(late)).includes('name="a"'), (await new Request(form()).formData()).get('a'),
        (await new Response(make({ body: source('piped') }).body).text()), one.signal === one.signal, one.clone().signal !== one.signal, asked];`),
  ).toEqual([[0, true, 'pass'], 1, true, 'twice', 'twice', 'b', true, true, 'b', 'piped', true, true, 1]);
});

test('bodies that are read whole do not load the streams library', async () => {
  expect(
    await isolate.run(`
      prelude.setParts(['streams'], ['throw "loaded"']);
      const request = prelude.makeRequest({ method: 'POST', url: 'https://a.example/', headers: [], body: new TextEncoder().encode('{}').buffer });
      const upload = prelude.makeRequest({ method: 'POST', url: 'https://a.example/', headers: [], body: new prelude.WholeSource(() => new TextEncoder().encode('{}')) });
      await request.clone().json(); await upload.json(); await new Response(new Blob(['x'])).text(); await new Response(new FormData()).blob();
      new Request('https://a.example/', { method: 'POST', body: 'x' }).bodyUsed; new Response({ a: 1 }).bodyUsed;
      prelude.takeResponse(Response.json({})); prelude.takeRequest(request); prelude.takeRequest('https://a.example/');
      try { new Response('x').body; } catch (thrown) { return thrown; }`),
  ).toBe('loaded');
});

test('attack: with every built-in replaced, forms, blobs and parameters leave as they were made, and an answer comes in as it was sent', async () => {
  expect(
    await isolate.run(`
      const { takeRequest, takeResponse, makeResponse } = prelude;
      const { getPrototypeOf, getOwnPropertyDescriptor, getOwnPropertyNames, defineProperty } = Object;
      const decoder = new TextDecoder();
      const decode = decoder.decode.bind(decoder);
      const has = String.prototype.includes.call.bind(String.prototype.includes);
      const at = 'https://a.example/';
      const form = new FormData(); form.append('n"', 'v\\n'); form.append('f', new File(['file'], 'a\\rb', { type: 'a/b' }));
      const params = new URLSearchParams([['k ', 'ü']]);
      const blob = new Blob(['blob'], { type: 'c/d' });
      const headers = new Headers([['b', '2'], ['a', '1'], ['b', '3']]);
      const stream = new ReadableStream({ start(c) { c.enqueue(new Uint8Array([111, 107])); c.close(); } });
      const answer = new Response(stream);
      let stolen = 0;
      const spare = new Set(['constructor', 'toString', 'valueOf', '__proto__', 'next', 'then']);
      const prototypes = [Array, String, RegExp, Map, Set, Uint8Array, ArrayBuffer, Function, Number, Promise, ReadableStream, ReadableStreamDefaultReader,
        FormData, Blob, File, Headers, URLSearchParams, Request, Response].map((maker) => maker.prototype).concat(getPrototypeOf(Uint8Array.prototype));
      for (const prototype of prototypes) for (const key of getOwnPropertyNames(prototype)) {
        if (spare.has(key) || !getOwnPropertyDescriptor(prototype, key).configurable) continue;
        const evil = () => { stolen++; return 'evil\\r\\nx: y'; };
        defineProperty(prototype, key, getOwnPropertyDescriptor(prototype, key).get ? { get: evil, configurable: true } : { value: evil, configurable: true });
      }
      for (let i = 0; i < 8; i++) defineProperty(Array.prototype, i, { set() { stolen++; }, configurable: true });
      defineProperty(params, 'toString', { value: () => 'evil' });
      String.fromCharCode = Object.keys = Reflect.apply = Math.random = () => 'evil';
      Promise = Uint8Array = Map = undefined;
      stolen = 0;
      const post = (body) => takeRequest(at, { method: 'POST', headers, body });
      const sent = { form: post(form), params: post(params), blob: post(blob) };
      const fetched = makeResponse({ status: 201, statusText: 'ok', headers: 'x\\ny', url: at, redirected: false, body: sent.blob.body });
      const relayed = takeResponse(fetched);
      const source = takeResponse(answer).body;
      const first = await source.take();
      const end = await source.take();
      for (let i = 0; i < 8; i++) delete Array.prototype[i];
      const formText = decode(sent.form.body);
      return { stolen, params: [sent.params.headers, sent.params.body], blob: [sent.blob.headers, decode(relayed.body)], relayed: [relayed.status, relayed.headers],
        form: [has(formText, 'name="n%22"\\r\\n\\r\\nv\\r\\n\\r\\n'), has(formText, 'filename="a%0Db"\\r\\nContent-Type: a/b\\r\\n\\r\\nfile\\r\\n')],
        stream: [decode(first.bytes), end === undefined] };`),
  ).toEqual({
    stolen: 0,
    params: ['a\n1\nb\n2, 3\ncontent-type\napplication/x-www-form-urlencoded;charset=UTF-8', 'k+=%C3%BC'],
    blob: ['a\n1\nb\n2, 3\ncontent-type\nc/d', 'blob'],
    relayed: [201, 'x\ny'],
    form: [true, true],
    stream: ['ok', true],
  });
});

test('a form that is a promise is requested once, and each clone gets a form of its own', async () => {
  expect(
    await isolate.run(`
      let asked = 0;
      const request = prelude.makeRequest({ method: 'POST', url: 'https://a.example/', headers: [], formData: async () => { asked++; return prelude.formOf([['a', 'b']]); } });
      const clone = request.clone();
      const third = request.clone();
      const form = await request.formData();
      form.set('a', 'changed');
      return [(await clone.formData()).get('a'), (await third.text()).includes('\\r\\nb\\r\\n'), asked];`),
  ).toEqual(['b', true, 1]);
});
