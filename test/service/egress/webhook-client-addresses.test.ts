/** Allowed receivers of posts, and the connections that posts use. */
import { createServer } from 'node:http';
import { describe, expect, test, vi } from 'vitest';
import { readConfig } from '../../../src/host/config.ts';
import {
  inProcessDepth,
  inProcessOwner,
  loopbackListeners,
} from '../../../src/host/http/loopback-listeners.ts';
import {
  answered,
  ManualClock,
  newWebhookClient,
  postTo,
  receive,
  receiveWith,
} from '../../support/receivers/scripted-receivers.ts';

const NOT_WRITTEN = 'The URL has to begin with https://, and to have no blanks.';
const OK = answered(200, 'ok');
const REFUSED = 'The address may not be reached from here.';
const RECEIVERS_ARE =
  'A receiver has to be on the public internet, unless the operator of this service allows more.';

describe('refused when it is saved and when it is posted:', () => {
  test.each<[string, url: string, why: RegExp | string]>([
    ['to what is no URL', 'receiver', NOT_WRITTEN],
    ['to another scheme', 'ftp://receiver.example/', NOT_WRITTEN],
    ['to a URL with blanks around it', ' https://receiver.example/', NOT_WRITTEN],
    ['to a URL with one slash', 'https:/receiver.example', NOT_WRITTEN],
    ['to a URL with many slashes', 'https:////bank.example@receiver.example/', NOT_WRITTEN],
    ['to a URL with a backslash', 'https://receiver.example\\@evil.example/', NOT_WRITTEN],
    [
      'without TLS',
      'http://receiver.example/',
      /of http, and this service posts to receivers with https only; the operator can allow http \(--webhook-http allow\)/,
    ],
    ['to a URL with a user name', 'https://bank.example@receiver.example/', /user name or a password/],
    ['to a URL with an empty user name', 'https://@receiver.example/', /user name or a password/],
    ['to a URL with a password', 'https://:secret@receiver.example/', /user name or a password/],
    ['to a URL with a fragment', 'https://receiver.example/#top', /fragment/],
    ['to a URL with an empty fragment', 'https://receiver.example/#', /fragment/],
    [
      'to a URL of 2,049 characters',
      `https://receiver.example/${'x'.repeat(2_049 - 25)}`,
      /more than 2,048 characters/,
    ],
  ])('%s', async (_what, url, why) => {
    const lookup = vi.fn(async () => ['127.0.0.1']);
    const client = newWebhookClient({ allowHttp: false, lookup });
    expect(client.refusalOf(url)).toMatch(why);
    expect(await postTo(client, url)).toEqual({ kind: 'blocked', detail: client.refusalOf(url) });
    expect(lookup).not.toHaveBeenCalled();
  });

  test.each<[string, url: string, rule: string]>([
    ['to loopback', 'https://127.0.0.1/', 'loopback (127.0.0.0/8)'],
    ['to loopback in another notation', 'https://2130706433/', 'loopback (127.0.0.0/8)'],
    ['to loopback by name', 'https://a.localhost/', 'loopback (127.0.0.0/8)'],
    ['to a private network', 'https://10.1.2.3/', 'private (10.0.0.0/8)'],
    ["to the cloud's metadata", 'https://169.254.169.254/latest', 'link-local (169.254.0.0/16)'],
    ['to IPv6 that carries a private address', 'https://[::ffff:10.0.0.1]/', 'private (10.0.0.0/8)'],
    ['to private IPv6', 'https://[fd00::1]/', 'not global unicast'],
    ['to a port of another protocol', 'https://receiver.example:25/', 'port 25 is not for HTTP'],
    [
      'to a host that the operator denies',
      'https://denied.example/',
      "the operator's list denies denied.example",
    ],
    ['to an address that the operator denies', 'https://9.9.9.9/', "the operator's list denies 9.9.9.0/24"],
  ])('%s; the rule is in the log, and not in the refusal', async (_what, url, rule) => {
    const client = newWebhookClient({ allow: '', deny: 'denied.example,9.9.9.0/24' });
    expect(client.refusalOf(url)).toBe(`${REFUSED} ${RECEIVERS_ARE}`);
    expect(await postTo(client, url)).toEqual({ kind: 'blocked', detail: expect.stringContaining(rule) });
  });

  test('any other URL is accepted', () => {
    const client = newWebhookClient({ allow: '' });
    const longest = `https://receiver.example/${'x'.repeat(2_048 - 25)}`;
    for (const url of [
      'https://receiver.example',
      'HTTPS://8.8.8.8:8443/a?b=c',
      'http://receiver.example',
      longest,
    ])
      expect(client.refusalOf(url)).toBeUndefined();
  });
});

describe('a name is blocked when it is resolved', () => {
  test('if its addresses are private, with the message of an unknown name', async () => {
    const client = newWebhookClient({ allow: '', lookup: async () => ['10.0.0.5', '::1'] });
    const url = 'https://inside.example/';
    expect(client.refusalOf(url)).toBeUndefined();
    expect(await postTo(client, url)).toEqual({
      kind: 'blocked',
      detail:
        'inside.example:443 at 10.0.0.5 was refused: it is not public: private (10.0.0.0/8); the operator can allow it (--egress-allow).',
    });
  });

  test('if its address has changed to a private one (DNS rebinding)', async () => {
    const receiver = await receiveWith(`${OK.replace('\r\n', '\r\nconnection: close\r\n')}`);
    const { port } = new URL(receiver.url);
    const addresses = [['127.0.0.1'], ['127.0.0.2']];
    const client = newWebhookClient({ allow: '127.0.0.1', lookup: async () => addresses.shift() ?? [] });
    const url = `http://rebind.example:${port}/`;
    expect(await postTo(client, url)).toMatchObject({ status: 200 });
    expect(await postTo(client, url)).toMatchObject({ kind: 'blocked' });
    expect(receiver.connections()).toBe(1);
  });

  test('only at its private addresses, if it has others', async () => {
    const receiver = await receiveWith(OK);
    const { port } = new URL(receiver.url);
    const client = newWebhookClient({ allow: '127.0.0.1', lookup: async () => ['10.0.0.5', '127.0.0.1'] });
    expect(await postTo(client, `http://both.example:${port}/`)).toMatchObject({ status: 200 });
  });

  test('if it leads to the control listener, whatever the lists have', async () => {
    const receiver = await receiveWith(OK);
    const controlPort = Number(new URL(receiver.url).port);
    for (const host of ['127.0.0.1', 'control.example']) {
      const client = newWebhookClient({ allow: `127.0.0.0/8,${host}`, controlPort });
      expect(await postTo(client, `http://${host}:${controlPort}/metrics`)).toEqual({
        kind: 'blocked',
        detail: expect.stringContaining('it is the control listener'),
      });
    }
    expect(receiver.connections()).toBe(0);
  });
});

describe('of this service', () => {
  const requests: [string | undefined, number | undefined][] = [];
  const server = createServer((request, response) => {
    requests.push([request.url, inProcessDepth(request.socket)]);
    request.resume().on('end', () => response.end('inside'));
  });
  const owners: (string | undefined)[] = [];
  server.on('request', ({ socket }) => owners.push(inProcessOwner(socket)));
  const findLoopback = loopbackListeners({
    origins: {
      publicUrl: 'http://apps.example/e',
      contentUrl: 'http://content.example/e',
      apiEndpoint: 'https://api.example',
    },
    control: server,
    open: server,
  });

  test('an endpoint is posted to in process, at call depth 1, also without TLS', async () => {
    const lookup = vi.fn(async () => ['127.0.0.1']);
    const client = newWebhookClient({ allow: '', allowHttp: false, findLoopback, lookup });
    for (const _nth of [1, 2])
      expect(await postTo(client, 'http://apps.example/e/key/hook?x=1')).toEqual({
        kind: 'answered',
        status: 200,
        response: 'inside',
        truncated: false,
      });
    expect(requests).toEqual([
      ['/key/hook?x=1', 1],
      ['/key/hook?x=1', 1],
    ]);
    expect(lookup).not.toHaveBeenCalled();
  });

  test('attack: owners that share one sender in process, of which one uses up its rate', async () => {
    owners.length = 0;
    const client = newWebhookClient({ allow: '', allowHttp: false, findLoopback });
    for (const owner of ['one', 'two', 'one'])
      await postTo(client, 'http://apps.example/e/key/hook', { owner });
    expect(owners).toEqual(['one', 'two', 'one']);
  });

  test('the API cannot be a receiver', async () => {
    const client = newWebhookClient({ findLoopback });
    const url = 'https://api.example/v1/events';
    expect(client.refusalOf(url)).toMatch(/API of this service/);
    expect(await postTo(client, url)).toMatchObject({ kind: 'blocked' });
  });
});

describe('a connection', () => {
  test('is reused after an answer that was read to its end', async () => {
    const receiver = await receiveWith(OK);
    const client = newWebhookClient();
    for (let nth = 0; nth < 5; nth += 1) {
      expect(await postTo(client, receiver.url)).toMatchObject({ status: 200 });
      // A connection is reused in the next turn, before which a receiver may close it.
      await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
    }
    expect([receiver.requests.length, receiver.connections()]).toEqual([5, 1]);
  });

  test('is not shared by two owners', async () => {
    const receiver = await receiveWith(OK);
    const client = newWebhookClient();
    for (const owner of ['one', 'two', 'one', 'two']) await postTo(client, receiver.url, { owner });
    expect(receiver.connections()).toBe(2);
  });

  test.each<[string, string]>([
    ['that closes', OK.replace('\r\n', '\r\nconnection: close\r\n')],
    ['that is longer than it says', `${OK}more`],
    ['that two can be read out of', `${OK}${answered(500, 'forged')}`],
    ['whose status has no body, with one', `HTTP/1.1 204 X\r\ncontent-length: 2\r\n\r\nok`],
  ])('is not used again after an answer %s', async (_what, bytes) => {
    const receiver = await receiveWith(bytes);
    const client = newWebhookClient();
    for (let nth = 1; nth <= 3; nth += 1) {
      expect(await postTo(client, receiver.url)).toMatchObject({
        kind: 'answered',
        status: expect.toSatisfy((status: number) => status < 300),
      });
      expect(receiver.connections()).toBe(nth);
    }
  });

  test('with an answer before a request is not reused', async () => {
    const receiver = await receive((socket, nth) => {
      socket.write(OK, () => nth === 1 && setImmediate(() => socket.write(answered(500, 'forged'))));
    });
    const client = newWebhookClient();
    await postTo(client, receiver.url);
    await expect.poll(() => receiver.open()).toBe(0);
    expect(await postTo(client, receiver.url)).toMatchObject({ status: 200, response: 'ok' });
  });

  test('that closes as it is reused is a reset, and the request is not repeated', async () => {
    const receiver = await receive((socket, nth) =>
      nth === 2 ? socket.resetAndDestroy() : socket.write(OK),
    );
    const client = newWebhookClient();
    await postTo(client, receiver.url);
    expect(await postTo(client, receiver.url)).toMatchObject({ kind: 'failed', reason: 'reset' });
    // Time in which a client that retries would have done so.
    expect(await postTo(client, receiver.url)).toMatchObject({ status: 200 });
    expect(receiver.requests).toHaveLength(3);
  });

  test('that opens after the deadline carries nothing', async () => {
    const clock = new ManualClock();
    const receiver = await receiveWith(OK);
    const { promise, resolve } = Promise.withResolvers<string[]>();
    const client = newWebhookClient({
      clock,
      lookup: () => promise,
      limits: { webhookMs: 1_000, webhookConnectMs: 5_000 },
    });
    const url = receiver.url.replace('127.0.0.1', 'receiver.example');
    const late = postTo(client, url);
    clock.advance(500);
    const inTime = postTo(client, url);
    clock.advance(500);
    expect(await late).toMatchObject({ kind: 'failed', reason: 'timeout' });
    resolve(['127.0.0.1']);
    expect(await inTime).toMatchObject({ status: 200 });
    expect(receiver.requests).toHaveLength(1);
  });
});

test('plain http is refused unless the operator allows it', () => {
  expect(readConfig([], {}).webhookHttp).toBe('refuse');
  expect(readConfig(['--webhook-http', 'allow'], {}).webhookHttp).toBe('allow');
  expect(readConfig([], { ANNEX_WEBHOOK_HTTP: 'allow' }).webhookHttp).toBe('allow');
  expect(() => readConfig(['--webhook-http', 'yes'], {})).toThrow(
    '--webhook-http must be refuse or allow; it is "yes".',
  );
});

test('a header prefix is words with hyphens, and takes no name of HTTP or of another scheme', () => {
  const prefixOf = (prefix: string) =>
    readConfig([`--webhook-header-prefix=${prefix}`], {}).webhookHeaderPrefix;
  expect(readConfig([], {}).webhookHeaderPrefix).toBe('X-Platform');
  for (const prefix of ['X-Acme', 'acme', 'X-Content-2', 'a'.repeat(32)])
    expect(prefixOf(prefix)).toBe(prefix);
  // Attack: a prefix with a line end, which would frame another request.
  const refused = ['', 'X-', '-X', 'X Acme', 'X:Acme', 'X\r\nHost: a', 'Ä', 'a'.repeat(33)];
  for (const prefix of [...refused, 'Content', 'webhook', 'Proxy', 'Sec-Acme', 'X-Forwarded'])
    expect(() => prefixOf(prefix)).toThrow('--webhook-header-prefix must be letters, digits and hyphens');
});

describe('a fault of this service does not count as a failure of the receiver', () => {
  test('during a stop, before and in the middle of a post', async () => {
    const receiver = await receive(() => undefined);
    const client = newWebhookClient();
    const result = postTo(client, receiver.url);
    await expect.poll(() => receiver.requests).toHaveLength(1);
    await client.close();
    expect(await result).toMatchObject({ kind: 'fault' });
    expect(await postTo(client, receiver.url)).toEqual({
      kind: 'fault',
      detail: 'The service is stopping.',
    });
    expect([client.inFlight, client.connections]).toEqual([0, 0]);
  });

  test.each(['EMFILE', 'EADDRNOTAVAIL'])('when the machine lacks a resource: %s', async (code) => {
    const lookup = () =>
      Promise.reject(Object.assign(new Error(`connect ${code}`), { code, syscall: 'connect' }));
    expect(await postTo(newWebhookClient({ lookup }), 'https://receiver.example/')).toMatchObject({
      kind: 'fault',
    });
  });
});
