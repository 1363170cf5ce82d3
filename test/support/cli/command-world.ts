/**
 * What the table of commands runs in: one real service, shared by all rows, and folders of their
 * own. A row takes from it what it needs and leaves the rest as it was.
 */
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TestService } from '../service.ts';

const CODE = { 'index.js': 'export default { fetch: () => new Response("ok") };' };

const SETTINGS = `configurations:
  account:
    properties:
      greeting: { type: string, enum: [Hello, Good day], default: Hello }
      times: { type: number }
      loud: { type: boolean }
    required: [times]
`;

export class CommandWorld {
  readonly service: TestService;
  readonly #base: string;
  readonly #closedPort: number;
  #integrations = 0;
  #shared: Promise<string> | undefined;
  #settings: Promise<string> | undefined;

  private constructor(service: TestService, base: string, closedPort: number) {
    this.#closedPort = closedPort;
    this.service = service;
    this.#base = base;
  }

  static async start(): Promise<CommandWorld> {
    const base = await mkdtemp(join(tmpdir(), 'annex-cli-'));
    const service = await TestService.start({ flags: ['--data', join(base, 'data')] });
    return new CommandWorld(service, base, await closedPort());
  }

  async stop(): Promise<void> {
    await this.service.stop();
    await rm(this.#base, { recursive: true, force: true });
  }

  /** Variables by which a command reaches the service as the operator, and a home of its own. */
  get env(): Record<string, string> {
    return { ...this.home, ANNEX_URL: this.service.service.controlUrl, ANNEX_TOKEN: this.service.admin };
  }

  /** The same with a token that the service does not know. */
  get envOfStranger(): Record<string, string> {
    return { ...this.env, ANNEX_TOKEN: 'annex_admin_unknown' };
  }

  /** The same with a port where nothing listens. */
  get envOfNoService(): Record<string, string> {
    return { ...this.env, ANNEX_URL: `http://127.0.0.1:${this.#closedPort}` };
  }

  /** Data folder of the service. */
  get data(): string {
    return join(this.#base, 'data');
  }

  /** Only a home, without profiles, and no service. */
  get home(): Record<string, string> {
    return { HOME: join(this.#base, 'home') };
  }

  /** An integration of two versions, the second active, that no row changes. */
  shared(): Promise<string> {
    this.#shared ??= this.#publishTwice('cli-shared');
    return this.#shared;
  }

  /** An integration of the row's own. */
  async own(): Promise<string> {
    this.#integrations += 1;
    const name = `cli-${this.#integrations}`;
    await this.service.publish(name, CODE);
    return name;
  }

  /** An integration whose account configuration has a property of each type. */
  settings(): Promise<string> {
    this.#settings ??= this.service.publish('cli-settings', CODE, SETTINGS).then(() => 'cli-settings');
    return this.#settings;
  }

  async #publishTwice(name: string): Promise<string> {
    await this.service.publish(name, CODE);
    await this.service.publish(name, CODE);
    return name;
  }

  /** A new, empty folder. */
  async folder(): Promise<string> {
    return await mkdtemp(join(this.#base, 'folder-'));
  }
}

/** A port that was free a moment ago. */
async function closedPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
