/** Heads of requests and answers: allowed headers, and framing that the tenant cannot change. */
import type { IncomingMessage } from 'node:http';
import { describe, expect, test } from 'vitest';
import { EgressError } from '../../../src/host/egress/egress.ts';
import { failure, newEgress, send, serve, serveTcp } from '../../support/http/egress.ts';

type Pairs = readonly (readonly [string, string])[];

/** The head of a request with these headers, as a server receives it. */
async function seen(headers: Pairs, rest: Parameters<typeof send>[2] = {}): Promise<IncomingMessage> {
  const { promise, resolve } = Promise.withResolvers<IncomingMessage>();
  const base = await serve((request, response) => {
    resolve(request);
    response.end();
  });
  const { body } = await send(newEgress(), `${base}/a/b?c=d#e`, { headers, ...rest });
  await body.toArray();
  return promise;
}

/** The head of a raw answer, as a tenant sees it. */
async function headOf(head: string, rest: Parameters<typeof send>[2] = {}) {
  const base = await serveTcp((socket) => socket.once('data', () => socket.end(Buffer.from(head, 'latin1'))));
  const response = await send(newEgress(), base, rest);
  const body = Buffer.concat(await response.body.toArray()).toString('latin1');
  return { ...response, body };
}

describe('a request', () => {
  test('has the default headers, unless the tenant sets them', async () => {
    const { headers, method, url } = await seen([]);
    expect([method, url]).toEqual(['GET', '/a/b?c=d']);
    const { host, ...rest } = headers;
    expect(host).toMatch(/^127\.0\.0\.1:\d+$/);
    expect(rest).toEqual({
      accept: '*/*',
      'accept-encoding': 'gzip, deflate',
      'accept-language': '*',
      connection: 'keep-alive',
      'user-agent': 'Annex',
    });
    const own = await seen([
      ['Accept', 'text/html'],
      ['ACCEPT-ENCODING', 'identity'],
      ['User-Agent', 'mine'],
      ['accept-language', 'de'],
    ]);
    expect(own.headers).toMatchObject({
      accept: 'text/html',
      'accept-encoding': 'identity',
      'user-agent': 'mine',
      'accept-language': 'de',
    });
  });

  test('has every other header of the tenant, repetitions apart, byte for byte', async () => {
    const { rawHeaders } = await seen([
      ['X-One', 'a'],
      ['x-one', 'b'],
      ['Cookie', 'a=b'],
      ['Authorization', 'Bearer t'],
      ['X-Latin', 'caf\xe9'],
      ['X-Empty', ''],
    ]);
    expect(rawHeaders.slice(4, 16)).toEqual([
      ...[
        'X-One',
        'a',
        'x-one',
        'b',
        'Cookie',
        'a=b',
        'Authorization',
        'Bearer t',
        'X-Latin',
        'caf\xe9',
        'X-Empty',
        '',
      ],
    ]);
  });

  // Attack: request smuggling, by readers that disagree where a request ends.
  test('has the framing of the host, whatever the tenant sets', async () => {
    const { headers, rawHeaders } = await seen(
      [
        ['Host', 'evil.example'],
        ['Connection', 'upgrade, x-secret'],
        ['Transfer-Encoding', 'chunked'],
        ['Content-Length', '999'],
        ['Expect', '100-continue'],
        ['Upgrade', 'websocket'],
        ['HTTP2-Settings', 'AAMAAABk'],
        ['TE', 'trailers'],
        ['Trailer', 'x'],
        ['Keep-Alive', 'timeout=9'],
        ['Proxy-Authorization', 'Basic x'],
        ['Proxy-Connection', 'close'],
        ['Proxy-Anything', 'x'],
        ['X-Kept', 'yes'],
      ],
      { method: 'POST', body: Buffer.from('four') },
    );
    expect(headers['host']).toMatch(/^127\.0\.0\.1:/);
    expect(headers['content-length']).toBe('4');
    expect(headers['connection']).toBe('keep-alive');
    expect(headers['x-kept']).toBe('yes');
    const names = rawHeaders.filter((_, at) => at % 2 === 0).map((name) => name.toLowerCase());
    expect(names.sort()).toEqual(
      [
        'accept',
        'accept-encoding',
        'accept-language',
        'connection',
        'content-length',
        'host',
        'user-agent',
        'x-kept',
      ].sort(),
    );
  });

  test.each<[string, Pairs]>([
    ['a line break in a value', [['x-a', 'b\r\nx-injected: yes']]],
    ['a lone line feed', [['x-a', 'b\nGET /x HTTP/1.1']]],
    ['a lone carriage return', [['x-a', 'b\rc']]],
    ['a null', [['x-a', 'b\0c']]],
    ['a character that one byte cannot hold', [['x-a', 'b\u010ac']]],
    ['a line break in a name', [['x-a: b\r\nx-b', 'c']]],
    ['a space in a name', [['content-length ', '5']]],
    ['an empty name', [['', 'x']]],
    ['more than may be', [['x-a', 'x'.repeat(40_000)]]],
    ['many small ones', Array.from({ length: 9_000 }, (_, at) => [`x${at}`, ''] as const)],
  ])('with %s in its headers is not sent', async (_what, headers) => {
    const error = await failure(seen(headers));
    expect(error).toBeInstanceOf(EgressError);
    expect(error.message).toMatch(/header/);
  });

  test.each(['CONNECT', 'TRACE', 'track', 'GET /x HTTP/1.1\r\nx:', '', 'PÖST', 'A B'])(
    'with the method %j is not sent',
    async (method) => {
      expect((await failure(seen([], { method }))).message).toBe(
        'The method of the request may not be sent.',
      );
    },
  );

  test('may have any other method', async () => {
    for (const method of ['PUT', 'DELETE', 'PATCH', 'OPTIONS', 'PROPFIND', 'M-SEARCH'])
      expect((await seen([], { method })).method).toBe(method);
  });

  test('with GET or HEAD has no body', async () => {
    for (const method of ['GET', 'HEAD'])
      expect((await failure(seen([], { method, body: Buffer.from('x') }))).message).toMatch(/has no body/);
  });
});

describe('an answer', () => {
  test('has its status, reason phrase and all headers, several cookies apart', async () => {
    const { status, statusText, headers, body } = await headOf(
      'HTTP/1.1 299 Caf\xc3\xa9\r\nSet-Cookie: a=1\r\nX-Latin: caf\xe9\r\nset-cookie: b=2\r\nX-Two: 1\r\nX-Two: 2\r\nX-Empty:\r\nContent-Length: 2\r\n\r\nok',
    );
    expect([status, statusText, body]).toEqual([299, 'Caf\xc3\xa9', 'ok']);
    expect(headers).toEqual([
      ['set-cookie', 'a=1'],
      ['x-latin', 'caf\xe9'],
      ['set-cookie', 'b=2'],
      ['x-two', '1'],
      ['x-two', '2'],
      ['x-empty', ''],
      ['content-length', '2'],
    ]);
  });

  test('loses hop-by-hop headers, and those that its `Connection` names', async () => {
    const { headers, body } = await headOf(
      'HTTP/1.1 200 OK\r\nConnection: close, X-Hop\r\nX-Hop: 1\r\nKeep-Alive: timeout=5\r\nProxy-Authenticate: Basic\r\nTransfer-Encoding: chunked\r\nTrailer: x\r\nX-Kept: 1\r\n\r\n2\r\nok\r\n0\r\nx: y\r\n\r\n',
    );
    expect([headers, body]).toEqual([[['x-kept', '1']], 'ok']);
  });

  test('follows interim answers', async () => {
    const early = 'HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n'.repeat(3);
    const { status, headers, body } = await headOf(`${early}HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok`);
    expect([status, headers, body]).toEqual([200, [['content-length', '2']], 'ok']);
  });

  test('to HEAD has no body, whatever length and coding it names', async () => {
    const { status, headers, body } = await headOf(
      'HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\nContent-Encoding: gzip\r\n\r\n',
      { method: 'HEAD' },
    );
    expect([status, headers.length, body]).toEqual([200, 2, '']);
  });

  test.each([
    ['switches protocols', 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n'],
    ['is no HTTP', 'SSH-2.0-OpenSSH_9.6\r\n'],
    ['ends inside its head', 'HTTP/1.1 200 OK\r\nContent-Le'],
    ['has two lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok!'],
    ['has an endless head', `HTTP/1.1 200 OK\r\n${'x-a: 0123456789\r\n'.repeat(10_000)}`],
    ['has one endless header', `HTTP/1.1 200 OK\r\nx-a: ${'0123456789'.repeat(10_000)}`],
  ])('that %s is an error, and names no address', async (_what, head) => {
    const error = await failure(headOf(head));
    expect(error).toBeInstanceOf(EgressError);
    expect(error.message).not.toMatch(/\d+\.\d+\.\d+\.\d+/);
    expect(error.detail).toMatch(/^http:\/\/127\.0\.0\.1:\d+: /);
  });

  test('attack: interim answers without end are cut', async () => {
    const base = await serveTcp((socket) =>
      socket.once('data', () => socket.write('HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(17))),
    );
    expect((await failure(send(newEgress(), base))).message).toBe(
      'The server sent too many interim responses.',
    );
  });

  test('with a head of the maximum size passes, with one byte more it does not', async () => {
    const head = (bytes: number) => `HTTP/1.1 200 OK\r\nx-a: ${'y'.repeat(bytes - 3)}\r\n\r\n`;
    const { headers } = await headOf(head(32 * 1024 - 1));
    expect(headers[0]?.[1]).toHaveLength(32 * 1024 - 4);
    expect((await failure(headOf(head(32 * 1024)))).message).toBe(
      'The headers are too large; the limit is 32 KiB (fetchHeaderBytes).',
    );
  });
});
