/** Request, Response, Blob, FormData and multipart inside an isolate. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createWebIsolate, type WebIsolate } from '../../../support/web/web-isolate.ts';

let isolate: WebIsolate;
beforeAll(async () => {
  isolate = await createWebIsolate();
});
afterAll(() => isolate.dispose());

const errorName = `const errorName = async (run) => { try { await run(); return 'none'; } catch (error) { return error.name; } };`;

test('every kind of body brings its content type and reads back as text', async () => {
  expect(
    await isolate.run(`
      const bytes = new Uint8Array([0, 104, 105, 0]);
      const bodies = ['tëxt', bytes.subarray(1, 3), new DataView(bytes.buffer, 1, 2), bytes.buffer.slice(1, 3),
        new Blob(['b', new Uint8Array([108])], { type: 'Text/X' }), new Blob(['n']), new URLSearchParams({ a: 'b c' }), 12, { }];
      const shown = [];
      for (const body of bodies) {
        const response = new Response(body);
        shown.push([response.headers.get('content-type'), await response.text(), response.bodyUsed]);
      }
      return shown;`),
  ).toEqual([
    ['text/plain;charset=UTF-8', 'tëxt', true],
    [null, 'hi', true],
    [null, 'hi', true],
    [null, 'hi', true],
    ['text/x', 'bl', true],
    [null, 'n', true],
    ['application/x-www-form-urlencoded;charset=UTF-8', 'a=b+c', true],
    ['text/plain;charset=UTF-8', '12', true],
    ['text/plain;charset=UTF-8', '[object Object]', true],
  ]);
});

test('a body is a copy: later changes of the buffer do not reach it, and the read bytes belong to the reader', async () => {
  expect(
    await isolate.run(`
      const bytes = new Uint8Array([1, 2, 3]);
      const response = new Response(bytes);
      const clone = response.clone();
      bytes[0] = 9;
      const read = await response.bytes();
      read[1] = 9;
      return [[...read], [...await clone.bytes()], new Uint8Array(await new Response('é').arrayBuffer()).toHex()];`),
  ).toEqual([[1, 9, 3], [1, 2, 3], 'c3a9']);
});

test('a body is read once; an absent one any number of times', async () => {
  expect(
    await isolate.run(`${errorName}
      const response = new Response('x');
      await response.text();
      const empty = new Response();
      return [
        await errorName(() => response.text()), await errorName(() => response.clone()), await empty.text() + await empty.text(),
        empty.bodyUsed, await errorName(() => empty.json()), await errorName(() => new Response('{').json()),
        await errorName(() => Response.prototype.text.call({})), (await new Response('\\ufeff{"a":1}').json()).a,
      ];`),
  ).toEqual(['TypeError', 'TypeError', '', false, 'SyntaxError', 'SyntaxError', 'TypeError', 1]);
});

test('a response status is 200 to 599, and some allow no body', async () => {
  expect(
    await isolate.run(`${errorName}
      const make = (status, body) => errorName(() => new Response(body, { status }));
      return [
        await Promise.all([199, 200, 599, 600, 65736, 0, NaN].map((status) => make(status, null))),
        await Promise.all([204, 205, 304, 200].map((status) => make(status, ''))),
        await errorName(() => new Response('', { statusText: 'a\\nb' })),
      ];`),
  ).toEqual([
    ['RangeError', 'none', 'none', 'RangeError', 'none', 'RangeError', 'RangeError'],
    ['TypeError', 'TypeError', 'TypeError', 'none'],
    'TypeError',
  ]);
});

test('Response.json, redirect and error', async () => {
  expect(
    await isolate.run(`${errorName}
      const json = Response.json({ a: 1 }, { status: 201, headers: { 'x-a': 'b' } });
      const redirect = Response.redirect('https://a.example/ü');
      return [
        json.status, [...json.headers], await json.text(), await errorName(() => Response.json(undefined)),
        redirect.status, redirect.headers.get('location'), await errorName(() => redirect.headers.set('a', 'b')),
        await errorName(() => Response.redirect('/relative')), await errorName(() => Response.redirect('https://a.example', 200)),
        Response.error().type, Response.error().status,
      ];`),
  ).toEqual([
    201,
    [
      ['content-type', 'application/json'],
      ['x-a', 'b'],
    ],
    '{"a":1}',
    'TypeError',
    302,
    'https://a.example/%C3%BC',
    'TypeError',
    'TypeError',
    'RangeError',
    'error',
    0,
  ]);
});

test('a request checks method, URL and body; one made from another takes its body over', async () => {
  expect(
    await isolate.run(`${errorName}
      const first = new Request('https://a.example/x y#f', { method: 'post', body: 'payload', headers: { a: 'b' } });
      const second = new Request(first, { headers: { c: 'd' } });
      return [
        first.method, first.url, first.bodyUsed, second.method, [...second.headers], await second.text(),
        new Request('https://a.example', { method: 'patch' }).method, new Request(new URL('https://a.example')).url,
        await Promise.all([
          () => new Request('/relative'), () => new Request('https://u:p@a.example/'), () => new Request('https://a.example', { method: 'TRACE' }),
          () => new Request('https://a.example', { method: 'a b' }), () => new Request('https://a.example', { body: 'x' }),
          () => new Request('https://a.example', { redirect: 'no' }), () => new Request(first), () => new Request(),
        ].map(errorName)),
      ];`),
  ).toEqual([
    'POST',
    'https://a.example/x%20y#f',
    true,
    'POST',
    [['c', 'd']],
    'payload',
    'patch',
    'https://a.example/',
    Array(8).fill('TypeError'),
  ]);
});

test('a form survives the way through multipart, bytes of files untouched, but for line breaks and the escapes of names', async () => {
  expect(
    await isolate.run(`
      const bytes = Uint8Array.from({ length: 256 }, (_, i) => i);
      const tricky = new TextEncoder().encode('\\r\\n--\\r\\n------AnnexFormBoundary\\r\\n');
      const form = new FormData();
      form.append('plain', 'line\\nbreak');
      form.append('na"me\\r\\n', 'ü€😀');
      form.append('file', new File([bytes, tricky], 'a "quoted".bin', { type: 'application/x-y' }));
      form.append('empty', new Blob([]));
      form.append('none', '');
      const response = new Response(form);
      const type = response.headers.get('content-type');
      const back = await response.formData();
      const file = back.get('file');
      return [
        /^multipart\\/form-data; boundary=----AnnexFormBoundary\\w{30}$/.test(type),
        [...back.keys()], back.get('plain'), back.get('na%22me%0D%0A'), back.get('none'),
        file instanceof File, file.name, file.type, (await file.bytes()).toHex() === bytes.toHex() + tricky.toHex(),
        back.get('empty').name, back.get('empty').size, back.get('empty').type,
      ];`),
  ).toEqual([
    true,
    ['plain', 'na%22me%0D%0A', 'file', 'empty', 'none'],
    'line\r\nbreak',
    'ü€😀',
    '',
    true,
    'a %22quoted%22.bin',
    'application/x-y',
    true,
    'blob',
    0,
    'application/octet-stream',
  ]);
});

test('a form that another encoder wrote is understood, a broken one refused', async () => {
  expect(
    await isolate.run(`${errorName}
      const parse = (body, type = 'multipart/form-data; boundary="b b"') =>
        new Response(body, { headers: { 'content-type': type } }).formData();
      const part = 'content-disposition: form-data; filename="; name=evil"; name=n\\r\\nX-Other: 1\\r\\nContent-Type: A/B\\r\\n\\r\\nv';
      const form = await parse('--b b\\r\\n' + part + '\\r\\n--b b--\\r\\nepilogue');
      return [
        form.get('n').name, form.get('n').type, await form.get('n').text(),
        [...await parse('a=1&b=%C3%BC+x&c', 'application/x-www-form-urlencoded')],
        await Promise.all([
          () => parse('--b b\\r\\n' + part), () => parse('--b b\\r\\n\\r\\nv\\r\\n--b b--'), () => parse(''), () => parse('nothing'),
          () => parse('--b b\\r\\n' + part + '\\r\\n--b b'), () => parse('--b b--', 'multipart/form-data'), () => parse('a=1', 'text/plain'),
        ].map(errorName)),
        [...await parse('--b b--')],
      ];`),
  ).toEqual([
    '; name=evil',
    'a/b',
    'v',
    [
      ['a', '1'],
      ['b', 'ü x'],
      ['c', ''],
    ],
    Array(7).fill('TypeError'),
    [],
  ]);
});

test('the type of a blob read from a body is the MIME type of its headers', async () => {
  expect(
    await isolate.run(`
      const typeOf = async (type) => (await new Response('x', { headers: { 'content-type': type } }).blob()).type;
      return Promise.all(['Text/HTML;Charset="utf-8"', 'text/html;charset=gbk, text/html', 'a/b;c="d e";c=f', 'broken', ' a/b ; x',
        'a/b; c= D ;e= "f"', 'Multipart/Form-Data; Boundary=AbC'].map(typeOf));`),
  ).toEqual([
    'text/html;charset=utf-8',
    'text/html;charset=gbk',
    'a/b;c="d e"',
    '',
    'a/b',
    // Blanks before a value belong to it; those behind it do not.
    'a/b;c=" D";e=" \\"f\\""',
    'multipart/form-data;boundary=AbC',
  ]);
});

test('a form that was read as a blob can be handed on and read again: its boundary keeps its case', async () => {
  expect(
    await isolate.run(`
      const form = new FormData();
      form.set('field', 'value');
      form.set('file', new File(['text'], 'A.txt', { type: 'Text/Plain' }));
      const received = await new Response(form).blob();
      const mixed = await new Response('--AbC\\r\\nContent-Disposition: form-data; name="n"\\r\\n\\r\\nv\\r\\n--AbC--\\r\\n', { headers: { 'content-type': 'multipart/form-data; boundary=AbC' } }).blob();
      const entries = [];
      for (const blob of [received, structuredClone(received), mixed])
        for (const [name, value] of await new Request('https://a.example/', { method: 'POST', body: blob }).formData())
          entries.push([name, typeof value === 'string' ? value : value.name + ' ' + value.type + ' ' + await value.text()]);
      return [entries, mixed.type, mixed.slice(0, 1, 'A/B').type, new Blob([], { type: 'A/B' }).type, new File([], 'n', { type: 'A/B' }).type];`),
  ).toEqual([
    [
      ['field', 'value'],
      ['file', 'A.txt text/plain text'],
      ['field', 'value'],
      ['file', 'A.txt text/plain text'],
      ['n', 'v'],
    ],
    'multipart/form-data;boundary=AbC',
    'a/b',
    'a/b',
    'a/b',
  ]);
});

test('blobs slice from either end and keep their own copy', async () => {
  expect(
    await isolate.run(`
      const source = new Uint8Array([1, 2, 3, 4, 5]);
      const blob = new Blob([source, 'é', new Blob(['z'])], { type: 'A/b' });
      source[0] = 9;
      const hex = async (part) => (await part.bytes()).toHex();
      return [
        blob.size, blob.type, await hex(blob), await hex(blob.slice(1, 3)), await hex(blob.slice(-2)), await hex(blob.slice(3, 1)),
        blob.slice(0, 1, 'C/D').type, blob.slice(0, 100).size, await new Blob(['a\\r\\nb\\rc'], { endings: 'native' }).text(),
        new File([], 'n', { lastModified: 5 }).lastModified,
      ];`),
  ).toEqual([8, 'a/b', '0102030405c3a97a', '0203', 'a97a', '', 'c/d', 8, 'a\nb\nc', 5]);
});

test('FormData keeps order, replaces in place, and names blobs', async () => {
  expect(
    await isolate.run(`${errorName}
      const form = new FormData();
      form.append('a', '1'); form.append('b', new Blob(['x']), 'n.txt'); form.append('a', '2'); form.append('c', 3);
      form.set('a', 'new');
      form.delete('c');
      return [
        [...form].map(([name, value]) => [name, typeof value === 'string' ? value : value.name]), form.getAll('a'), form.has('c'), form.get('c'),
        await errorName(() => new FormData({})), await errorName(() => form.append('a', 'b', 'c')), await errorName(() => form.append('a')),
      ];`),
  ).toEqual([
    [
      ['a', 'new'],
      ['b', 'n.txt'],
    ],
    ['new'],
    false,
    null,
    'TypeError',
    'TypeError',
    'TypeError',
  ]);
});

test('a chunk that is not a Uint8Array is named in the error, and none of its getters runs', async () => {
  expect(
    await isolate.run(`
      const asked = [];
      const shy = new Proxy({}, { get: (_, key) => void asked.push(String(key)) });
      const chunks = ['text', 1, 1n, null, undefined, true, Symbol('x'), () => 1, {}, shy, new Uint16Array(1),
        new DataView(new ArrayBuffer(1)), new ArrayBuffer(1)];
      const kinds = [];
      for (const chunk of chunks) {
        const stream = new ReadableStream({ start(controller) { controller.enqueue(chunk); controller.close(); } });
        await new Response(stream).text().catch(({ name, message }) => kinds.push(name + message.split('Uint8Array')[1]));
      }
      return [kinds, asked];`),
  ).toEqual([
    [
      ...['a string', 'a number', 'a bigint', 'null', 'undefined', 'a boolean', 'a symbol', 'a function'],
      ...['an object', 'an object', 'a Uint16Array', 'a DataView', 'an object'],
    ].map((kind) => `TypeError but ${kind}`),
    [],
  ]);
});

// Of 40 pieces the whole does not fit, of 200 not even the copies of the pieces.
test.each([40, 200])(
  'attack: %i pieces that have no room, so that the reader waits forever',
  async (count) => {
    const small = await createWebIsolate();
    try {
      const answer = await small.run(`
      const piece = new Uint8Array(1 << 20);
      let left = ${count};
      const stream = new ReadableStream({
        pull(controller) {
          if (left-- > 0) controller.enqueue(piece);
          else controller.close();
        },
      });
      return new Response(stream).arrayBuffer().then(() => 'it was read', String);`);
      expect(answer).toBe('RangeError: Array buffer allocation failed');
    } finally {
      small.dispose();
    }
  },
);
