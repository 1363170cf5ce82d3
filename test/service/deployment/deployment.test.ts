/**
 * The files of `deploy/`: nginx sends the requests of an endpoint to one node and none of them
 * twice, and the nodes of the compose file have settings that Annex accepts. nginx is real; without
 * it on this machine its tests are skipped.
 */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { get, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { readConfig } from '../../../src/host/config.ts';
import { Balancer, StandIn } from '../../support/deployment/balancer.ts';
import { needs } from '../../support/programs.ts';

const ALPHABET = 'abcdefghijklmnopqrstuvwxyz234567';
const KEYS = Array.from({ length: 32 }, (_, at) => ALPHABET.slice(at) + ALPHABET.slice(0, at));

async function balanced() {
  const nodes = [new StandIn('one'), new StandIn('two')] as const;
  const balancer = await Balancer.start(nodes);
  return { nodes, balancer };
}

async function answer(url: string, options: RequestInit = {}): Promise<string> {
  const response = await fetch(url, options);
  return response.ok ? response.text() : String(response.status);
}

/** The same with a host name of its own, which `fetch` does not send. */
async function answerAt(url: string, host: string): Promise<string> {
  const [response] = (await once(get(url, { headers: { host } }), 'response')) as [IncomingMessage];
  return text(response);
}

/** Requests with a body and without, as `fetch` takes them. */
const METHODS: readonly [string, RequestInit][] = [
  ['GET', {}],
  ['DELETE', { method: 'DELETE' }],
  ['POST', { method: 'POST', body: 'short' }],
  ['POST', { method: 'POST' }],
  ['PUT', { method: 'PUT', body: 'short' }],
  ['PATCH', { method: 'PATCH', body: 'short' }],
];

describe('nginx', needs('nginx'), () => {
  test('sends all requests to one endpoint to one node, and the endpoints to both', async () => {
    const { balancer } = await balanced();
    const nodes = new Set<string>();
    for (const key of KEYS) {
      const answers = await Promise.all([
        answer(`${balancer.open}/${key}`),
        answer(`${balancer.open}/${key}?x=/${KEYS[1]}`),
        answer(`${balancer.open}/${key}/v1`, { method: 'POST', body: 'x'.repeat(200_000) }),
        // Below a path of the public URL, and with another key behind its own.
        answer(`${balancer.open}/in/annex/${key}/${KEYS[1]}?x`),
      ]);
      const [name = ''] = (answers[0] ?? '').split(' ');
      expect(answers).toEqual([`${name} 0`, `${name} 0`, `${name} 200000`, `${name} 0`]);
      nodes.add(name);
    }
    expect([...nodes].sort()).toEqual(['one', 'two']);
  });

  test('finds the key of an endpoint with an origin of its own in the host', async () => {
    const { nodes, balancer } = await balanced();
    for (const key of KEYS.slice(0, 8)) {
      const paths = ['/', '/a', `/${KEYS[9]}/b`];
      const hosts = Array(3).fill(`${key}.apps.example.com:8443`) as string[];
      const answers = await Promise.all(hosts.map((host, at) => answerAt(balancer.open + paths[at], host)));
      expect(new Set(answers)).toEqual(new Set([await answer(`${balancer.open}/${key}`)]));
    }
    const hosts = nodes.flatMap(({ received }) => received.map(({ headers }) => headers.host));
    expect(hosts).toContain(`${KEYS[0]}.apps.example.com:8443`);
  });

  test.each(METHODS)('goes on to the other node while one is down: %s', async (_, options) => {
    const { nodes, balancer } = await balanced();
    nodes[0].stop();
    const answers = await Promise.all(KEYS.map((key) => answer(`${balancer.open}/${key}`, options)));
    expect(new Set(answers)).toEqual(new Set([`two ${String(options.body ?? '').length}`]));
  });

  test.each(METHODS)(
    'sends no request to a second node that a first has begun with: %s',
    async (_, options) => {
      const { nodes, balancer } = await balanced();
      const [key] = KEYS;
      expect(await answer(`${balancer.open}/${key}/die`, options)).toBe('502');
      expect(nodes.flatMap(({ received }) => received)).toHaveLength(1);
    },
  );

  test('leaves no node out because requests were dropped', async () => {
    const { balancer } = await balanced();
    for (const key of KEYS) await answer(`${balancer.open}/${key}/die`);
    const answers = await Promise.all(KEYS.map((key) => answer(`${balancer.open}/${key}`)));
    expect([...new Set(answers)].sort()).toEqual(['one 0', 'two 0']);
  });

  test('passes paths on as they were sent, with the address of the client', async () => {
    const { nodes, balancer } = await balanced();
    const path = `/${KEYS[0]}//a%20/b%2Fc?d=%20`;
    await answer(balancer.open + path, { headers: { 'x-forwarded-for': '203.0.113.9' } });
    const [received] = nodes.flatMap((node) => node.received);
    expect(received).toMatchObject({
      url: path,
      headers: { 'x-forwarded-for': '203.0.113.9, 127.0.0.1', host: new URL(balancer.open).host },
    });
  });

  test('has the nodes take turns for the API, and shows neither metrics nor health of one', async () => {
    const { balancer } = await balanced();
    const answers = await Promise.all(KEYS.map(() => answer(`${balancer.control}/v1/integrations`)));
    expect([...new Set(answers)].sort()).toEqual(['one 0', 'two 0']);
    expect(await answer(`${balancer.control}/metrics`)).toBe('404');
    expect(await answer(`${balancer.control}/healthz`)).toBe('404');
  });

  test('takes an upload of any size for the API', async () => {
    const { balancer } = await balanced();
    const body = randomBytes(3_000_000).toString('hex');
    expect(await answer(`${balancer.control}/v1/integrations`, { method: 'POST', body })).toContain(
      '6000000',
    );
  });
});

describe('the compose file', () => {
  interface Service {
    readonly environment: Record<string, string | number>;
    readonly ports?: readonly string[];
    readonly networks: Record<
      string,
      { readonly ipv4_address?: string; readonly aliases?: readonly string[] }
    >;
  }
  interface Compose {
    readonly services: Record<'node-1' | 'node-2' | 'nginx' | 'postgres', Service>;
    readonly networks: Record<string, { readonly internal?: boolean }>;
  }
  /** With the defaults of its variables, and the secrets that its head says how to make. */
  const read = async (): Promise<Compose> => {
    const file = await readFile(new URL('../../../deploy/compose.yaml', import.meta.url), 'utf8');
    const secrets: Record<string, string> = {
      POSTGRES_PASSWORD: randomBytes(24).toString('hex'),
      ANNEX_VAULT_KEYS: randomBytes(32).toString('base64'),
    };
    const filled = file.replaceAll(
      /\$\{(\w+):(?:-([^}]*)|\?[^}]*)\}/g,
      (_, name: string, value?: string) => value ?? secrets[name] ?? '',
    );
    return parse(filled, { merge: true }) as Compose;
  };

  test('gives its nodes settings that Annex accepts, the same ones but for their addresses', async () => {
    const { services } = await read();
    const [one, two] = (['node-1', 'node-2'] as const).map((name) => {
      const { environment, networks } = services[name];
      const env = Object.fromEntries(Object.entries(environment).map(([key, value]) => [key, String(value)]));
      const config = readConfig([], env);
      expect(config.controlHost).toBe(networks['control']?.ipv4_address);
      const settings = config.settings.filter(({ flag }) => flag !== 'control-host');
      return { ...config, settings, controlHost: '' };
    });
    expect(one).toEqual(two);
    expect(one).toMatchObject({ workers: 1, databaseConnections: 10 });
    for (const { ipv4_address = '' } of Object.values(services.nginx.networks))
      expect(one?.trustedProxies.has(ipv4_address)).toBe(true);
  });

  test('publishes the balancer alone, and keeps API and database on networks without a way out', async () => {
    const { services, networks } = await read();
    const published = Object.entries(services).flatMap(([name, { ports = [] }]) =>
      ports.map((port) => [name, port]),
    );
    expect(published).toEqual([['nginx', '8080:8080']]);
    expect(networks['control']?.internal).toBe(true);
    expect(networks['database']?.internal).toBe(true);
  });

  test('names its nodes as nginx does', async () => {
    const { services } = await read();
    const nginx = await readFile(new URL('../../../deploy/nginx.conf', import.meta.url), 'utf8');
    const named = [...nginx.matchAll(/server (node-[\w-]+):/g)].map(([, name]) => name);
    const aliases = [services['node-1'], services['node-2']].flatMap(({ networks }) =>
      Object.values(networks).flatMap(({ aliases: names = [] }) => names),
    );
    expect([...new Set(named)].sort()).toEqual(aliases.sort());
  });
});
