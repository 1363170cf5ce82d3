/**
 * Several nodes of one service: services in this process, each with a folder, cells and ports of
 * its own, on one PostgreSQL database. They start at once on an empty database.
 *
 * A balancer stands before their public listeners, as in a deployment: all of them have its URL,
 * and a test says which node the next connections go to.
 */
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { loggableError } from '../../src/errors.ts';
import { readConfig } from '../../src/host/config.ts';
import { type Service, startService } from '../../src/host/service.ts';
import type { Limits } from '../../src/limits.ts';
import { preparedProcesses } from './prepared-processes.ts';
import { type Installed, TestService } from './service.ts';
import { OPERATOR } from './store/temporary-store.ts';
import { onServer, postgresUrl } from './store/test-engine.ts';

export interface NodesOptions {
  readonly flags?: readonly string[];
  readonly limits?: Partial<Limits>;
}

export class Nodes {
  readonly a: TestService;
  readonly b: TestService;
  /** How many of the nodes have made the first admin token. */
  readonly firstTokens: number;
  readonly #balancer: Balancer;
  readonly #end: () => Promise<void>;

  private constructor([a, b]: readonly [Service, Service], platform: string, rest: Rest) {
    const made = [a, b].flatMap(({ firstAdminToken }) => firstAdminToken ?? []);
    const tokens = { admin: made[0] ?? '', platform };
    this.firstTokens = made.length;
    this.a = TestService.node(a, tokens, () => a.stop());
    this.b = TestService.node(b, tokens, () => b.stop());
    this.#balancer = rest.balancer;
    this.#end = rest.end;
  }

  static async start({ flags = [], limits = {} }: NodesOptions = {}): Promise<Nodes> {
    const folder = await mkdtemp(join(tmpdir(), 'annex-nodes-'));
    const name = `annex_nodes_${randomBytes(8).toString('hex')}`;
    await onServer(`create database ${name}`);
    const balancer = await Balancer.start();
    const environment = {
      ANNEX_DATABASE_URL: postgresUrl(folder, name),
      ANNEX_DATABASE_CONNECTIONS: '5',
      ANNEX_VAULT_KEYS: randomBytes(32).toString('base64url'),
    };
    const log = pino(
      { level: process.env['ANNEX_TEST_LOG'] ?? 'silent', serializers: { err: loggableError } },
      pino.destination(2),
    );
    const start = async (node: string) => {
      const own = ['--data', join(folder, node), '--control-port', '0', '--public-port', '0', '--cells', '1'];
      const urls = ['--public-host', '127.0.0.1', '--public-url', balancer.url, '--built-ins', 'none'];
      const read = readConfig([...own, ...urls, ...flags], environment);
      const config = { ...read, limits: { ...read.limits, ...limits } };
      return startService(config, log, { prepared: await preparedProcesses(config) });
    };
    const [a, b] = await Promise.all([start('a'), start('b')]);
    const { token } = await a.store.tokens.create({ kind: 'platform' }, OPERATOR);
    const end = async () => {
      await Promise.all([a.stop(), b.stop()]);
      await balancer.stop();
      await onServer(`drop database if exists ${name} with (force)`);
      await rm(folder, { recursive: true, force: true });
    };
    const nodes = new Nodes([a, b], token, { balancer, end });
    nodes.through(nodes.a);
    return nodes;
  }

  /** The next requests to the public URL go to this node. */
  through(node: TestService): void {
    this.#balancer.port = Number(new URL(node.service.publicUrl).port);
  }

  /** What a node answers at an endpoint. */
  async ask(node: TestService, { endpoint }: Installed, path = '/'): Promise<string> {
    this.through(node);
    return (await fetch(`${endpoint}${path}`)).text();
  }

  stop(): Promise<void> {
    return this.#end();
  }
}

interface Rest {
  readonly balancer: Balancer;
  readonly end: () => Promise<void>;
}

/** Passes each request on to one port, as it is. */
class Balancer {
  /** Where the next requests go. */
  port = 0;
  readonly #server = createServer((incoming, answer) => {
    const { method, url, rawHeaders } = incoming;
    const to = { host: '127.0.0.1', port: this.port, agent: false };
    const passedOn = request({ ...to, method, path: url, headers: rawHeaders }, (answered) => {
      answer.writeHead(answered.statusCode ?? 502, answered.rawHeaders);
      answered.pipe(answer);
    });
    passedOn.on('error', () => answer.destroy());
    incoming.pipe(passedOn);
  });

  static async start(): Promise<Balancer> {
    const balancer = new Balancer();
    await new Promise<void>((resolve) => balancer.#server.listen(0, '127.0.0.1', resolve));
    return balancer;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
