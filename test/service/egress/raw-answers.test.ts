/**
 * Answers as servers, proxies and attackers write them, read by each client of the host: fetches of
 * integrations, deliveries of webhooks, requests to the product's API. What other clients of HTTP
 * read is read, and a receiver that has answered is not posted to again.
 */
import { createServer } from 'node:https';
import type { Socket } from 'node:net';
import { getCACertificates, setDefaultCACertificates, type TLSSocket } from 'node:tls';
import { describe, expect, onTestFinished, test } from 'vitest';
import { ProductClient } from '../../../src/host/egress/product-client.ts';
import { DEFAULT_LIMITS } from '../../../src/limits.ts';
import { selfSigned } from '../../support/http/certificate.ts';
import { newEgress, portOf, send, serveTcp, stop } from '../../support/http/egress.ts';
import { ManualClock, newWebhookClient, postTo } from '../../support/receivers/scripted-receivers.ts';

/** Asks once. @returns status and body; `…` for the rest of a body that fails, or why all failed */
type Ask = (url: string) => Promise<string>;

async function fetchOnce(url: string): Promise<string> {
  const answer = await send(newEgress(), url).catch((cause: Error) => cause);
  return answer instanceof Error
    ? `failed: ${answer.message}`
    : `${answer.status} ${await textOf(answer.body)}`;
}

async function askProduct(url: string): Promise<string> {
  const client = newProductClient(url);
  const request = { method: 'POST', path: '/', headers: [], owner: 'own' };
  const answer = await client.send(request, new AbortController().signal).catch((cause: Error) => cause);
  return answer instanceof Error
    ? `failed: ${answer.message}`
    : `${answer.status} ${await textOf(answer.body)}`;
}

async function post(url: string): Promise<string> {
  const result = await postTo(newWebhookClient(), url);
  if (result.kind !== 'answered') return result.kind === 'failed' ? `failed: ${result.reason}` : result.kind;
  return `${result.status} ${result.response}${result.truncated ? '…' : ''}`;
}

function newProductClient(base: string): ProductClient {
  const client = new ProductClient({ base, limits: DEFAULT_LIMITS, after: new ManualClock().after });
  onTestFinished(() => client.close());
  return client;
}

async function textOf(body: AsyncIterable<Buffer>): Promise<string> {
  let text = '';
  try {
    for await (const chunk of body) text += chunk.toString('latin1');
    return text;
  } catch {
    return `${text}…`;
  }
}

/** Ends the connection behind the answer. */
type Write = (socket: Socket, answer: Buffer) => Promise<void> | void;

const WAYS = {
  'in one write': (socket, answer) => void socket.end(answer),
  'byte by byte': async (socket, answer) => {
    for (const byte of answer) {
      await new Promise((resolve) => socket.write(Uint8Array.of(byte), resolve));
      await new Promise((resolve) => setImmediate(resolve));
    }
    socket.end();
  },
} satisfies Record<string, Write>;

/** A server that answers each request without a body with these bytes, and counts the requests. */
async function serveRaw(answer: string, write: Write) {
  let requests = 0;
  const url = await serveTcp((socket) => {
    socket.setNoDelay().on('data', (bytes) => {
      if (!/^(GET|POST) /.test(bytes.toString('latin1'))) return;
      requests += 1;
      void write(socket, Buffer.from(answer, 'latin1'));
    });
  });
  return { url, requests: () => requests };
}

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';
const CHUNKS = '2\r\nok\r\n0\r\n\r\n';
const head = (...lines: string[]): string => `${['HTTP/1.1 200 OK', ...lines].join('\r\n')}\r\n\r\n`;
const BROKEN_OFF = 'failed: The connection ended before the answer was complete.';
const NO_HTTP = 'failed: The answer is not valid HTTP.';

/** Where a delivery differs from the others, its outcome comes last. */
type Row = readonly [what: string, answer: string, asked: string, posted?: string];

const INTERIM: readonly Row[] = [
  ['100', `HTTP/1.1 100 Continue\r\n\r\n${OK}`, '200 ok'],
  ['100 before an error', `HTTP/1.1 100 Continue\r\n\r\n${OK.replace('200', '500')}`, '500 ok'],
  ['100 without a reason', `HTTP/1.1 100\r\n\r\n${OK}`, '200 ok'],
  ['100 of HTTP/1.0', `HTTP/1.0 100 Continue\r\n\r\n${OK}`, '200 ok'],
  ['100 with headers', `HTTP/1.1 100 Continue\r\nDate: x\r\nConnection: close\r\n\r\n${OK}`, '200 ok'],
  ['100 with a length', `HTTP/1.1 100 Continue\r\nContent-Length: 5\r\n\r\n${OK}`, '200 ok'],
  ['100 with chunks', `HTTP/1.1 100 Continue\r\nTransfer-Encoding: chunked\r\n\r\n${OK}`, '200 ok'],
  [
    '102, 103 and 199',
    `${['102 P', '103 E', '199 X'].map((s) => `HTTP/1.1 ${s}\r\n\r\n`).join('')}${OK}`,
    '200 ok',
  ],
  ['103 that closes', `HTTP/1.1 103 Early Hints\r\nConnection: close\r\nLink: <a>\r\n\r\n${OK}`, '200 ok'],
  ['sixteen of them', `${'HTTP/1.1 100 Continue\r\n\r\n'.repeat(16)}${OK}`, '200 ok'],
  ['100 before an answer up to the end', 'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.0 200 OK\r\n\r\nok', '200 ok'],
  ['100 alone', 'HTTP/1.1 100 Continue\r\n\r\n', BROKEN_OFF, 'failed: reset'],
];

const LENGTHS: readonly Row[] = [
  ['a length, then chunks', `${head('Content-Length: 2', 'Transfer-Encoding: chunked')}${CHUNKS}`, '200 ok'],
  ['chunks, then a length', `${head('Transfer-Encoding: chunked', 'Content-Length: 2')}${CHUNKS}`, '200 ok'],
  [
    'chunks and a wrong length',
    `${head('Content-Length: 9', 'Transfer-Encoding: chunked')}${CHUNKS}`,
    '200 ok',
  ],
  ['both, of which neither is', head('Content-Length: 9', 'Transfer-Encoding: chunked'), '200 …'],
  ['blanks around the length', `${head('Content-Length:   2  ')}ok`, '200 ok'],
  [
    'a length in trailers',
    `${head('Transfer-Encoding: chunked')}2\r\nok\r\n0\r\nContent-Length: 9\r\n\r\n`,
    '200 ok',
  ],
  [
    'extensions and trailers',
    `${head('Transfer-Encoding: chunked')}02;a=b;c="d e"\r\nok\r\n0;z\r\nT: 1\r\n\r\n`,
    '200 ok',
  ],
  [
    'blanks behind the size of a chunk',
    `${head('Transfer-Encoding: chunked')}2  \r\nok\r\n0\r\n\r\n`,
    '200 ok',
  ],
  [
    'a coding twice',
    `${head('Transfer-Encoding: chunked', 'Transfer-Encoding: chunked')}${CHUNKS}`,
    '200 ok',
  ],
  ['an end that is the end of the body', `${head()}ok`, '200 ok'],
  ['an end before the length', `${head('Content-Length: 9')}ok`, '200 ok…'],
  ['an end between chunks', `${head('Transfer-Encoding: chunked')}2\r\nok\r\n`, '200 ok…'],
  ['204 with a length', 'HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\n', '204 '],
  ['304 with a length', 'HTTP/1.1 304 Not Modified\r\nContent-Length: 200\r\n\r\n', '304 '],
  ['blanks before a colon', `${head('Content-Length  : 2', 'Connection : close')}ok`, '200 ok'],
  ['chunks with a blank before the colon', `${head('Transfer-Encoding : chunked')}${CHUNKS}`, '200 ok'],
  ['chunks whose data ends with LF', `${head('Transfer-Encoding: chunked')}2\r\nok\n0\r\n\r\n`, '200 ok'],
  // No line of RFC 9112 lets a size end with LF, and two readers may see other chunks.
  ['sizes that end with LF', `${head('Transfer-Encoding: chunked')}2\nok\n0\n\n`, '200 …'],
  // RFC 9110, section 8.6, allows to take it, but the parser has no switch.
  ['a length twice', `${head('Content-Length: 2', 'Content-Length: 2')}ok`, NO_HTTP, '200 …'],
  ['two lengths', `${head('Content-Length: 2', 'Content-Length: 3')}ok!`, NO_HTTP, '200 …'],
  ['a length with a sign', `${head('Content-Length: -1')}ok`, NO_HTTP, '200 …'],
];

const HEADS: readonly Row[] = [
  ['HTTP/1.0', 'HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok', '200 ok'],
  [
    'HTTP/1.0 that stays open',
    'HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok',
    '200 ok',
  ],
  ['HTTP/1.0 with chunks', `HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${CHUNKS}`, '200 ok'],
  ['no reason', 'HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nok', '200 ok'],
  ['a blank for a reason', 'HTTP/1.1 200 \r\nContent-Length: 2\r\n\r\nok', '200 ok'],
  ['two blanks before the reason', 'HTTP/1.1 200  OK\r\nContent-Length: 2\r\n\r\nok', '200 ok'],
  ['empty lines before it', `\r\n\r\n${OK}`, '200 ok'],
  ['lines that end with LF', 'HTTP/1.1 200 OK\nContent-Length: 2\n\nok', '200 ok'],
  ['a folded line', `${head('X-A: a', '  b', 'Content-Length: 2')}ok`, '200 ok'],
  ['Latin-1 in a value', `${head('X-A: caf\xe9', 'Content-Length: 2')}ok`, '200 ok'],
  [
    'an upgrade that is offered',
    `${head('Connection: upgrade', 'Upgrade: h2', 'Content-Length: 2')}ok`,
    '200 ok',
  ],
  ['bytes behind it', `${OK}\r\nmore`, '200 ok'],
  ['a line without a colon', `${head('broken')}`, NO_HTTP, '200 …'],
  ['a blank behind another name', `${head('X-A : b', 'Content-Length: 2')}ok`, NO_HTTP, '200 …'],
  ['a blank in a name', `${head('X A: b', 'Content-Length: 2')}ok`, NO_HTTP, '200 …'],
  ['a name in Latin-1', `${head('X-\xe9: b', 'Content-Length: 2')}ok`, NO_HTTP, '200 …'],
  ['an error with such a name', head('X-\xe9: b').replace('200', '503'), NO_HTTP, '503 …'],
  ['a status line that is none', 'HTTP/1.1  200  OK\r\n\r\n', NO_HTTP, 'failed: protocol'],
];

describe.each<[string, Write]>(Object.entries(WAYS))('an answer that is written %s', (_way, write) => {
  describe.each<[string, readonly Row[]]>([
    ['interim answers', INTERIM],
    ['lengths', LENGTHS],
    ['heads', HEADS],
  ])('%s', (_kind, rows) => {
    const full = rows.map(([what, answer, asked, posted = asked]) => [what, answer, asked, posted] as const);
    test.each(full)('%s', async (_what, answer, asked, posted) => {
      const outcomes = async (ask: Ask) => {
        const { url, requests } = await serveRaw(answer, write);
        return [await ask(url), requests()];
      };
      expect(await Promise.all([fetchOnce, askProduct, post].map(outcomes))).toEqual([
        [asked, 1],
        [asked, 1],
        [posted, 1],
      ]);
    });
  });
});

// Attack: response splitting. The lengths of the first answer let two readers disagree about its
// end, and the rest would be the answer to the next request.
test.each<[string, (url: string) => () => Promise<string>]>([
  [
    'fetches',
    (url) => {
      const egress = newEgress();
      return async () => textOf((await send(egress, url)).body);
    },
  ],
  [
    'the product',
    (url) => {
      const client = newProductClient(url);
      const request = { method: 'POST', path: '/', headers: [], owner: 'own' };
      return async () => textOf((await client.send(request, new AbortController().signal)).body);
    },
  ],
  [
    'deliveries',
    (url) => {
      const client = newWebhookClient();
      return async () => {
        const result = await postTo(client, url);
        return result.kind === 'answered' ? result.response : result.kind;
      };
    },
  ],
])(
  'attack: of an answer with both lengths, %s read one answer, and use the connection no more',
  async (_who, begin) => {
    for (const colon of [':', ' :', '  :'])
      for (const rest of ['', OK.replace('ok', 'no')]) await expectOneAnswer(colon, rest, begin);
  },
);

/**
 * @param colon what is between name and value
 * @param rest what another reader would take for the next answer
 */
async function expectOneAnswer(colon: string, rest: string, begin: (url: string) => () => Promise<string>) {
  const lengths = head(`Transfer-Encoding${colon} chunked`, `Content-Length${colon} 5`);
  const answer = `${lengths}0\r\n\r\n${rest}`;
  let connections = 0;
  const url = await serveTcp((socket) => {
    connections += 1;
    socket.on('data', () => socket.write(answer));
  });
  const ask = begin(url);
  for (let nth = 1; nth <= 4; nth += 1) {
    expect([await ask(), connections]).toEqual(['', nth]);
    // The pool takes a connection that stays open back.
    for (let turn = 0; turn < 8; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  }
}

test('a connection is used again after interim answers, each of which belongs to one request', async () => {
  let connections = 0;
  const url = await serveTcp((socket) => {
    connections += 1;
    socket.on('data', () => socket.write(`${'HTTP/1.1 100 Continue\r\n\r\n'.repeat(16)}${OK}`));
  });
  const client = newWebhookClient({ limits: { deliveriesInFlightPerEndpoint: 1 } });
  for (let nth = 0; nth < 3; nth += 1)
    expect(await postTo(client, url)).toMatchObject({ status: 200, truncated: false });
  expect(connections).toBe(1);
});

test('an answer that comes before the body was sent counts', async () => {
  const url = await serveTcp((socket) => {
    socket.once('data', () => socket.write(OK));
  });
  const body = Buffer.alloc(16 * 1024 * 1024);
  expect(await postTo(newWebhookClient(), url, { body })).toMatchObject({ status: 200, response: 'ok' });
  const limits = { fetchRequestBodyBytes: body.byteLength };
  const answer = await send(newEgress({ limits }), url, { method: 'POST', body });
  expect([answer.status, await textOf(answer.body)]).toEqual([200, 'ok']);
});

test('values of a head are one value where their line is folded, without control characters; names end at a blank', async () => {
  const { url } = await serveRaw(
    `${head('X-A: a', '\tb', 'X-B: c\0d\x01\x7fe', 'Content-Length  : 2')}ok`,
    WAYS['in one write'],
  );
  const { headers, body } = await send(newEgress(), url);
  await textOf(body);
  expect(headers).toEqual([
    ['x-a', expect.stringMatching(/^a\s+b$/)],
    ['x-b', 'c d  e'],
    ['content-length', '2'],
  ]);
});

test.each<[string, Ask]>([
  ['a fetch', fetchOnce],
  ['a delivery', post],
])('a name with a dot at the end has the certificate of the name without it: %s', async (_who, ask) => {
  const certificate = selfSigned('secure.example');
  const names: unknown[] = [];
  const server = createServer(certificate, ({ headers, socket }, response) => {
    names.push((socket as TLSSocket & { servername?: string }).servername, headers.host);
    response.end('ok');
  });
  onTestFinished(() => stop(server));
  const before = getCACertificates('default');
  setDefaultCACertificates([...before, certificate.cert]);
  onTestFinished(() => setDefaultCACertificates(before));
  const port = await portOf(server);
  expect(await ask(`https://secure.example.:${port}/`)).toBe('200 ok');
  expect(names).toEqual(['secure.example', `secure.example.:${port}`]);
});
