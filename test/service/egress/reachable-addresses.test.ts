/** Addresses that the egress connects to: never this machine or its network, in any notation. */
import { createServer, type Server } from 'node:http';
import { networkInterfaces } from 'node:os';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { EgressError } from '../../../src/host/egress/egress.ts';
import { NO_ADDRESS } from '../../../src/host/egress/name-resolution.ts';
import { failure, newEgress, portOf, send, serve, stop } from '../../support/http/egress.ts';

const REFUSED = 'The address may not be reached from here.';

/** A server that must not be reached, and that records connections. */
let server: Server;
let port: number;
let reached = 0;
beforeAll(async () => {
  server = createServer((_request, response) => response.end('secret'));
  server.on('connection', () => {
    reached += 1;
  });
  port = await portOf(server);
});
beforeEach(() => {
  reached = 0;
});
afterAll(() => stop(server));

const refusal = async (url: string, options: Parameters<typeof newEgress>[0] = { allow: '' }) => {
  const error = await failure(send(newEgress(options), url));
  expect(error).toBeInstanceOf(EgressError);
  return error;
};

describe('a server of this machine', () => {
  test.each([
    '127.0.0.1',
    '2130706433',
    '0x7f000001',
    '0x7f.1',
    '0177.0.0.1',
    '127.1',
    '127.0.1',
    '127.0.0.1.',
    '0',
    '0.0.0.0',
    '１２７.０.０.１',
    '127。0。0。1',
    '%31%32%37.0.0.1',
    '[::1]',
    '[0:0:0:0:0:0:0:1]',
    '[::]',
    '[::127.0.0.1]',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '[64:ff9b::127.0.0.1]',
    '[2002:7f00:1::]',
    '[::ffff:0:127.0.0.1]',
    '[0000:0000:0000:0000:0000:ffff:7f00:0001]',
  ])('is not reached as %s', async (host) => {
    const { message, detail } = await refusal(`http://${host}:${port}/`);
    expect(message).toBe(REFUSED);
    expect(detail).toMatch(/not public/);
    expect(reached).toBe(0);
  });

  test.each(['localhost', 'LOCALHOST', 'localhost.', 'a.localhost', 'ｌｏｃａｌｈｏｓｔ'])(
    'is not reached as %s',
    async (host) => {
      const { message, detail } = await refusal(`http://${host}:${port}/`);
      expect(message).toBe(NO_ADDRESS);
      expect(detail).toMatch(/not public/);
      expect(reached).toBe(0);
    },
  );

  test('is reached if the operator allows it, by address, range or name', async () => {
    const read = async (options: Parameters<typeof newEgress>[0], host: string) => {
      const { body } = await send(newEgress(options), `http://${host}:${port}/`);
      return (await body.toArray()).toString();
    };
    expect(await read({ allow: '127.0.0.1/32' }, '2130706433')).toBe('secret');
    expect(await read({ allow: `127.0.0.0/8:${port}` }, 'somewhere.example')).toBe('secret');
    expect(await read({ allow: 'somewhere.example' }, 'somewhere.example')).toBe('secret');
    expect(await read({ allow: '127.0.0.1' }, 'localhost')).toBe('secret');
  });

  test('is not reached if it is a listener of this service, whatever the operator allows', async () => {
    const options = { allow: '0.0.0.0/0,[::/0],inside.example', controlPort: port };
    const own = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
    const addresses = own.filter(({ family }) => family === 'IPv4').map(({ address }) => address);
    for (const host of [
      '127.0.0.1',
      '127.9.9.9',
      '0.0.0.0',
      '[::1]',
      '[::ffff:127.0.0.1]',
      'inside.example',
      ...addresses,
    ]) {
      const { detail } = await refusal(`http://${host}:${port}/`, options);
      expect(detail).toMatch(/it is the control listener/);
    }
    expect(reached).toBe(0);
  });

  test('is not reached if the operator both allows and denies it', async () => {
    const { detail } = await refusal(`http://127.0.0.1:${port}/`, {
      allow: '127.0.0.1',
      deny: '127.0.0.0/8',
    });
    expect(detail).toBe(
      `127.0.0.1:${port} was refused: the operator's list denies 127.0.0.0/8 (--egress-deny).`,
    );
    expect(reached).toBe(0);
  });
});

describe('a name', () => {
  test('of a private address is refused, with the address in the log and not in the error', async () => {
    const lookup = async () => ['10.11.12.13'];
    const { message, detail } = await refusal('http://rebind.example/path?key=k3y', { allow: '', lookup });
    expect(message).toBe(NO_ADDRESS);
    expect(detail).toBe(
      'rebind.example:80 at 10.11.12.13 was refused: it is not public: private (10.0.0.0/8); the operator can allow it (--egress-allow).',
    );
  });

  test('attack: DNS rebinding: a name is resolved once per connection, and the checked address is dialled', async () => {
    const answers = [['192.0.2.1'], ['127.0.0.1']];
    let asked = 0;
    const lookup = async () => {
      asked += 1;
      return answers.shift() ?? ['127.0.0.1'];
    };
    const egress = newEgress({ allow: '192.0.2.1', limits: { fetchConnectMs: 50 }, lookup });
    // The first address is allowed and dialled without success. There is no fallback to a second
    // answer.
    expect((await failure(send(egress, `http://rebind.example:${port}/`))).message).not.toBe(NO_ADDRESS);
    expect(asked).toBe(1);
    expect((await failure(send(egress, `http://rebind.example:${port}/`))).message).toBe(NO_ADDRESS);
    expect(asked).toBe(2);
    expect(reached).toBe(0);
  });

  test('with allowed and refused addresses is connected to allowed ones only', async () => {
    const lookup = async () => ['10.255.255.1', '127.0.0.1', '::1'];
    const egress = newEgress({ allow: '127.0.0.1', lookup });
    const { body } = await send(egress, `http://both.example:${port}/`);
    expect((await body.toArray()).toString()).toBe('secret');
    const denied = newEgress({ allow: '', lookup });
    expect((await failure(send(denied, `http://both.example:${port}/`))).message).toBe(NO_ADDRESS);
    expect(reached).toBe(1);
  });

  const withCode = (code: string) => () => Promise.reject(Object.assign(new Error('x'), { code }));
  test.each([
    ['no address', async () => [], 'has no address'],
    ['no answer', withCode('ENOTFOUND'), 'ENOTFOUND'],
    ['an answer that says no', withCode('EREFUSED'), 'EREFUSED'],
    ['nonsense', async () => ['127.0.0.1%lo', 'localhost', ''], 'it is not an address'],
    ['a private address', async () => ['10.0.0.1'], 'not public: private'],
  ])(
    'attack: listing the names of the operator’s network: a name that has %s fails like any other',
    async (_what, lookup, detail) => {
      const error = await refusal('http://nowhere.example/', { allow: '', lookup });
      expect(error.message).toBe(NO_ADDRESS);
      expect(error.detail).toContain(detail);
    },
  );

  test('of great length is cut in the log', async () => {
    const { detail } = await refusal(`http://${'a.'.repeat(20_000)}example/`, { deny: '*.example' });
    expect(detail.length).toBeLessThan(1_000);
  });

  test('that the operator denies is not looked up', async () => {
    let asked = 0;
    const lookup = async () => {
      asked += 1;
      return ['127.0.0.1'];
    };
    const { message } = await refusal('http://a.bad.example/', { deny: '*.bad.example', lookup });
    expect([message, asked]).toEqual([REFUSED, 0]);
  });
});

describe('a redirect', () => {
  const redirectTo = (location: string) =>
    serve((_request, response) => response.writeHead(302, { location }).end());

  test.each([
    ['a private address', () => `http://127.0.0.2:${port}/`, REFUSED],
    ['another notation of one', () => `http://0x7f.2:${port}/`, REFUSED],
    ['IPv4 inside IPv6', () => `http://[::ffff:7f00:2]:${port}/`, REFUSED],
    ['the metadata service', () => 'http://169.254.169.254/latest/meta-data/', REFUSED],
    ['a name that points to one', () => `http://inside.example:${port}/`, NO_ADDRESS],
    ['a port of another protocol', () => 'http://127.0.0.1:25/', REFUSED],
    ['a file', () => 'file:///etc/passwd', 'The URL is not of http or https but of file.'],
    ['data', () => 'data:text/plain,x', 'The URL is not of http or https but of data.'],
    ['a URL with a password', () => 'http://a:b@127.0.0.1/', 'The URL has a user name or a password in it.'],
    ['nothing', () => 'http://', 'The URL is not valid.'],
  ])('to %s is refused like a first request', async (_what, location, message) => {
    const base = await redirectTo(location());
    const lookup = async () => ['127.0.0.2'];
    expect((await refusal(base, { allow: '127.0.0.1/32', lookup })).message).toBe(message);
    expect(reached).toBe(0);
  });
});

describe('a URL', () => {
  test.each([
    ['file:///etc/passwd', /not of http or https but of file/],
    ['ftp://example.com/', /not of http or https/],
    ['gopher://example.com/', /not of http or https/],
    ['unix:///var/run/docker.sock', /not of http or https/],
    ['http://user:password@example.com/', /user name or a password/],
    ['http://user@example.com/', /user name or a password/],
    ['/relative', /not valid/],
    ['http://exa mple.com/', /not valid/],
    ['http://[fe80::1%25eth0]/', /not valid/],
    ['http://1.2.3.4.5/', /not valid/],
  ])('that may not be fetched is an error: %s', async (url, message) => {
    expect((await refusal(url)).message).toMatch(message);
  });

  test.each([22, 25, 6379 - 280, 6000, 6667])('with port %i is checked before a connection', async (bad) => {
    const error = await failure(send(newEgress({ allow: '' }), `http://example.com:${bad}/`));
    const isBad = bad !== 6099;
    expect([error.message, /not for HTTP/.test(error.detail)]).toEqual(
      isBad ? [REFUSED, true] : [NO_ADDRESS, false],
    );
  });
});

test('a proxy in the environment is not used: its connections would be unchecked', async () => {
  const names = ['HTTP_PROXY', 'http_proxy', 'HTTPS_PROXY', 'ALL_PROXY'];
  for (const name of names) vi.stubEnv(name, `http://127.0.0.1:${port}`);
  vi.stubEnv('NODE_USE_ENV_PROXY', '1');
  onTestFinished(() => {
    vi.unstubAllEnvs();
  });
  const base = await serve((_request, response) => response.end('direct'));
  const { body } = await send(newEgress(), base);
  expect((await body.toArray()).toString()).toBe('direct');
  await refusal('http://10.0.0.1/');
  expect(reached).toBe(0);
});
