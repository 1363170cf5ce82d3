/**
 * Request smuggling: of a request that a proxy in front could read in another way, no second
 * request is made, and the connection ends.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { dial, errorOf, exchange, statuses } from '../support/http/raw-http.ts';
import { type Installed, TestService } from '../support/service.ts';

let annex: TestService;
let echo: Installed;
let path: string;
beforeAll(async () => {
  annex = await TestService.start();
  echo = await annex.deploy(
    'echo',
    `export default { async fetch(envelope) {
      const form = await envelope.formData();
      const { request } = JSON.parse(await form.get('event'));
      const { pathname } = new URL(request.url);
      console.log(request.method, pathname.split('/').slice(2).join('/'));
      if (pathname.endsWith('/slow')) await new Promise((resolve) => setTimeout(resolve, 300));
      return new Response(JSON.stringify({ ...request, body: await form.get('fetch-body')?.text() }));
    } };`,
  );
  path = new URL(echo.endpoint).pathname;
});
afterAll(() => annex.stop());

const head = (...headers: string[]) => ['host: x', ...headers].map((line) => `${line}\r\n`).join('');
const smuggled = () => `GET ${path}/smuggled HTTP/1.1\r\n${head()}\r\n`;
const neverEntered = async () =>
  expect((await annex.log(echo)).filter(({ text }) => text.includes('smuggled'))).toEqual([]);

describe('a request is refused, and the bytes after it are not read as a request', () => {
  const framed = (framing: string[], body: string) => () =>
    `POST ${path} HTTP/1.1\r\n${head(...framing)}\r\n${body}${smuggled()}`;
  const get = (...headers: string[]) => framed(headers, '');
  test.each<[string, () => string]>([
    ['a length beside chunks', framed(['content-length: 4', 'transfer-encoding: chunked'], '0\r\n\r\n')],
    ['chunks beside a length', framed(['transfer-encoding: chunked', 'content-length: 4'], '0\r\n\r\n')],
    ['two lengths', framed(['content-length: 3', 'content-length: 0'], 'abc')],
    ['one length twice', framed(['content-length: 3', 'content-length: 3'], 'abc')],
    ['a list of lengths', framed(['content-length: 3, 3'], 'abc')],
    ['a length with a sign', framed(['content-length: +3'], 'abc')],
    ['a length in hexadecimal', framed(['content-length: 0x3'], 'abc')],
    ['a length that overflows', framed(['content-length: 18446744073709551619'], 'abc')],
    ['an unknown coding', framed(['transfer-encoding: xchunked'], '0\r\n\r\n')],
    ['the identity coding', framed(['transfer-encoding: identity'], '')],
    ['a coding before chunks', framed(['transfer-encoding: gzip, chunked'], '0\r\n\r\n')],
    ['a coding after chunks', framed(['transfer-encoding: chunked, gzip'], '0\r\n\r\n')],
    ['chunks twice', framed(['transfer-encoding: chunked', 'transfer-encoding: chunked'], '0\r\n\r\n')],
    ['a space before a colon', framed(['transfer-encoding : chunked'], '0\r\n\r\n')],
    ['a folded line', get('x: a\r\n transfer-encoding: chunked')],
    ['a bare line feed', () => `GET ${path} HTTP/1.1\nhost: x\n\n${smuggled()}`],
    ['a bare line feed among headers', get('x: a\ny: b')],
    ['a bare carriage return', get('x: a\ry: b')],
    ['a NUL', get('x: a\0b')],
    ['a header without a name', get(': a')],
    ['no host', () => `GET ${path} HTTP/1.1\r\n\r\n${smuggled()}`],
    ['two hosts', get('host: y')],
    ['a target with another host in it', () => `GET http://y${path} HTTP/1.1\r\n${head()}\r\n${smuggled()}`],
    ['a target that is a host', () => `GET x:80 HTTP/1.1\r\n${head()}\r\n${smuggled()}`],
    ['a target for all', () => `OPTIONS * HTTP/1.1\r\n${head()}\r\n${smuggled()}`],
    ['a target with a fragment', () => `GET ${path}#x HTTP/1.1\r\n${head()}\r\n${smuggled()}`],
    ['a target with a space', () => `GET ${path}/a b HTTP/1.1\r\n${head()}\r\n${smuggled()}`],
    ['a target beyond ASCII', () => `GET ${path}/\xe9 HTTP/1.1\r\n${head()}\r\n${smuggled()}`],
    [
      'chunks in HTTP/1.0',
      () => `POST ${path} HTTP/1.0\r\n${head('transfer-encoding: chunked')}\r\n0\r\n\r\n${smuggled()}`,
    ],
    ['HTTP/0.9', () => `GET ${path}\r\n\r\n${smuggled()}`],
    ['another version', () => `GET ${path} HTTP/1.2\r\n${head()}\r\n${smuggled()}`],
    ['HTTP/2', () => `PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n${smuggled()}`],
    ['a method in small letters', () => `get ${path} HTTP/1.1\r\n${head()}\r\n${smuggled()}`],
    ['an unknown method', () => `TRACK ${path} HTTP/1.1\r\n${head()}\r\n${smuggled()}`],
  ])('%s', async (_what, bytes) => {
    const text = await exchange(annex.service.publicUrl, bytes());
    expect([statuses(text), errorOf(text).code]).toEqual([[400], 'REQUEST_INVALID']);
    await neverEntered();
  });

  test.each(['TRACE', 'CONNECT'])('%s, which no route answers', async (method) => {
    const target = method === 'CONNECT' ? 'x:80' : path;
    const bytes = `${method} ${target} HTTP/1.1\r\n${head('cookie: a=b')}\r\n${smuggled()}`;
    const text = await exchange(annex.service.publicUrl, bytes);
    expect([statuses(text), errorOf(text).code]).toEqual([[405], 'METHOD_REFUSED']);
    expect(text).not.toContain('a=b');
    await neverEntered();
  });

  test.each(['expect: 200-maybe', 'expect: 100-continued'])(
    '%s, an unknown expectation',
    async (expectation) => {
      const text = await exchange(
        annex.service.publicUrl,
        `GET ${path} HTTP/1.1\r\n${head(expectation)}\r\n${smuggled()}`,
      );
      expect([statuses(text), errorOf(text).code]).toEqual([[417], 'EXPECTATION_UNKNOWN']);
      await neverEntered();
    },
  );

  test.each([
    ['a size in another notation', '0x1\r\nx\r\n0\r\n\r\n'],
    ['a size with a sign', '+1\r\nx\r\n0\r\n\r\n'],
    ['bare line feeds', '1\nx\n0\n\n'],
    ['more bytes than announced', '1\r\nxGET\r\n0\r\n\r\n'],
    ['a length in the trailer', '0\r\ncontent-length: 40\r\n\r\n'],
    ['a flood of extensions', `1;${'a'.repeat(20_000)}\r\nx\r\n0\r\n\r\n`],
  ])('chunks with %s', async (_what, chunks) => {
    const bytes = `POST ${path}/v1 HTTP/1.1\r\n${head(
      'transfer-encoding: chunked',
      `authorization: Bearer ${annex.platform}`,
      'content-type: multipart/form-data; boundary=b',
    )}\r\n${chunks}${smuggled()}`;
    const text = await exchange(annex.service.publicUrl, bytes);
    expect(statuses(text)).toEqual([400]);
    await neverEntered();
  });
});

describe('a request is accepted with one meaning only:', () => {
  const closing = 'connection: close';
  const echoed = async (bytes: string) => {
    const [first = '', body = ''] = (await exchange(annex.service.publicUrl, bytes)).split('\r\n\r\n');
    expect(statuses(first)).toEqual([200]);
    return body;
  };

  test.each(['websocket', 'h2c', 'TLS/1.0'])('a switch to %s, as HTTP/1.1', async (to) => {
    const upgrade = head('connection: upgrade, close', `upgrade: ${to}`, 'content-length: 3');
    const text = await exchange(
      annex.service.publicUrl,
      `POST ${path}/up HTTP/1.1\r\n${upgrade}\r\nabc${smuggled()}`,
    );
    expect(statuses(text)).toEqual([200]);
    expect(text).toContain('"body":"abc"');
    expect(text).not.toContain('upgrade');
    await neverEntered();
  });

  test('chunks with extensions and trailers, without these', async () => {
    const bytes = `POST ${path}/c HTTP/1.1\r\n${head('transfer-encoding: chunked', closing)}\r\n1;a=b\r\nx\r\n0\r\nauthorization: z\r\n\r\n`;
    const body = await echoed(bytes);
    expect(body).toContain('"body":"x"');
    expect(body).not.toMatch(/authorization|chunked/);
  });

  test('HTTP/1.0, with an answer that ends the connection', async () => {
    const text = await exchange(annex.service.publicUrl, `GET ${path} HTTP/1.0\r\n\r\n`);
    expect(statuses(text)).toEqual([200]);
    expect(text).toMatch(/\r\nconnection: close\r\n/i);
  });

  // The path below the endpoint belongs to the integration; it never becomes the path of another
  // endpoint.
  test.each(['/a/../x', '//x', '/b/%2e%2e/x', '/./x', '/a%2fb', '/%00'])(
    'the path %s, as part of its endpoint',
    async (tail) => {
      const body = await echoed(`GET ${path}${tail} HTTP/1.1\r\n${head(closing)}\r\n`);
      expect(JSON.parse(body.replace(/^[0-9a-f]+\r\n/, '')).url).toBe(`${echo.endpoint}${tail}`);
    },
  );

  test('an endpoint has exactly one spelling', async () => {
    const key = path.slice(1);
    const first = `%${key.charCodeAt(0).toString(16)}${key.slice(1)}`;
    for (const target of [
      `//${key}`,
      `/./${key}`,
      `/x/../${key}`,
      `/${first}`,
      `/${key.toUpperCase()}`,
      `/${key}%2fv1`,
      `/${key}%00`,
      `/${key};x`,
    ]) {
      const text = await exchange(annex.service.publicUrl, `GET ${target} HTTP/1.1\r\n${head(closing)}\r\n`);
      expect([target, statuses(text), errorOf(text).code]).toEqual([target, [404], 'ENDPOINT_UNKNOWN']);
    }
  });
});

describe('data after a request that is still being answered', () => {
  // Attack: an error that is written at once is taken for the answer to the first request.
  test('ends the connection after that answer if it is not HTTP', async () => {
    const text = await exchange(
      annex.service.publicUrl,
      `GET ${path}/slow HTTP/1.1\r\n${head()}\r\nGARBAGE\r\n\r\n${smuggled()}`,
    );
    expect(statuses(text)).toEqual([200]);
    expect(text).toContain('/slow');
    await neverEntered();
  });

  test('is answered after it, in order, if it is a request', async () => {
    const { socket, seen } = await dial(annex.service.publicUrl);
    socket.write(`GET ${path}/slow HTTP/1.1\r\n${head()}\r\nGET ${path}/second HTTP/1.1\r\n${head()}\r\n`);
    await expect.poll(() => statuses(seen())).toEqual([200, 200]);
    expect(seen().indexOf('/slow')).toBeLessThan(seen().indexOf('/second'));
  });
});

test('the head of a request is bounded in size and in number of headers, exactly', async () => {
  const of = async (url: string, bytes: string) => {
    const text = await exchange(url, bytes);
    return statuses(text)[0];
  };
  const small = await TestService.start({ limits: { requestHeadBytes: 2_000, requestHeaders: 20 } });
  try {
    for (const url of [small.service.publicUrl, small.service.controlUrl]) {
      const many = (more: number) =>
        `GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n${'x: y\r\n'.repeat(more)}\r\n`;
      expect([await of(url, many(18)), await of(url, many(19)), await of(url, many(60))]).toEqual([
        404, 431, 431,
      ]);
      const long = (bytes: number) =>
        `GET /${'a'.repeat(bytes)} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n`;
      expect([await of(url, long(1_900)), await of(url, long(2_000))]).toEqual([404, 431]);
    }
  } finally {
    await small.stop();
  }
});
