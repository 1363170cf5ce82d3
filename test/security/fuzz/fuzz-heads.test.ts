/**
 * Random heads: a listener answers them with its own errors or closes the connection, and no
 * tenant's answer becomes two.
 */
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { fetchEvent } from '../../../src/host/http/public/fetch-event.ts';
import { verifySignature } from '../../../src/model/signature.ts';
import type { Target } from '../../../src/model/target.ts';
import { type Chance, fuzz, UNTHROTTLED } from '../../support/fuzz/fuzz.ts';
import { HOSTILE_TEXTS, mutateText } from '../../support/fuzz/mutations.ts';
import { type StrictAnswer, strictAnswers, valuesOf } from '../../support/http/strict-http.ts';
import { type Installed, TestService } from '../../support/service.ts';

const HANG_MS = 20_000;
/** Longer than an answer takes, usually; a cut-off answer counts as a closed connection. */
const QUIET_MS = 30;
const CRLF = '\r\n';

/**
 * Sends bytes, and closes the connection some time after the last answer: whether the host still
 * waits for more of a hostile request cannot be seen from outside.
 *
 * @throws if the host does not close the connection
 */
function exchange(url: string, bytes: Buffer, quietMs: number): Promise<Buffer> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const received: Buffer[] = [];
    const socket = connect({ host: hostname, port: Number(port) }, () =>
      socket.write(bytes, () => quiet.refresh()),
    );
    const quiet = setTimeout(() => {
      if (!socket.connecting) socket.end();
    }, quietMs);
    const hang = setTimeout(() => socket.destroy(new Error('The connection was left hanging.')), HANG_MS);
    socket.on('data', (chunk: Buffer) => {
      received.push(chunk);
      quiet.refresh();
    });
    // Closed by the host while sending.
    socket.on('error', (cause: NodeJS.ErrnoException) => {
      if (cause.code !== 'ECONNRESET' && cause.code !== 'EPIPE') reject(cause);
    });
    socket.on('close', () => {
      clearTimeout(quiet);
      clearTimeout(hang);
      resolve(Buffer.concat(received));
    });
  });
}

/** Echoes its request; answers with the headers that the request asks for. */
const SOURCE = `
export default {
  async fetch(request) {
    const form = await request.formData();
    const event = JSON.parse(form.get('event'));
    const sent = form.get('fetch-body');
    if (event.request.url.indexOf('/headers') < 0 || !sent) return new Response('ok');
    const asked = JSON.parse(await sent.text());
    const headers = new Headers();
    for (const [name, value] of asked.headers) try { headers.append(name, value) } catch {}
    const body = [204, 205, 304].includes(asked.status) ? null : 'whole';
    try { return new Response(body, { status: asked.status, statusText: asked.statusText, headers }) }
    catch { return new Response('whole', { headers }) }
  },
};`;

describe('over the network', () => {
  let annex: TestService;
  let echo: Installed;
  let cells: number[];
  beforeAll(async () => {
    annex = await TestService.start({ limits: UNTHROTTLED });
    echo = await annex.deploy('echo', SOURCE);
    cells = annex.cellPids;
  });
  afterAll(() => annex.stop());

  const requests = (): string[] => {
    const { pathname, host } = new URL(echo.endpoint);
    const token = `authorization: Bearer ${annex.platform}`;
    return [
      `GET ${pathname}/a?b=c HTTP/1.1${CRLF}host: ${host}${CRLF}accept: */*${CRLF}x-a: 1${CRLF}cookie: a=b${CRLF}${CRLF}`,
      `POST ${pathname}/a HTTP/1.1${CRLF}host: ${host}${CRLF}content-length: 4${CRLF}content-type: a/b${CRLF}${CRLF}body`,
      `POST ${pathname} HTTP/1.1${CRLF}host: ${host}${CRLF}transfer-encoding: chunked${CRLF}${CRLF}4${CRLF}body${CRLF}0${CRLF}${CRLF}`,
      `POST ${pathname}/v1 HTTP/1.1${CRLF}host: ${host}${CRLF}${token}${CRLF}content-length: 0${CRLF}${CRLF}`,
      `POST ${pathname}/v1 HTTP/1.1${CRLF}host: x${CRLF}x-platform-signature: t=1,v1=00${CRLF}content-length: 0${CRLF}${CRLF}`,
      `GET /v1/integrations HTTP/1.1${CRLF}host: ${host}${CRLF}authorization: Bearer ${annex.admin}${CRLF}${CRLF}`,
      `POST /v1/tokens HTTP/1.1${CRLF}host: ${host}${CRLF}authorization: Bearer x${CRLF}content-type: application/json${CRLF}content-length: 2${CRLF}${CRLF}{}`,
      `GET /healthz HTTP/1.1${CRLF}host: ${host}${CRLF}connection: keep-alive${CRLF}${CRLF}`,
    ];
  };
  const WORDS = [
    ...[
      CRLF,
      '\n',
      '\r',
      `${CRLF}${CRLF}`,
      ' ',
      '\t',
      ':',
      ' HTTP/1.1',
      ' HTTP/1.0',
      ' HTTP/2.0',
      'HTTP/0.9',
      '\0',
    ],
    ...[
      `content-length: 5${CRLF}`,
      `content-length: -1${CRLF}`,
      `Content-Length: 4, 4${CRLF}`,
      'chunked, identity',
    ],
    ...[
      `transfer-encoding: chunked${CRLF}`,
      `transfer-encoding: gzip${CRLF}`,
      `Transfer-Encoding : chunked${CRLF}`,
    ],
    ...[
      `expect: 100-continue${CRLF}`,
      `expect: x${CRLF}`,
      `upgrade: websocket${CRLF}connection: upgrade${CRLF}`,
    ],
    ...[
      `connection: close${CRLF}`,
      `host: a${CRLF}host: b${CRLF}`,
      `host:${CRLF}`,
      `range: bytes=0-1${CRLF}`,
    ],
    ...[
      'HEAD',
      'OPTIONS',
      'CONNECT',
      'TRACE',
      'PRI',
      'QUERY',
      'M-SEARCH',
      'get',
      'http://x/',
      '*',
      '//',
      '/..',
      '%2e',
    ],
    ...[
      `content-encoding: gzip${CRLF}`,
      `content-type: multipart/form-data${CRLF}`,
      ` folded${CRLF}`,
      'ffffffff',
    ],
    ...[
      `x: ${'y'.repeat(17_000)}${CRLF}`,
      `x: y${CRLF}`.repeat(120),
      '0\r\nx: y\r\n\r\n',
      '5;a=b\r\n',
      '/%zz',
      '/%00',
    ],
  ];

  /** In the shape of every error. */
  const assertOwn = ({ status, headers, body }: StrictAnswer, request: string): void => {
    assert(status < 500 && status !== 101, `was answered ${status} ${body}`);
    if (status < 400 || (body === '' && request.includes('HEAD'))) return;
    assert(body !== '', `was answered ${status} without a word`);
    const [type] = valuesOf(headers, 'content-type');
    if (type?.startsWith('text/plain')) return assert.match(body, /^Unsupported version v\d+$/);
    const { error } = JSON.parse(body) as { error: Record<string, string> };
    assert.match(String(error['code']), /^[A-Z_]+$/);
    assert(error['requestId'] && error['message']);
  };

  test.each(['publicUrl', 'controlUrl'] as const)(
    '%s: a request is answered in one shape, or its connection is closed',
    async (listener) => {
      const corpus = requests();
      const statuses = new Set<number>();
      await fuzz('requestHeads', {
        atOnce: 32,
        make: (random) => mutateText(random, corpus, WORDS),
        check: async (text) => {
          const answers = strictAnswers(
            await exchange(annex.service[listener], Buffer.from(text, 'latin1'), QUIET_MS),
          );
          for (const answer of answers) {
            statuses.add(answer.status);
            assertOwn(answer, text);
          }
        },
      });
      expect(statuses).toContain(200);
      expect(statuses).toContain(400);
      expect(await (await fetch(echo.endpoint)).text()).toBe('ok');
      expect(annex.cellPids).toEqual(cells);
    },
  );

  const NAMES = ['content-type', 'set-cookie', 'location', 'x-a', 'link'];
  const NAME_WORDS = [
    'content-length',
    'transfer-encoding',
    'connection',
    'upgrade',
    'date',
    'trailer',
    ...HOSTILE_TEXTS,
  ];
  const VALUE_WORDS = [
    `${CRLF}x: y`,
    `${CRLF}${CRLF}HTTP/1.1 200 OK`,
    'chunked',
    'close',
    '5',
    ...HOSTILE_TEXTS,
  ];
  const answerHead = (random: Chance) => ({
    status: random.pick([200, 201, 204, 205, 299, 302, 304, 404, 500, 599, 100, 101, 600, 0]),
    statusText: random.once(2) ? '' : mutateText(random, ['Fine'], VALUE_WORDS),
    headers: Array.from({ length: random.below(5) }, () => [
      random.once(2) ? mutateText(random, NAMES, NAME_WORDS) : random.pick([...NAMES, ...NAME_WORDS]),
      mutateText(random, ['text/plain', 'a=b; Path=/', 'x'], VALUE_WORDS),
    ]),
  });

  test("an integration's headers stay headers of one answer, whose end the host decides", async () => {
    const { pathname, host } = new URL(echo.endpoint);
    let whole = 0;
    await fuzz('answerHeads', {
      atOnce: 8,
      make: answerHead,
      check: async (asked) => {
        const body = Buffer.from(JSON.stringify(asked));
        const head = `POST ${pathname}/headers HTTP/1.1${CRLF}host: ${host}${CRLF}connection: close${CRLF}content-length: ${body.length}${CRLF}${CRLF}`;
        const answers = strictAnswers(
          await exchange(echo.endpoint, Buffer.concat([Buffer.from(head), body]), HANG_MS),
        );
        assert.equal(answers.length, 1);
        const [{ status, headers, body: answered }] = answers as [StrictAnswer];
        // Valid in Fetch but not in HTTP, or too long.
        if (status === 500 && answered !== 'whole') return assert.match(answered, /"INTEGRATION_EXCEPTION"/);
        // It answers 200 if it could not set the requested headers.
        assert([asked.status, 200].includes(status), `was answered ${status}`);
        assert.equal(answered, [204, 205, 304].includes(status) ? '' : 'whole');
        whole += 1;
        assert(valuesOf(headers, 'connection').every((value) => value === 'keep-alive' || value === 'close'));
        assert.equal(valuesOf(headers, 'upgrade').length, 0);
      },
    });
    expect(whole).toBeGreaterThan(0);
  });
});

const SECRETS = ['first secret', 'second secret'];
const BODY = Buffer.from('{"type":"x"}');
const digest = (timestamp: string, secret: string): string =>
  createHmac('sha256', secret).update(`${timestamp}.`).update(BODY).digest('hex');
const SIGNED = [
  `t=1700000000,v1=${digest('1700000000', 'first secret')}`,
  `v1=${'0'.repeat(64)},v1=${digest('1', 'second secret')},v0=x,t=1`,
  `t=1,v1=${digest('1', 'a stranger')}`,
];

test('a signature is accepted only if one of the secrets made it for its timestamp', async () => {
  let believed = 0;
  await fuzz('signatures', {
    make: (random) =>
      mutateText(random, SIGNED, [
        't=1',
        't=',
        ',',
        '=',
        'v1=',
        ' ',
        'v1',
        't',
        'T=2',
        `v1=${'0'.repeat(64)}`,
      ]),
    check: (header) => {
      if (!verifySignature(header, BODY, SECRETS)) return;
      believed += 1;
      const pairs = header.split(',');
      const times = pairs.filter((pair) => pair.startsWith('t='));
      assert.equal(times.length, 1);
      const expected = SECRETS.map((secret) => `v1=${digest((times[0] ?? '').slice(2), secret)}`);
      assert(pairs.some((pair) => expected.includes(pair)));
    },
  });
  expect(believed).toBeGreaterThan(0);
});

const HEADERS: Record<string, string | string[]> = {
  ...{ host: 'e.example', connection: 'keep-alive, x-a', 'x-a': '1', te: 'trailers', 'content-type': 'a/b' },
  ...{ authorization: 'Bearer x', 'set-cookie': ['a=1', 'b=2'], 'x-b': 'ÿ', 'proxy-authorization': 'x' },
};

test('raw traffic becomes an event of plain headers, without those of its connection', async () => {
  const target = { installationId: 'inst_1', publicEndpoint: 'https://e.example/key' } as Target;
  const words = [
    'connection',
    ', ',
    'transfer-encoding',
    'upgrade',
    'Bearer annex_admin_abc',
    '__proto__',
    'close',
  ];
  await fuzz('fetchEvents', {
    make: (random) => {
      // Of headers that occur several times, Node returns only `set-cookie` as a list.
      const pairs = Object.entries(HEADERS).map(([name, value]): [string, string | string[]] => {
        if (random.once(3)) return [mutateText(random, [name], words).toLowerCase(), String(value)];
        return [name, random.once(3) ? mutateText(random, [String(value)], words) : value];
      });
      return { headers: Object.fromEntries(pairs), path: mutateText(random, ['/a?b=c', ''], words) };
    },
    check: ({ headers, path }) => {
      const text = fetchEvent('id', target, { method: 'POST', pathAndQuery: path, headers }).toString();
      const { request } = JSON.parse(text) as { request: { url: string; headers: Record<string, unknown> } };
      assert(request.url.startsWith(target.publicEndpoint));
      const named = String(headers['connection'] ?? '')
        .toLowerCase()
        .split(/\s*,\s*/);
      for (const [name, value] of Object.entries(request.headers)) {
        assert.equal(typeof value, 'string');
        assert(
          !['connection', 'transfer-encoding', 'upgrade', 'te', 'proxy-authorization'].includes(name),
          name,
        );
        assert(name === 'keep-alive' || name === '' || !named.includes(name), name);
        if (name === 'authorization') assert(!String(value).includes('annex_admin_'));
      }
    },
  });
});
