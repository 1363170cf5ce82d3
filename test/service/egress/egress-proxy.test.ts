/**
 * The operator's proxy: all connections to receivers and servers go through it, to addresses that
 * were checked here; its failures are those of the platform.
 */
import { createServer as createSecureServer } from 'node:https';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { describe, expect, onTestFinished, test } from 'vitest';
import { readConfig } from '../../../src/host/config.ts';
import { type EgressProxy, egressProxyOf } from '../../../src/host/egress/proxy.ts';
import { selfSigned } from '../../support/http/certificate.ts';
import { failure, newEgress, portOf, send, serve, serveTcp, stop } from '../../support/http/egress.ts';
import {
  answered,
  newWebhookClient,
  postTo,
  receiveWith,
} from '../../support/receivers/scripted-receivers.ts';

const PASSWORD = 'hunter2';

/** A proxy that answers each head with this text; by default it makes the tunnel. */
async function proxied(answer?: string): Promise<{ proxy: EgressProxy; heads: string[] }> {
  const heads: string[] = [];
  const url = await serveTcp((socket) => {
    socket.once('data', (bytes) => {
      const head = bytes.toString('latin1');
      heads.push(head);
      if (answer !== undefined) socket.end(answer);
      else tunnel(socket, head);
    });
  });
  const proxy = egressProxyOf(url.replace('://', `://annex:${PASSWORD}@`));
  if (proxy === undefined) throw new Error('no proxy');
  return { proxy, heads };
}

function tunnel(socket: Socket, head: string): void {
  const [, port] = /^CONNECT 127\.0\.0\.1:(\d+) /.exec(head) ?? [];
  const other = connect(Number(port), '127.0.0.1', () => {
    socket.write('HTTP/1.1 200 Connection established\r\nvia: test\r\n\r\n');
    socket.pipe(other).pipe(socket);
  });
  for (const side of [socket, other]) side.on('error', () => [socket, other].map((each) => each.destroy()));
}

describe('with a proxy', () => {
  test('a webhook is posted through a tunnel to the address that was checked', async () => {
    const receiver = await receiveWith(answered(200, 'ok'));
    const { proxy, heads } = await proxied();
    const url = receiver.url.replace('127.0.0.1', 'receiver.example');
    const client = newWebhookClient({ proxy });
    for (let post = 1; post <= 3; post += 1)
      expect(await postTo(client, url)).toMatchObject({ status: 200, response: 'ok' });
    const end = `127.0.0.1:${new URL(url).port}`;
    // A tunnel is kept for the next post, and is the only way to the receiver.
    expect(heads.length).toBeLessThan(3);
    expect(receiver.connections()).toBe(heads.length);
    expect(new Set(heads)).toEqual(
      new Set([
        `CONNECT ${end} HTTP/1.1\r\nHost: ${end}\r\nProxy-Authorization: Basic ${btoa(`annex:${PASSWORD}`)}\r\n\r\n`,
      ]),
    );
    expect(receiver.requests[0]).toContain(`host: ${new URL(url).host}\r\n`);
    // The proxy's password is for the proxy alone.
    expect(receiver.requests.join('')).not.toMatch(/proxy-authorization/i);
  });

  test('a secure receiver is verified by its own name, inside the tunnel', async () => {
    const certificate = selfSigned('secure.example');
    const server = createSecureServer(certificate, (request, response) =>
      request.resume().on('end', () => response.end('ok')),
    );
    onTestFinished(() => stop(server));
    const before = getCACertificates('default');
    setDefaultCACertificates([...before, certificate.cert]);
    onTestFinished(() => setDefaultCACertificates(before));
    const port = await portOf(server);
    const client = newWebhookClient({ proxy: (await proxied()).proxy });
    expect(await postTo(client, `https://secure.example:${port}/`)).toMatchObject({ response: 'ok' });
    expect(await postTo(client, `https://other.example:${port}/`)).toMatchObject({
      reason: 'tls',
      tlsReason: 'the certificate is of another name',
    });
  });

  test('a fetch goes through it, too', async () => {
    const { proxy, heads } = await proxied();
    const url = await serve((_request, response) => response.end('fetched'));
    const { body } = await send(newEgress({ proxy }), url.replace('127.0.0.1', 'server.example'));
    expect(await text(body)).toBe('fetched');
    expect(heads).toHaveLength(1);
  });

  // Attack: the proxy as a way around the rules of egress.
  test('an address that is not allowed is refused before the proxy is asked', async () => {
    const { proxy, heads } = await proxied();
    const client = newWebhookClient({
      proxy,
      allow: '',
      lookup: () => Promise.resolve(['127.0.0.1', '10.0.0.1']),
    });
    expect(await postTo(client, 'http://inside.example/')).toMatchObject({ kind: 'blocked' });
    expect(await postTo(client, 'http://10.0.0.1/')).toMatchObject({ kind: 'blocked' });
    const egress = newEgress({ proxy, allow: '' });
    expect((await failure(send(egress, 'http://127.0.0.1/'))).result).toBe('refused');
    expect(heads).toEqual([]);
  });
});

describe('a failure of the proxy', () => {
  const ends = 'http://receiver.example/';

  test.each([
    ['asks for a password', 'HTTP/1.1 407 Proxy Authentication Required\r\n\r\n'],
    ['refuses the port', 'HTTP/1.1 403 Forbidden\r\ncontent-length: 2\r\n\r\nno'],
    ['does not speak HTTP', 'SSH-2.0-OpenSSH\r\n\r\n'],
    ['ends the connection', ''],
    // Attack: an answer that is waiting for the first request of the tunnel.
    ['sends more than its answer', `HTTP/1.1 200 OK\r\n\r\n${answered(200, 'not the receiver')}`],
    ['sends a head without end', `HTTP/1.1 200 OK\r\nx: ${'x'.repeat(20_000)}`],
  ])('that %s is a fault of the platform, without its address and password', async (_what, answer) => {
    const { proxy } = await proxied(answer);
    const result = await postTo(newWebhookClient({ proxy }), ends);
    expect(result).toMatchObject({
      kind: 'fault',
      detail: expect.stringContaining('The proxy of this service'),
    });
    expect(JSON.stringify(result)).not.toMatch(new RegExp(`${PASSWORD}|127\\.0\\.0\\.1|:${proxy.port}`));
    const error = await failure(send(newEgress({ proxy }), ends));
    expect(error.message).toBe('This service could not reach the network.');
  });

  test('that cannot be reached is one, too', async () => {
    const proxy = { host: '127.0.0.1', port: 1 };
    const result = await postTo(newWebhookClient({ proxy }), ends);
    expect(result).toMatchObject({ kind: 'fault', detail: expect.stringContaining('ECONNREFUSED') });
    expect(JSON.stringify(result)).not.toContain('127.0.0.1');
  });

  test.each([502, 503, 504])('to reach the receiver, %i, is a failure of the receiver', async (status) => {
    const { proxy } = await proxied(`HTTP/1.1 ${status} Bad\r\n\r\n`);
    const result = await postTo(newWebhookClient({ proxy }), ends);
    expect(result).toMatchObject({ kind: 'failed', reason: 'network' });
  });
});

test('the proxy is a setting, whose password is in no flag and in no message', () => {
  expect(readConfig([], {})).not.toHaveProperty('egressProxy');
  const env = { ANNEX_EGRESS_PROXY: 'http://annex:p%40ss@[::1]:3128' };
  expect(readConfig([], env).egressProxy).toEqual({
    host: '::1',
    port: 3128,
    authorization: `Basic ${btoa('annex:p@ss')}`,
  });
  expect(readConfig(['--egress-proxy', 'http://proxy.internal:3128'], {}).egressProxy).toEqual({
    host: 'proxy.internal',
    port: 3128,
  });
  const secret = `http://annex:${PASSWORD}@proxy.internal`;
  expect(() => readConfig(['--egress-proxy', secret], {})).toThrow('set ANNEX_EGRESS_PROXY');
  for (const url of [
    `${secret}/path`,
    secret.replace('http:', 'socks5:'),
    'proxy.internal:3128',
    `${secret}:x`,
  ]) {
    const read = () => readConfig([], { ANNEX_EGRESS_PROXY: url });
    expect(read).toThrow('--egress-proxy must be a URL as http://proxy.internal:3128');
    expect(read).not.toThrow(PASSWORD);
  }
});
