/**
 * The class Request inside an isolate: conversion of arguments, their order, and the attributes.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createWebIsolate, type WebIsolate } from '../../../support/web/web-isolate.ts';

let isolate: WebIsolate;
beforeAll(async () => {
  isolate = await createWebIsolate();
});
afterAll(() => isolate.dispose());

const errorName = `const errorName = async (run) => { try { await run(); return 'none'; } catch (error) { return error?.name ?? error; } };
  const at = 'https://a.example/';`;

test('every attribute has its default, and cannot be written to', async () => {
  expect(
    await isolate.run(`${errorName}
      const request = new Request(at);
      const names = ['method', 'destination', 'referrer', 'referrerPolicy', 'mode', 'credentials', 'cache', 'redirect', 'integrity',
        'keepalive', 'isReloadNavigation', 'isHistoryNavigation', 'duplex', 'body', 'bodyUsed'];
      const shown = names.map((name) => request[name]);
      for (const name of names) Reflect.set(request, name, 'changed');
      return [shown, names.every((name, i) => request[name] === shown[i]),
        names.every((name) => Object.getOwnPropertyDescriptor(Request.prototype, name).enumerable)];`),
  ).toEqual([
    [
      'GET',
      '',
      'about:client',
      '',
      'cors',
      'same-origin',
      'default',
      'follow',
      '',
      false,
      false,
      false,
      'half',
      null,
      false,
    ],
    true,
    true,
  ]);
});

test('members of an init are kept and copied, and options for pages are reset by a further init', async () => {
  expect(
    await isolate.run(`${errorName}
      const init = { cache: 'no-store', credentials: 'omit', integrity: 'sha256-x', keepalive: 1, mode: 'same-origin', redirect: 'manual',
        referrer: '', referrerPolicy: 'origin', priority: 'low', window: null };
      const show = (request) => Object.keys(init).map((key) => request[key]);
      const request = new Request(at, init);
      return [show(request), show(request.clone()), show(new Request(request)), show(new Request(request, {})),
        show(new Request(request, { method: 'PUT' })), ...['https://b.example/x y', 'about:client', 'HTTPS://B.example'].map((referrer) => new Request(at, { referrer }).clone().referrer)];`),
  ).toEqual([
    ...Array(4).fill([
      'no-store',
      'omit',
      'sha256-x',
      true,
      'same-origin',
      'manual',
      '',
      'origin',
      null,
      null,
    ]),
    ['no-store', 'omit', 'sha256-x', true, 'same-origin', 'manual', 'about:client', '', null, null],
    'https://b.example/x%20y',
    'about:client',
    'https://b.example/',
  ]);
});

test('a value outside its enumeration, and a forbidden one, is a TypeError', async () => {
  expect(
    await isolate.run(`${errorName}
      const inits = [{ cache: 'x' }, { credentials: '' }, { duplex: 'full' }, { mode: 'x' }, { priority: 'x' }, { redirect: 'Follow' },
        { referrerPolicy: 'x' }, { mode: 'navigate' }, { window: 'x' }, { referrer: 'http://:nothing' }, { cache: 'only-if-cached' },
        { mode: 'no-cors', method: 'PUT' }, { signal: {} }, { method: '' }, { method: 'a b' }, { method: 'connect' }, { method: 'Ā' },
        { headers: 1 }, { headers: [['a']] }, 1, { body: '' }, { method: 'HEAD', body: '' }];
      return [await Promise.all(inits.map((init) => errorName(() => new Request(at, init)))),
        await Promise.all(['', '/path', 'https://', 'https://u@a.example/', 'https://:p@a.example/'].map((url) => errorName(() => new Request(url)))),
        await errorName(() => Request(at)), await errorName(() => new Request(at, { cache: 'only-if-cached', mode: 'same-origin' }))];`),
  ).toEqual([Array(22).fill('TypeError'), Array(5).fill('TypeError'), 'TypeError', 'none']);
});

test('six methods are converted to upper case, all others stay as they are', async () => {
  expect(
    await isolate.run(`${errorName}
      return ['get', 'Post', 'put', 'delete', 'head', 'options', 'patch', 'Foo'].map((method) => new Request(at, { method }).method)`),
  ).toEqual(['GET', 'POST', 'PUT', 'DELETE', 'HEAD', 'OPTIONS', 'patch', 'Foo']);
});

test('the members of an init are read once, in the order of their names, before the URL is parsed', async () => {
  expect(
    await isolate.run(`${errorName}
      const read = [];
      const init = new Proxy({ method: { toString() { read.push('method to string'); return 'PUT'; } } }, {
        get(target, key) { read.push(key); return target[key]; },
      });
      await errorName(() => new Request('nowhere', init));
      return read;`),
  ).toEqual([
    'body',
    'cache',
    'credentials',
    'duplex',
    'headers',
    'integrity',
    'keepalive',
    'method',
    'method to string',
    'mode',
    'priority',
    'redirect',
    'referrer',
    'referrerPolicy',
    'signal',
    'window',
  ]);
});

test('headers that a browser guards can be set: a server sends them', async () => {
  expect(
    await isolate.run(`${errorName}
      const request = new Request(at, { headers: { Cookie: 'a=1', Host: 'b.example', 'Set-Cookie': 'c=2', Origin: 'null' } });
      request.headers.append('Set-Cookie', 'd=3');
      return [[...request.headers], request.headers === request.headers];`),
  ).toEqual([
    [
      ['cookie', 'a=1'],
      ['host', 'b.example'],
      ['origin', 'null'],
      ['set-cookie', 'c=2'],
      ['set-cookie', 'd=3'],
    ],
    true,
  ]);
});

test('a stream as a body asks for duplex, an unused stream, and no keepalive; it is then the very body', async () => {
  expect(
    await isolate.run(`${errorName}
      const stream = () => new ReadableStream({ start(c) { c.enqueue(new Uint8Array([111, 107])); c.close(); } });
      const make = (body, init = {}) => new Request(at, { method: 'POST', duplex: 'half', body, ...init });
      const locked = stream(); locked.getReader();
      const read = stream(); const reader = read.getReader(); await reader.read(); reader.releaseLock();
      const own = stream();
      const request = make(own);
      const moved = new Request(request);
      return [
        await Promise.all([() => make(stream(), { duplex: undefined }), () => make(locked), () => make(read), () => make(stream(), { keepalive: true }),
          () => make(stream(), { mode: 'no-cors' }), () => make(stream(), { method: 'GET' })].map(errorName)),
        request.body === own, own.locked, request.bodyUsed, moved.bodyUsed, moved.headers.get('content-type'), await moved.text(), moved.bodyUsed,
      ];`),
  ).toEqual([Array(6).fill('TypeError'), true, true, true, false, null, 'ok', true]);
});

test('a request made from another takes the body over, unless it brings its own or cannot be made', async () => {
  expect(
    await isolate.run(`${errorName}
      const first = new Request(at, { method: 'POST', body: 'payload' });
      const failures = [await errorName(() => new Request(first, { method: 'GET' })), await errorName(() => new Request(first, { method: 'TRACE' }))];
      const before = first.bodyUsed;
      const replaced = new Request(first, { body: 'other' });
      const stream = first.body;
      const moved = new Request(first);
      return [failures, before, await replaced.text(), moved !== first, first.bodyUsed, first.body === stream, stream.locked, moved.bodyUsed,
        await moved.text(), await errorName(() => new Request(first)), await errorName(() => first.text()), await errorName(() => first.clone()),
        await new Request(first, { body: 'third' }).text()];`),
  ).toEqual([
    ['TypeError', 'TypeError'],
    false,
    'other',
    true,
    true,
    true,
    true,
    false,
    'payload',
    'TypeError',
    'TypeError',
    'TypeError',
    'third',
  ]);
});

test('a body that a reader locks can neither be read, cloned nor taken over', async () => {
  expect(
    await isolate.run(`${errorName}
      const request = new Request(at, { method: 'POST', body: 'x' });
      const reader = request.body.getReader();
      const held = [request.bodyUsed, await errorName(() => request.text()), await errorName(() => request.clone()), await errorName(() => new Request(request))];
      reader.releaseLock();
      return [held, request.bodyUsed, await request.text(), request.bodyUsed, request.body.locked];`),
  ).toEqual([[false, 'TypeError', 'TypeError', 'TypeError'], false, 'x', true, true]);
});

test('the signal follows that of the init, through copies and clones', async () => {
  expect(
    await isolate.run(`${errorName}
      const controller = new AbortController();
      const request = new Request(at, { signal: controller.signal });
      const copy = new Request(request);
      const clone = copy.clone();
      const apart = new Request(request, { signal: null });
      const seen = [];
      clone.signal.addEventListener('abort', () => seen.push(clone.signal.reason));
      const early = [request, copy, clone, apart].map((one) => one.signal.aborted);
      controller.abort('why');
      return [early, [request, copy, clone, apart].map((one) => one.signal.aborted), seen, request.signal === request.signal,
        request.signal !== controller.signal, new Request(at).signal instanceof AbortSignal, new Request(request).signal.reason];`),
  ).toEqual([[false, false, false, false], [true, true, true, false], ['why'], true, true, true, 'why']);
});
