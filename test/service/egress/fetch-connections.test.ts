/** Connections: TLS, reuse, isolation of owners, bounds, and their end. */
import { createServer } from 'node:https';
import { createServer as createTcpServer, type Server } from 'node:net';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { describe, expect, onTestFinished, test } from 'vitest';
import { Egress, EgressError } from '../../../src/host/egress/egress.ts';
import { EgressPolicy } from '../../../src/host/egress/policy.ts';
import { DEFAULT_LIMITS } from '../../../src/limits.ts';
import { selfSigned } from '../../support/http/certificate.ts';
import {
  failure,
  newEgress,
  outbound,
  portOf,
  send,
  serve,
  serveTcp,
  stop,
} from '../../support/http/egress.ts';

/** A server that answers each request when the test says so. */
async function serveHeld() {
  const waiting: (() => void)[] = [];
  const peers: (number | undefined)[] = [];
  const base = await serve((request, response) => {
    peers.push(request.socket.remotePort);
    waiting.push(() => response.end('done'));
  });
  const asked = (count: number) => expect.poll(() => peers).toHaveLength(count);
  return { base, waiting, peers, asked };
}

const nothingLeft = (egress: Egress) =>
  expect.poll(() => [egress.inFlight, egress.connections]).toEqual([0, 0]);

/** A port without a listener: one was just closed. */
async function freePort(): Promise<number> {
  const server: Server = createTcpServer();
  const port = await portOf(server);
  await new Promise((resolve) => server.close(resolve));
  return port;
}

describe('a secure connection', () => {
  const certificate = selfSigned('secure.example');
  async function serveSecurely() {
    const server = createServer(certificate, (request, response) => response.end(request.headers.host));
    onTestFinished(() => stop(server));
    const port = await portOf(server);
    return (host: string) => `https://${host}:${port}/`;
  }
  function trust() {
    const before = getCACertificates('default');
    setDefaultCACertificates([...before, certificate.cert]);
    onTestFinished(() => setDefaultCACertificates(before));
  }

  test('is made if the certificate is trusted and has the name', async () => {
    trust();
    const url = await serveSecurely();
    const { body } = await send(newEgress(), url('secure.example'));
    expect(await text(body)).toMatch(/^secure\.example:\d+$/);
  });

  test('is not made if the certificate is not trusted', async () => {
    const url = await serveSecurely();
    const error = await failure(send(newEgress(), url('secure.example')));
    expect(error).toBeInstanceOf(EgressError);
    expect(error.message).toBe('The certificate of the server was not accepted.');
    expect(error.detail).toMatch(/^https:\/\/secure\.example:\d+: DEPTH_ZERO_SELF_SIGNED_CERT /);
  });

  test('is not made if the certificate is for another name, nor for an address', async () => {
    trust();
    const url = await serveSecurely();
    for (const host of ['other.example', '127.0.0.1'])
      expect((await failure(send(newEgress(), url(host)))).message).toBe(
        'The certificate of the server was not accepted.',
      );
  });

  test('is not made with a server of another protocol', async () => {
    const base = await serve((_request, response) => response.end());
    const error = await failure(send(newEgress(), base.replace('http:', 'https:')));
    expect(error.message).toBe('The connection could not be secured.');
  });
});

describe('a connection', () => {
  test('that cannot be made is an error that names no address', async () => {
    const port = await freePort();
    const error = await failure(send(newEgress(), `http://nobody.example:${port}/secret?key=k3y`));
    expect(error).toBeInstanceOf(EgressError);
    expect(error.message).toBe('The connection could not be made.');
    expect(error.detail).toBe(`http://nobody.example:${port}: connect ECONNREFUSED 127.0.0.1:${port}`);
  });

  test('whose name is never resolved is given up', async () => {
    const egress = newEgress({ limits: { fetchConnectMs: 100 }, lookup: () => new Promise(() => undefined) });
    const error = await failure(send(egress, 'http://slow.example/'));
    expect(error.message).toBe(
      'The connection could not be made in time; the limit is 100 ms (fetchConnectMs).',
    );
    await nothingLeft(egress);
  });

  // In case anything between the check and the kernel redirected it.
  test('is checked again once it is open', async () => {
    let asked = 0;
    class Fickle extends EgressPolicy {
      override addressRefusal() {
        asked += 1;
        return asked > 1 ? 'it has moved' : undefined;
      }
    }
    const reached: string[] = [];
    const base = await serve((request, response) => response.end(reached.push(String(request.url))));
    const egress = new Egress({
      policy: new Fickle({ allow: [], deny: [] }),
      limits: DEFAULT_LIMITS,
      lookup: async () => ['127.0.0.1'],
    });
    onTestFinished(() => egress.close());
    const url = base.replace('127.0.0.1', 'moving.example');
    const error = await failure(egress.fetch(outbound(url), new AbortController().signal));
    expect(error.detail).toMatch(/^moving\.example:\d+ at 127\.0\.0\.1 was refused: it has moved\.$/);
    expect([asked, reached]).toEqual([2, []]);
    await nothingLeft(egress);
  });

  test('serves the next fetch of its owner, and of no other', async () => {
    const ports: (number | undefined)[] = [];
    const base = await serve((request, response) => {
      ports.push(request.socket.remotePort);
      response.end('x');
    });
    const egress = newEgress();
    for (const owner of ['a', 'a', 'b', 'a', 'b']) {
      await text((await send(egress, base, { owner })).body);
      // undici reuses a connection in the next turn of the event loop.
      await new Promise(setImmediate);
    }
    const [a, , b] = ports;
    expect(ports).toEqual([a, a, b, a, b]);
    expect(a).not.toBe(b);
  });

  test('that the server closes is replaced', async () => {
    const base = await serve((_request, response) =>
      response.writeHead(200, { connection: 'close' }).end('x'),
    );
    const egress = newEgress();
    for (let round = 0; round < 3; round += 1) expect(await text((await send(egress, base)).body)).toBe('x');
  });

  test('that breaks before the answer is an error, and nothing is retried', async () => {
    let asked = 0;
    const base = await serveTcp((socket) =>
      socket.once('data', () => {
        asked += 1;
        socket.destroy();
      }),
    );
    const error = await failure(send(newEgress(), base));
    expect(error.message).toBe('The connection ended before the answer was complete.');
    expect(asked).toBe(1);
    expect(error.detail).toMatch(/^http:\/\/127\.0\.0\.1:\d+: UND_ERR_SOCKET /);
  });
});

describe('the bound on connections', () => {
  test('to one origin makes the fetches of one owner queue, and those of no other', async () => {
    const { base, waiting, peers, asked } = await serveHeld();
    const egress = newEgress({ limits: { fetchConnectionsPerOrigin: 2 } });
    const mine = [1, 2, 3].map(() => send(egress, base, { owner: 'mine' }));
    await asked(2);
    const theirs = send(egress, base, { owner: 'theirs' });
    await asked(3);
    expect(new Set(peers).size).toBe(3);
    waiting[2]?.();
    expect(await text((await theirs).body)).toBe('done');
    waiting[0]?.();
    waiting[1]?.();
    await Promise.all(mine.slice(0, 2).map(async (fetch) => text((await fetch).body)));
    await asked(4);
    waiting[3]?.();
    expect(await text((await (mine[2] ?? theirs)).body)).toBe('done');
  });

  test('of all together is refused at once, and holds until fetches end', async () => {
    const { base, waiting, asked } = await serveHeld();
    const egress = newEgress({ limits: { fetchConnections: 2 } });
    const first = [1, 2].map((owner) => send(egress, base, { owner: String(owner) }));
    await asked(2);
    const error = await failure(send(egress, base, { owner: '3' }));
    expect(error.message).toMatch(/Too many .*the limit is 2 \(fetchConnections\)/);
    for (const answer of waiting) answer();
    for (const fetch of first) await text((await fetch).body);
    const again = send(egress, base, { owner: '1' });
    await asked(3);
    waiting[2]?.();
    expect(await text((await again).body)).toBe('done');
  });

  // Attack: some installations of one organization hold all connections together.
  test('of one organization leaves connections for others', async () => {
    const base = await serve((_request, response) => void response.write('x'));
    const egress = newEgress({ limits: { fetchConnections: 4, fetchesInFlightPerInstallation: 2 } });
    const unread = [await send(egress, base, { owner: '1', organization: 'mine' })];
    unread.push(await send(egress, base, { owner: '2', organization: 'mine' }));
    const error = await failure(send(egress, base, { owner: '3', organization: 'mine' }));
    expect(error.message).toMatch(/Too many .*the limit is 4 \(fetchConnections\)/);
    unread.push(await send(egress, base, { owner: '4', organization: 'theirs' }));
    for (const { body } of unread) body.destroy();
    await nothingLeft(egress);
    (await send(egress, base, { owner: '3', organization: 'mine' })).body.destroy();
  });

  // Attack: a tenant that holds all connections with answers that it never reads.
  test('of one owner leaves connections for others', async () => {
    const base = await serve((_request, response) => void response.write('x'));
    const egress = newEgress({ limits: { fetchesInFlightPerInstallation: 2 } });
    const unread = [await send(egress, base, { owner: 'mine' }), await send(egress, base, { owner: 'mine' })];
    const error = await failure(send(egress, base, { owner: 'mine' }));
    expect(error.message).toMatch(/Too many .*the limit is 2 \(fetchesInFlightPerInstallation\)/);
    (await send(egress, base, { owner: 'theirs' })).body.destroy();
    for (const { body } of unread) body.destroy();
    await nothingLeft(egress);
    (await send(egress, base, { owner: 'mine' })).body.destroy();
  });

  test('closes idle ones if others need a connection', async () => {
    const base = await serve((_request, response) => response.end('x'));
    const egress = newEgress({ limits: { fetchConnections: 2 } });
    for (const owner of ['a', 'b', 'c', 'd', 'e'])
      expect(await text((await send(egress, base, { owner })).body)).toBe('x');
    await expect.poll(() => egress.connections).toBeLessThanOrEqual(2);
  });
});

test('fetches without a connection leave no pool behind', async () => {
  const egress = newEgress({ allow: '' });
  const hosts = Array.from({ length: 200 }, (_, at) => `http://10.0.${at}.1/`);
  await Promise.all(hosts.map((url) => failure(send(egress, url))));
  expect([egress.pools, egress.connections, egress.inFlight]).toEqual([0, 0, 0]);
});

describe('a fetch that is aborted', () => {
  const reason = new Error('called off');

  test('before it begins sends nothing', async () => {
    let asked = 0;
    const lookup = async () => {
      asked += 1;
      return ['127.0.0.1'];
    };
    const egress = newEgress({ lookup });
    expect(await failure(send(egress, 'http://a.example/', { signal: AbortSignal.abort(reason) }))).toBe(
      reason,
    );
    expect([asked, egress.inFlight]).toEqual([0, 0]);
  });

  test('while it waits for its answer closes its connection', async () => {
    const closed = Promise.withResolvers<void>();
    const asked = Promise.withResolvers<void>();
    const base = await serveTcp((socket) => {
      socket.once('data', asked.resolve);
      socket.once('close', closed.resolve);
    });
    const egress = newEgress();
    const abort = new AbortController();
    const fetch = failure(send(egress, base, { signal: abort.signal }));
    await asked.promise;
    abort.abort(reason);
    expect(await fetch).toBe(reason);
    await closed.promise;
    await nothingLeft(egress);
  });

  test('while it queues rejects at once, and the source of its body is destroyed', async () => {
    const { base, waiting, asked } = await serveHeld();
    const egress = newEgress({ limits: { fetchConnectionsPerOrigin: 1 } });
    const first = send(egress, base);
    await asked(1);
    const abort = new AbortController();
    const body = new Readable({ read() {} });
    const fetch = failure(send(egress, base, { method: 'POST', body, signal: abort.signal }));
    abort.abort(reason);
    expect(await fetch).toBe(reason);
    await expect.poll(() => body.destroyed).toBe(true);
    waiting[0]?.();
    expect(await text((await first).body)).toBe('done');
    const next = send(egress, base);
    await asked(2);
    waiting[1]?.();
    expect(await text((await next).body)).toBe('done');
  });

  test('while its name is looked up rejects at once', async () => {
    const looked = Promise.withResolvers<void>();
    const lookup = () => {
      looked.resolve();
      return new Promise<string[]>(() => undefined);
    };
    const egress = newEgress({ limits: { fetchConnectMs: 300 }, lookup });
    const abort = new AbortController();
    const fetch = failure(send(egress, 'http://slow.example/', { signal: abort.signal }));
    await looked.promise;
    abort.abort(reason);
    expect(await fetch).toBe(reason);
    expect(egress.inFlight).toBe(0);
    await nothingLeft(egress);
  });
});

describe('close', () => {
  test('ends every fetch and every connection, and no fetch begins after it', async () => {
    const { base, asked } = await serveHeld();
    const streaming = await serve((_request, response) => void response.write('x'));
    const egress = newEgress();
    const waiting = failure(send(egress, base));
    await asked(1);
    const { body } = await send(egress, streaming);
    const reading = failure(text(body));
    await egress.close();
    expect((await waiting).message).toBe('The service is stopping.');
    expect((await reading).message).toBe('The service is stopping.');
    expect((await failure(send(egress, base))).message).toBe('The service is stopping.');
    await nothingLeft(egress);
  });
});
