/** `fetch` in an isolate: through the cell and the host to a real server and back. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { PathReceiver } from '../../support/receivers/path-receiver.ts';
import { type Installed, startTestService, TestService } from '../../support/service.ts';

/**
 * An integration that runs posted code as the body of an async function of `(origin, state,
 * request)`.
 */
const RUNNER = `
  const AsyncFunction = (async () => {}).constructor;
  const state = {};
  export default { async fetch(envelope) {
    const form = await envelope.formData();
    const event = JSON.parse(form.get('event'));
    const code = await form.get('fetch-body')?.text() ?? '';
    try {
      const value = await new AsyncFunction('origin', 'state', code)(event.request.headers['x-origin'], state);
      return value instanceof Response ? value : Response.json({ value });
    } catch (error) {
      return Response.json({ error: { name: error?.name, message: error?.message } }, { status: 500 });
    }
  } };`;

const ALLOW = ['--egress-allow', '127.0.0.1/32'];
const receiver = new PathReceiver();
let annex: TestService;
let runner: Installed;
beforeAll(async () => {
  await receiver.listen();
  annex = await TestService.start({ flags: ALLOW });
  runner = await annex.deploy('runner', RUNNER);
});
afterAll(async () => {
  await annex.stop();
  receiver.close();
});

const call = (code: string, installed = runner): Promise<Response> =>
  fetch(installed.endpoint, { method: 'POST', body: code, headers: { 'x-origin': receiver.origin } });
const run = async (code: string, installed = runner): Promise<unknown> =>
  (await call(code, installed)).json();
const text = async (request: IncomingMessage): Promise<string> => {
  let all = '';
  for await (const chunk of request) all += String(chunk);
  return all;
};

describe('a request', () => {
  test('has its method, headers and body, and its answer arrives complete', async () => {
    receiver.on('/echo', async (request, response) => {
      const body = await text(request);
      response.writeHead(201, 'Made', [
        ['content-type', 'application/json'],
        ['x-list', 'a'],
        ['x-list', 'b'],
        ['set-cookie', 'one=1'],
        ['set-cookie', 'two=2'],
      ] as never);
      response.end(
        JSON.stringify({ method: request.method, url: request.url, header: request.headers['x-sent'], body }),
      );
    });
    expect(
      await run(`
        const response = await fetch(origin + '/echo?q=1', { method: 'PUT', body: 'größe', headers: { 'x-sent': 'yes' } });
        const copy = response.clone();
        return [response.status, response.statusText, response.ok, response.url.endsWith('/echo?q=1'), response.redirected, response.type, response.headers.get('x-list'),
          response.headers.getSetCookie(), await response.json(), (await copy.text()).length > 0, response instanceof Response, response.bodyUsed];`),
    ).toEqual({
      value: [
        201,
        'Made',
        true,
        true,
        false,
        'basic',
        'a, b',
        ['one=1', 'two=2'],
        { method: 'PUT', url: '/echo?q=1', header: 'yes', body: 'größe' },
        true,
        true,
        true,
      ],
    });
  });

  test.each([
    ['a string', `'text'`, 'text/plain;charset=UTF-8', 'text'],
    ['bytes', `new Uint8Array([104, 105])`, undefined, 'hi'],
    ['a Blob', `new Blob(['blob'], { type: 'a/b' })`, 'a/b', 'blob'],
    [
      'URLSearchParams',
      `new URLSearchParams({ a: '1 2' })`,
      'application/x-www-form-urlencoded;charset=UTF-8',
      'a=1+2',
    ],
  ])('carries %s with its content type', async (_what, body, type, received) => {
    receiver.on('/types', async (request, response) => {
      response.end(JSON.stringify([request.headers['content-type'], await text(request)]));
    });
    const answer = await run(
      `return (await fetch(origin + '/types', { method: 'POST', body: ${body} })).json();`,
    );
    expect(answer).toEqual({ value: [type ?? null, received] });
  });

  test('whose answer is empty has a body, if status and method allow one', async () => {
    receiver.on(
      '/empty',
      (request, response) => void response.writeHead(Number(request.url?.split('?')[1])).end(),
    );
    expect(
      await run(`
        const seen = [];
        for (const [status, method] of [[200, 'GET'], [404, 'POST'], [204, 'GET'], [304, 'GET'], [200, 'HEAD']]) {
          const { body } = await fetch(origin + '/empty?' + status, { method });
          seen.push(body && (await body.getReader().read()).done);
        }
        return seen;`),
    ).toEqual({ value: [true, true, null, null, null] });
  });

  test('can be a Request, and its answer can be returned to the caller', async () => {
    receiver.on('/teapot', (request, response) => {
      response.writeHead(418, { 'x-method': String(request.method) }).end('short and stout');
    });
    const response = await call(`return fetch(new Request(origin + '/teapot', { method: 'DELETE' }));`);
    expect([response.status, response.headers.get('x-method'), await response.text()]).toEqual([
      418,
      'DELETE',
      'short and stout',
    ]);
  });

  test.each([
    ['nothing', `await fetch()`],
    ['a relative URL', `await fetch('/path')`],
    ['another scheme', `await fetch('file:///etc/passwd')`],
    ['credentials in the URL', `await fetch('https://user:secret@example.com/')`],
    ['GET with a body', `await fetch(origin, { body: 'x' })`],
    ['a forbidden method', `await fetch(origin, { method: 'CONNECT' })`],
  ])('of %s is a TypeError', async (_what, code) => {
    expect(await run(code)).toMatchObject({ error: { name: 'TypeError' } });
  });
});

test('a data: URL is read inside the isolate, and counts as no fetch', async () => {
  const code = `
    const read = async (url, init) => {
      const answer = await fetch(url, init);
      return [answer.status, answer.statusText, answer.type, answer.url, answer.headers.get('content-type'), await answer.text()];
    };
    const refused = [];
    for (const url of ['data:', 'data:text/plain', 'data:;base64,a', 'data:;base64,%', 'data:;base64,a=b'])
      await fetch(url).catch(({ name }) => refused.push(name));
    for (let i = 0; i < 60; i++) await fetch('data:,');
    return [
      await read('data:,a%20b%zz%e4#c'), await read('data:;charset=utf-8;Base64,4pyT'), await read('data:TEXT/HTML;a=b;base64 ,YQ'),
      await read('data: image/svg+xml ; x="y" ,<a>', { method: 'POST', body: 'x' }), await read('data:nonsense,é'), await read('data:,head', { method: 'HEAD' }),
      await new Response((await fetch('data:application/octet-stream;base64,/w==')).body).bytes().then(String), refused,
    ];`;
  const text = (type: string, body: string, url: string) => [200, 'OK', 'basic', url, type, body];
  expect(await run(code)).toEqual({
    value: [
      text('text/plain;charset=US-ASCII', 'a b%zz\ufffd', 'data:,a%20b%zz%e4'),
      text('text/plain;charset=utf-8', '✓', 'data:;charset=utf-8;Base64,4pyT'),
      text('text/html;a=b', 'a', 'data:TEXT/HTML;a=b;base64 ,YQ'),
      text('image/svg+xml;x=y', '<a>', 'data: image/svg+xml ; x="y" ,<a>'),
      text('text/plain;charset=US-ASCII', 'é', 'data:nonsense,%C3%A9'),
      text('text/plain;charset=US-ASCII', '', 'data:,head'),
      '255',
      Array(5).fill('TypeError'),
    ],
  });
});

test('a fetch is an entry of its call, where the code asks for such entries', async () => {
  receiver.on('/timed', (_request, response) => response.writeHead(418).end('tea'));
  const code = `
    const seen = [];
    const observer = new PerformanceObserver((list) => seen.push(...list.getEntries()));
    observer.observe({ type: 'resource' });
    const response = await fetch(origin + '/timed');
    await response.text();
    const [entry, ...others] = performance.getEntriesByType('resource');
    const { name, initiatorType, responseStatus, startTime, duration, fetchStart, responseEnd } = entry;
    const [listed] = [JSON.parse(JSON.stringify(entry))];
    performance.clearResourceTimings();
    return [name, initiatorType, responseStatus, fetchStart === startTime, responseEnd === startTime + duration, duration >= 0, seen[0] === entry,
      others.length, listed.name === name && listed.responseStatus, performance.getEntries().length,
      [entry.transferSize, entry.requestStart, entry.nextHopProtocol, listed.encodedBodySize, Object.keys(Object.getPrototypeOf(entry)).length]];`;
  const hidden = [0, 0, '', 0, 19];
  const entry = [`${receiver.origin}/timed`, 'fetch', 418, true, true, true, true, 0, 418, 0, hidden];
  // The entries of the one call are not those of the next.
  expect([await run(code), await run(code)]).toEqual([{ value: entry }, { value: entry }]);
});

describe('bodies that are streams', () => {
  test('an answer can be read before its last byte is sent', async () => {
    const gate = Promise.withResolvers<void>();
    receiver.on('/slow', async (_request, response) => {
      response.write('first');
      await gate.promise;
      response.end(' last');
    });
    receiver.on('/gate', (_request, response) => {
      gate.resolve();
      response.end('open');
    });
    expect(
      await run(`
        const response = await fetch(origin + '/slow');
        const reader = response.body.getReader();
        const first = new TextDecoder().decode((await reader.read()).value);
        await (await fetch(origin + '/gate')).text();
        let rest = '';
        for (let next = await reader.read(); !next.done; next = await reader.read()) rest += new TextDecoder().decode(next.value);
        return [first, rest];`),
    ).toEqual({ value: ['first', ' last'] });
  });

  test('an upload is sent as it is produced', async () => {
    const arrived: string[] = [];
    const waiting = Promise.withResolvers<void>();
    receiver.on('/upload', async (request, response) => {
      for await (const chunk of request) {
        arrived.push(String(chunk));
        waiting.resolve();
      }
      response.end(JSON.stringify(arrived));
    });
    receiver.on('/arrived', async (_request, response) => {
      await waiting.promise;
      response.end(String(arrived));
    });
    expect(
      await run(`
        const { readable, writable } = new TransformStream();
        const answer = fetch(origin + '/upload', { method: 'POST', body: readable, duplex: 'half' });
        const writer = writable.getWriter();
        await writer.write(new TextEncoder().encode('one'));
        const seen = await (await fetch(origin + '/arrived')).text();
        await writer.write(new TextEncoder().encode('two'));
        await writer.close();
        return [seen, (await (await answer).json()).join('')];`),
    ).toEqual({ value: ['one', 'onetwo'] });
  });

  test('megabytes arrive complete, and can be piped to the caller', async () => {
    const megabytes = Buffer.alloc(4 * 1024 * 1024, 'annex');
    receiver.on('/large', (_request, response) => void response.end(megabytes));
    expect(await run(`return (await (await fetch(origin + '/large')).arrayBuffer()).byteLength;`)).toEqual({
      value: megabytes.byteLength,
    });
    const piped = await call(`return new Response((await fetch(origin + '/large')).body);`);
    expect(Buffer.from(await piped.arrayBuffer()).equals(megabytes)).toBe(true);
  });

  test('a server waits for a tenant that does not read', async () => {
    let written = 0;
    receiver.on('/flood', (_request, response) => {
      const piece = Buffer.alloc(64 * 1024);
      const more = () => {
        while (written < 200 * 1024 * 1024) {
          written += piece.byteLength;
          if (!response.write(piece)) break;
        }
      };
      response.on('drain', more);
      more();
    });
    receiver.on('/pause', (_request, response) => void response.end('ok'));
    await run(`
      const response = await fetch(origin + '/flood');
      for (let i = 0; i < 30; i++) await (await fetch(origin + '/pause')).text();
      return response.status;`);
    expect(written).toBeLessThan(64 * 1024 * 1024);
  });

  test('an upload that breaks fails its fetch', async () => {
    receiver.on('/broken', async (request) => {
      await text(request).catch(() => undefined);
    });
    expect(
      await run(`
        const body = new ReadableStream({ pull(controller) { controller.error(new RangeError('my source broke')); } });
        await fetch(origin + '/broken', { method: 'POST', body, duplex: 'half' });`),
    ).toMatchObject({ error: { name: 'RangeError', message: 'my source broke' } });
  });

  test('an answer that breaks off fails its reader', async () => {
    receiver.on('/cut', (_request, response) => {
      response.writeHead(200, { 'content-length': '1000' });
      response.write('part', () => response.destroy());
    });
    expect(await run(`await (await fetch(origin + '/cut')).text();`)).toMatchObject({
      error: { name: 'TypeError' },
    });
  });
});

describe('an abort', () => {
  test('ends a fetch that waits, with the reason, and closes its connection', async () => {
    const closed = receiver.holdOpen('/never', '/arrived');
    expect(
      await run(`
        const controller = new AbortController();
        const never = fetch(origin + '/never', { signal: controller.signal });
        await fetch(origin + '/arrived');
        controller.abort();
        await never;`),
    ).toMatchObject({ error: { name: 'AbortError' } });
    await closed;
  });

  test('before the fetch sends nothing', async () => {
    const before = receiver.requests.length;
    expect(
      await run(`await fetch(origin, { signal: AbortSignal.abort(new RangeError('enough')) });`),
    ).toMatchObject({
      error: { name: 'RangeError', message: 'enough' },
    });
    expect(receiver.requests.length).toBe(before);
  });

  test('ends a fetch that is queued, and its place goes to the next', async () => {
    receiver.on('/never', () => undefined);
    receiver.on('/ok', (_request, response) => void response.end('ok'));
    expect(
      await run(`
        const six = Array.from({ length: 6 }, () => new AbortController());
        const never = six.map(({ signal }) => fetch(origin + '/never', { signal }).catch((error) => error.name));
        let cancelled;
        const body = new ReadableStream({ cancel(reason) { cancelled = reason.name; } });
        const waits = fetch(origin + '/ok', { method: 'POST', body, duplex: 'half', signal: AbortSignal.timeout(1) }).catch((error) => error.name);
        const next = fetch(origin + '/ok').then((response) => response.text());
        const seen = [await waits, cancelled];
        six[0].abort();
        seen.push(await next);
        for (const controller of six) controller.abort();
        return [...seen, ...new Set(await Promise.all(never))];`),
    ).toEqual({ value: ['TimeoutError', 'TimeoutError', 'ok', 'AbortError'] });
  });

  test('by a time-out is a TimeoutError', async () => {
    receiver.on('/never', () => undefined);
    expect(await run(`await fetch(origin + '/never', { signal: AbortSignal.timeout(5) });`)).toMatchObject({
      error: { name: 'TimeoutError' },
    });
  });

  test('breaks a body that is being read', async () => {
    receiver.on('/half', (_request, response) => void response.write('half'));
    expect(
      await run(`
        const controller = new AbortController();
        const response = await fetch(origin + '/half', { signal: controller.signal });
        const reader = response.body.getReader();
        await reader.read();
        controller.abort(new RangeError('no more'));
        await reader.read();`),
    ).toMatchObject({ error: { name: 'RangeError', message: 'no more' } });
  });
});

describe('limits', () => {
  test('a call may fetch 50 times, and not 51', async () => {
    receiver.on('/ok', (_request, response) => void response.end('ok'));
    expect(
      await run(`for (let i = 0; i < 50; i++) await (await fetch(origin + '/ok')).text(); return 'fifty';`),
    ).toEqual({ value: 'fifty' });
    const refused = await run(`for (let i = 0; i < 51; i++) await (await fetch(origin + '/ok')).text();`);
    expect(refused).toMatchObject({ error: { name: 'TypeError', message: expect.stringContaining('50') } });
  });

  test('six are in flight at once, and the others queue', async () => {
    let open = 0;
    let most = 0;
    const held: ServerResponse[] = [];
    receiver.on('/hold', (_request, response) => {
      open += 1;
      most = Math.max(most, open);
      held.push(response);
      // The sixth request has all of them answered.
      if (open < 6) return;
      open = 0;
      for (const one of held.splice(0)) one.end('held');
    });
    expect(
      await run(
        `return (await Promise.all(Array.from({ length: 18 }, async () => (await fetch(origin + '/hold')).text()))).length;`,
      ),
    ).toEqual({ value: 18 });
    expect(most).toBe(6);
  });

  test('a body may have the maximum size, and not a byte more', async () => {
    const limited = await startTestService({
      flags: ALLOW,
      limits: { fetchRequestBodyBytes: 100_000, fetchResponseBodyBytes: 100_000 },
    });
    const installed = await limited.deploy('runner', RUNNER);
    receiver.on('/size', async (request, response) => {
      response.end(String((await text(request).catch(() => '')).length));
    });
    receiver.on('/sized', (request, response) => {
      response.end(
        Buffer.alloc(Number(new URL(request.url ?? '', receiver.origin).searchParams.get('bytes'))),
      );
    });
    const sent = (bytes: number) =>
      run(
        `return (await fetch(origin + '/size', { method: 'POST', body: new Uint8Array(${bytes}) })).text();`,
        installed,
      );
    const streamed = (bytes: number) =>
      run(
        `const body = new Blob([new Uint8Array(${bytes})]).stream(); return (await fetch(origin + '/size', { method: 'POST', body, duplex: 'half' })).text();`,
        installed,
      );
    const received = (bytes: number) =>
      run(
        `return (await (await fetch(origin + '/sized?bytes=${bytes}')).arrayBuffer()).byteLength;`,
        installed,
      );
    expect([await sent(100_000), await streamed(100_000), await received(100_000)]).toEqual([
      { value: '100000' },
      { value: '100000' },
      { value: 100_000 },
    ]);
    for (const refused of [await sent(100_001), await streamed(100_001), await received(100_001)]) {
      expect(refused).toMatchObject({ error: { name: 'TypeError' } });
    }
    expect(await run(`return 'still here';`, installed)).toEqual({ value: 'still here' });
  });
});

describe('redirects', () => {
  beforeAll(() => {
    receiver.on('/from', (_request, response) => void response.writeHead(302, { location: '/to' }).end());
    receiver.on('/to', (request, response) => void response.end(`${request.method} to`));
  });

  test('are followed, and the answer is marked', async () => {
    expect(
      await run(`
        const response = await fetch(origin + '/from', { method: 'POST', body: 'x' });
        return [await response.text(), response.redirected, response.url === origin + '/to'];`),
    ).toEqual({ value: ['GET to', true, true] });
  });

  test('are returned with redirect: manual, and refused with redirect: error', async () => {
    expect(
      await run(
        `const r = await fetch(origin + '/from', { redirect: 'manual' }); return [r.status, r.headers.get('location')];`,
      ),
    ).toEqual({ value: [302, '/to'] });
    expect(await run(`await fetch(origin + '/from', { redirect: 'error' });`)).toMatchObject({
      error: { name: 'TypeError' },
    });
  });
});

describe('addresses', () => {
  test('of the operator’s network are refused, with the address in the log', async () => {
    const closed = await startTestService();
    const installed = await closed.deploy('runner', RUNNER);
    for (const url of [
      'http://127.0.0.1:1/',
      'http://2130706433/',
      'http://[::1]/',
      'http://169.254.169.254/latest/',
    ]) {
      const refused = (await run(`await fetch('${url}');`, installed)) as {
        error: { name: string; message: string };
      };
      expect(refused.error.name).toBe('TypeError');
      expect(refused.error.message).not.toMatch(/127\.0\.0\.1|169\.254|::1/);
    }
    const log = (await closed.log(installed)).map((line) => line.text).join('\n');
    expect(log).toContain('169.254.169.254');
    expect(log).toContain('127.0.0.1');
  });

  test('attack: a call with fifty of them does not fill the log', async () => {
    const installed = await annex.install('runner');
    await run(
      `for (let at = 0; at < 50; at += 1) await fetch('http://10.0.0.' + at).catch(() => undefined);`,
      installed,
    );
    await expect
      .poll(async () => (await annex.log(installed)).at(-1)?.text)
      .toBe('fetch: 40 more of this call failed.');
    expect(await annex.log(installed)).toHaveLength(11);
  });
});

test('a failed fetch has the stack of its call', async () => {
  const located = await annex.deploy(
    'located',
    `import { createIntegration } from '@annex/sdk';
export default createIntegration({
  async fetch() {
    await fetch('http://10.0.0.1/');
  },
});`,
  );
  expect((await fetch(located.endpoint)).status).toBe(500);
  const texts = async () => (await annex.log(located)).map((line) => line.text);
  await expect.poll(texts).toContainEqual(expect.stringMatching(/^TypeError: [\s\S]*index\.js:4:/));
});

test('the end of a call ends its fetches', async () => {
  const closed = receiver.holdOpen('/forgotten', '/arrived');
  expect(
    await run(
      `fetch(origin + '/forgotten').catch(() => {}); await fetch(origin + '/arrived'); return 'done';`,
    ),
  ).toEqual({
    value: 'done',
  });
  await closed;
});

test('attack: code of an ended call cannot fetch', async () => {
  await run(`state.later = () => fetch(origin + '/late').then(() => 'sent', (error) => error.name);`);
  receiver.on('/late', (_request, response) => void response.end());
  // During another call it would be that call's fetch; its own call has ended.
  expect(await run(`return state.later();`)).toEqual({ value: 'sent' });
});

test('attack: replaced built-ins change only what the tenant sends', async () => {
  const hostile = await annex.deploy('hostile-fetch', RUNNER);
  receiver.on(
    '/plain',
    async (request, response) => void response.end(`${request.method} ${await text(request)}`),
  );
  const answer = await call(
    `
    let seen = 0;
    const spy = () => function () { seen += 1; return undefined; };
    Object.defineProperty(Object.prototype, 'method', { get: () => 'FORGED', set: spy(), configurable: true });
    Object.defineProperty(Object.prototype, 'resolve', { get: spy(), set: spy(), configurable: true });
    Map.prototype.set = spy(); Map.prototype.get = spy(); Map.prototype.delete = spy(); Map.prototype.forEach = spy();
    Function.prototype.apply = spy(); Function.prototype.call = spy(); Reflect.apply = spy();
    Promise.prototype.then = spy(); JSON.stringify = spy();
    const response = await fetch(origin + '/plain', { method: 'POST', body: 'x' });
    return new Response(await response.text() + ' ' + seen);`,
    hostile,
  );
  expect([answer.status, await answer.text()]).toEqual([200, 'POST x 0']);
  expect(await run(`return (await fetch(origin + '/plain', { method: 'POST', body: 'y' })).text();`)).toEqual(
    {
      value: 'POST y',
    },
  );
});
