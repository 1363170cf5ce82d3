/** A post has one result, whatever its receiver does and however it fails. */
import { createServer } from 'node:https';
import { createServer as createTcpServer, type Socket } from 'node:net';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { DEFAULT_LIMITS } from '../../../src/limits.ts';
import { type Certificate, selfSigned } from '../../support/http/certificate.ts';
import { portOf, serveTcp, stop } from '../../support/http/egress.ts';
import {
  answered,
  endlessly,
  ManualClock,
  newWebhookClient,
  postTo,
  receive,
  receiveAndEnd,
  receiveWith,
} from '../../support/receivers/scripted-receivers.ts';

const { webhookMs, webhookConnectMs } = DEFAULT_LIMITS;
const INTERIM = 'HTTP/1.1 103 Early Hints\r\nlink: <a>\r\n\r\n';

describe('a receiver is sent', () => {
  test('one POST with the bytes and the headers of the delivery, and nothing else', async () => {
    const receiver = await receiveWith(answered(200));
    const body = Buffer.from([0, 255, 13, 10, 13, 10, 123]);
    await postTo(newWebhookClient(), `${receiver.url}?key=1`, {
      body,
      headers: { 'x-platform-attempt': '1' },
    });
    const { host } = new URL(receiver.url);
    expect(receiver.requests).toEqual([
      `POST /hook?key=1 HTTP/1.1\r\nhost: ${host}\r\nconnection: keep-alive\r\nx-platform-attempt: 1\r\ncontent-length: 7\r\n\r\n${body.toString('latin1')}`,
    ]);
  });

  test('an empty body', async () => {
    const receiver = await receiveWith(answered(200));
    await postTo(newWebhookClient(), receiver.url, { body: new Uint8Array(0) });
    expect(receiver.requests[0]).toContain('content-length: 0\r\n');
  });
});

describe('an answer is', () => {
  test.each([200, 201, 204, 299, 300, 304, 400, 401, 404, 408, 410, 418, 429, 500, 503, 599])(
    'returned with its status %i',
    async (status) => {
      const bodiless = status === 204 || status === 304;
      const receiver = await receiveWith(answered(status, bodiless ? '' : 'why'));
      expect(await postTo(newWebhookClient(), receiver.url)).toEqual({
        kind: 'answered',
        status,
        response: bodiless ? '' : 'why',
        truncated: false,
      });
    },
  );

  test('returned with its Retry-After', async () => {
    const receiver = await receiveWith(answered(429, '', 'retry-after: 30\r\n'));
    expect(await postTo(newWebhookClient(), receiver.url)).toMatchObject({ status: 429, retryAfter: '30' });
  });

  test.each([301, 302, 303, 307, 308])('a redirect, which is not followed: %i', async (status) => {
    const elsewhere = await receiveWith(answered(200));
    const receiver = await receiveWith(answered(status, '', `location: ${elsewhere.url}\r\n`));
    expect(await postTo(newWebhookClient(), receiver.url)).toMatchObject({ kind: 'answered', status });
    expect([receiver.requests.length, elsewhere.connections()]).toEqual([1, 0]);
  });

  test('kept as text that every database can store, and never parsed', async () => {
    const bytes = Buffer.from([0x7b, 0, 0xff, 0xed, 0xa0, 0x80, 0xe2, 0x82, 0xac]);
    const receiver = await receiveWith(
      answered(200, bytes.toString('latin1')).replace(/length: \d+/, 'length: 9'),
    );
    const result = await postTo(newWebhookClient(), receiver.url);
    expect(result).toMatchObject({ response: '{\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD€', truncated: false });
  });

  test('read with a length, with chunks, and up to the end of the connection', async () => {
    for (const rest of [
      'content-length: 2\r\n\r\nok',
      'transfer-encoding: chunked\r\n\r\n1;x=y\r\no\r\n1\r\nk\r\n0\r\nt: 1\r\n\r\n',
      '\r\nok',
    ]) {
      const receiver = await receiveAndEnd(`HTTP/1.1 200 OK\r\n${rest}`);
      expect(await postTo(newWebhookClient(), receiver.url)).toMatchObject({
        response: 'ok',
        truncated: false,
      });
    }
  });

  test('the one after up to sixteen interim ones', async () => {
    const receiver = await receiveWith(INTERIM.repeat(16) + answered(200, 'ok'));
    expect(await postTo(newWebhookClient(), receiver.url)).toMatchObject({ status: 200, response: 'ok' });
  });
});

describe('the status counts, and the answer is truncated if its head', () => {
  // Attack on the receiver: one that has acted upon the event would be posted to again.
  test.each([
    ['has two lengths', 'content-length: 2\r\ncontent-length: 3'],
    ['has a length and chunks, and is all', 'content-length: 2\r\ntransfer-encoding: chunked'],
    ['has a negative length', 'content-length: -1'],
    ['has a header without a colon', 'broken'],
  ])('%s', async (_what, line) => {
    const receiver = await receiveAndEnd(`HTTP/1.1 200 OK\r\n${line}\r\n\r\n`);
    const client = newWebhookClient();
    expect(await postTo(client, receiver.url)).toMatchObject({ status: 200, truncated: true });
    await expect.poll(() => [receiver.open(), client.connections]).toEqual([0, 0]);
    expect(receiver.requests).toHaveLength(1);
  });
});

describe('the status counts, and the answer is truncated if the body', () => {
  const HEAD = 'HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nsome';
  const CHUNKED = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nsome\r\n';
  const TRUNCATED = { kind: 'answered', status: 200, response: 'some', truncated: true };

  test('stalls', async () => {
    const clock = new ManualClock();
    const receiver = await receiveWith(HEAD);
    const client = newWebhookClient({ clock });
    const result = postTo(client, receiver.url);
    await expect.poll(() => receiver.requests).toHaveLength(1);
    // The head has to arrive first: without it, there is no answer.
    const settled = vi.fn();
    void result.then(settled);
    await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
    clock.advance(webhookMs - 1);
    await new Promise((resolve) => setImmediate(resolve));
    expect(settled).not.toHaveBeenCalled();
    clock.advance(1);
    expect(await result).toEqual(TRUNCATED);
    await expect.poll(() => [receiver.open(), client.connections, clock.pending]).toEqual([0, 0, 0]);
  });

  test('comes a byte at a time for longer than webhookMs', async () => {
    const receiver = await receive((socket) => {
      socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n');
      const timer = setInterval(() => socket.write('1\r\nx\r\n'), 5);
      socket.once('close', () => clearInterval(timer));
    });
    const client = newWebhookClient({ limits: { webhookMs: 200 } });
    expect(await postTo(client, receiver.url)).toMatchObject({ status: 200, truncated: true });
    await expect.poll(() => receiver.open()).toBe(0);
  });

  test.each<[string, string, (socket: Socket) => void]>([
    ['ends before its length', HEAD, (socket) => socket.end()],
    ['is reset', HEAD, (socket) => socket.resetAndDestroy()],
    ['has a chunk without a length', `${CHUNKED}zz\r\n`, () => undefined],
    ['has a chunk of a length that no number holds', `${CHUNKED}fffffffffffffffff\r\n`, () => undefined],
    ['ends between two chunks', CHUNKED, (socket) => socket.end()],
    [
      'has trailers without end',
      `${CHUNKED}0\r\n`,
      (socket) => endlessly(socket, `x: ${'y'.repeat(1_000)}\r\n`),
    ],
    [
      "has a chunk's extension without end",
      `${CHUNKED}1;`,
      (socket) => endlessly(socket, 'x'.repeat(16_384)),
    ],
  ])('%s', async (_what, bytes, then) => {
    const receiver = await receive((socket) =>
      socket.write(bytes, 'latin1', () => setImmediate(then, socket)),
    );
    const client = newWebhookClient();
    expect(await postTo(client, receiver.url)).toEqual(TRUNCATED);
    await expect.poll(() => [receiver.open(), client.connections]).toEqual([0, 0]);
  });

  test('has no end', async () => {
    const receiver = await receive((socket) => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      endlessly(socket, 'x'.repeat(16_384));
    });
    const client = newWebhookClient();
    const result = await postTo(client, receiver.url);
    expect(result).toMatchObject({ status: 200, response: 'x'.repeat(16_384), truncated: true });
    await expect.poll(() => [receiver.open(), client.connections]).toEqual([0, 0]);
  });
});

describe('a post fails, with the reason', () => {
  test.each<[reason: string, what: string, bytes: string, then?: (socket: Socket) => void]>([
    ['reset', 'the receiver hangs up without a word', '', (socket) => socket.end()],
    ['reset', 'the connection is reset', '', (socket) => socket.resetAndDestroy()],
    ['reset', 'the head breaks off', 'HTTP/1.1 200 OK\r\nx:', (socket) => socket.end()],
    ['protocol', 'the answer is none of HTTP', 'SSH-2.0-OpenSSH_9.6\r\n'],
    ['protocol', 'the answer is a body alone, as in HTTP/0.9', '<html>ok</html>', (socket) => socket.end()],
    ['protocol', 'the status is 600', answered(600)],
    ['protocol', 'the status is 999', answered(999)],
    ['protocol', 'the status is 099', answered(99).replace('99', '099')],
    ['protocol', 'the status is 000', answered(0).replace('0', '000')],
    [
      'protocol',
      'it switches protocols',
      'HTTP/1.1 101 X\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n',
    ],
    ['protocol', 'interim answers do not end', '', (socket) => endlessly(socket, INTERIM)],
    [
      'protocol',
      'headers do not end',
      'HTTP/1.1 200 OK\r\n',
      (socket) => endlessly(socket, `x: ${'y'.repeat(1_000)}\r\n`),
    ],
    [
      'protocol',
      'one header does not end',
      'HTTP/1.1 200 OK\r\nx: ',
      (socket) => endlessly(socket, 'y'.repeat(1_000)),
    ],
    [
      'protocol',
      'the reason of the status does not end',
      'HTTP/1.1 200 ',
      (socket) => endlessly(socket, 'y'.repeat(16_384)),
    ],
  ])('%s where %s', async (reason, _what, bytes, then = () => undefined) => {
    const receiver = await receive((socket) => {
      if (bytes === '') then(socket);
      else socket.write(bytes, 'latin1', () => then(socket));
    });
    const client = newWebhookClient();
    const result = await postTo(client, receiver.url);
    expect(result).toEqual({
      kind: 'failed',
      reason,
      detail: expect.stringContaining(new URL(receiver.url).origin),
    });
    await expect.poll(() => [receiver.open(), client.connections]).toEqual([0, 0]);
    expect(receiver.requests).toHaveLength(1);
  });

  test('reset if the receiver closes the connection during the body of the request', async () => {
    const url = await serveTcp((socket) => socket.once('data', () => socket.resetAndDestroy()));
    const body = Buffer.alloc(8 * 1024 * 1024);
    expect(await postTo(newWebhookClient(), url, { body })).toMatchObject({
      kind: 'failed',
      reason: 'reset',
    });
  });

  test('reset if it closes the connection before anything is sent', async () => {
    const url = await serveTcp((socket) => socket.resetAndDestroy());
    const client = newWebhookClient();
    for (let nth = 0; nth < 50; nth += 1)
      expect(await postTo(client, url)).toMatchObject({ kind: 'failed', reason: 'reset' });
  });

  test('refused if nothing listens', async () => {
    const server = createTcpServer();
    const port = await portOf(server);
    await new Promise((resolve) => server.close(resolve));
    expect(await postTo(newWebhookClient(), `http://127.0.0.1:${port}/`)).toMatchObject({
      kind: 'failed',
      reason: 'refused',
      detail: expect.stringContaining('ECONNREFUSED'),
    });
  });

  test.each([
    ['ENOTFOUND', 'queryA'],
    ['ENODATA', 'queryAaaa'],
    ['ESERVFAIL', 'queryA'],
    ['ETIMEOUT', 'queryA'],
    ['ECONNREFUSED', 'queryA'],
    ['EAI_AGAIN', 'getaddrinfo'],
  ])('dns where name servers answer %s', async (code, syscall) => {
    const lookup = () => Promise.reject(Object.assign(new Error(`${syscall} ${code}`), { code, syscall }));
    expect(await postTo(newWebhookClient({ lookup }), 'https://nobody.example/')).toMatchObject({
      kind: 'failed',
      reason: 'dns',
    });
  });

  test('dns if a name has no address', async () => {
    const result = await postTo(newWebhookClient({ lookup: async () => [] }), 'https://nobody.example/');
    expect(result).toMatchObject({ kind: 'failed', reason: 'dns' });
  });

  test.each(['a name server', 'a receiver, before it is secure'])('timeout if %s is silent', async (who) => {
    const clock = new ManualClock();
    const url = await serveTcp(() => undefined);
    const lookup = vi.fn(() =>
      who === 'a name server' ? new Promise<never>(() => undefined) : Promise.resolve(['127.0.0.1']),
    );
    const client = newWebhookClient({ clock, lookup });
    const result = postTo(client, url.replace('http://127.0.0.1', 'https://receiver.example'));
    await expect.poll(() => lookup).toHaveBeenCalled();
    clock.advance(webhookConnectMs);
    expect(await result).toEqual({
      kind: 'failed',
      reason: 'timeout',
      detail: expect.stringContaining('webhookConnectMs'),
    });
    expect([clock.pending, client.connections, client.inFlight]).toEqual([0, 0, 0]);
  });

  test('timeout if the body is not read', async () => {
    const clock = new ManualClock();
    const connected = vi.fn();
    const url = await serveTcp((socket) => connected(socket.pause()));
    const client = newWebhookClient({ clock });
    const result = postTo(client, url, { body: Buffer.alloc(64 * 1024 * 1024) });
    await expect.poll(() => connected).toHaveBeenCalled();
    clock.advance(webhookMs);
    expect(await result).toMatchObject({ kind: 'failed', reason: 'timeout' });
    await expect.poll(() => [client.connections, client.inFlight]).toEqual([0, 0]);
  });

  test('timeout if no head arrives', async () => {
    const clock = new ManualClock();
    const receiver = await receive(() => undefined);
    const client = newWebhookClient({ clock });
    const result = postTo(client, receiver.url);
    await expect.poll(() => receiver.requests).toHaveLength(1);
    clock.advance(webhookMs);
    expect(await result).toEqual({
      kind: 'failed',
      reason: 'timeout',
      detail: expect.stringContaining(
        'The receiver did not answer in time; the limit is 10,000 ms (webhookMs).',
      ),
    });
    await expect.poll(() => [receiver.open(), client.connections, clock.pending]).toEqual([0, 0, 0]);
  });
});

describe('a secure receiver', () => {
  const HOST = 'secure.example';
  async function secured(certificate: Certificate, { trusted = true } = {}) {
    const server = createServer(certificate, (request, response) =>
      request.resume().on('end', () => response.end('ok')),
    );
    onTestFinished(() => stop(server));
    if (trusted) {
      const before = getCACertificates('default');
      setDefaultCACertificates([...before, certificate.cert]);
      onTestFinished(() => setDefaultCACertificates(before));
    }
    return portOf(server);
  }

  test('is posted to if its certificate is trusted, valid and of that name, without allowHttp', async () => {
    const port = await secured(selfSigned(HOST));
    expect(await postTo(newWebhookClient({ allowHttp: false }), `https://${HOST}:${port}/`)).toMatchObject({
      status: 200,
      response: 'ok',
    });
  });

  test.each<[string, { host?: string; until?: string; trusted?: boolean }, string, string]>([
    [
      'its certificate is not trusted',
      { trusted: false },
      'SELF_SIGNED_CERT',
      'the certificate is self-signed',
    ],
    [
      'its certificate is of another name',
      { host: 'other.example' },
      'ALTNAME_INVALID',
      'the certificate is of another name',
    ],
    [
      'its certificate has expired',
      { until: '20210101000000Z' },
      'CERT_HAS_EXPIRED',
      'the certificate has expired',
    ],
  ])('gets nothing where %s', async (_what, { host = HOST, until, trusted = true }, code, tlsReason) => {
    const port = await secured(selfSigned(host, until), { trusted });
    expect(await postTo(newWebhookClient(), `https://${HOST}:${port}/`)).toEqual({
      kind: 'failed',
      reason: 'tls',
      tlsReason,
      // One line about the certificate, without Node's advice.
      detail: expect.stringMatching(new RegExp(`^https://${HOST}:\\d+: [^\n;]*${code}[^\n;]*$`)),
    });
  });

  test('gets nothing if it does not speak TLS', async () => {
    const receiver = await serveTcp((socket) => void socket.end(answered(200)));
    const result = await postTo(newWebhookClient(), receiver.replace('http:', 'https:'));
    expect(result).toMatchObject({ kind: 'failed', reason: 'tls' });
    expect(result).toMatchObject({ tlsReason: 'the receiver does not speak TLS' });
    // OpenSSL's reason, without its source location.
    expect(result).toMatchObject({ detail: expect.stringMatching(/ ERR_SSL_\w+ [a-z ]+$/) });
  });
});
