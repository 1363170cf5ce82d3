/**
 * What the table of commands runs in: one real service, shared by all rows, and folders of their
 * own. A row takes from it what it needs and leaves the rest as it was.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TestService } from '../service.ts';

export class CommandWorld {
  readonly service: TestService;
  readonly #folders: string[] = [];
  readonly #base: string;

  private constructor(service: TestService, base: string) {
    this.service = service;
    this.#base = base;
  }

  static async start(): Promise<CommandWorld> {
    const base = await mkdtemp(join(tmpdir(), 'annex-cli-'));
    return new CommandWorld(await TestService.start(), base);
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
    return { ...this.env, ANNEX_URL: 'http://127.0.0.1:9' };
  }

  /** Only a home, without profiles, and no service. */
  get home(): Record<string, string> {
    return { HOME: join(this.#base, 'home') };
  }

  /** A new, empty folder. */
  async folder(): Promise<string> {
    const folder = await mkdtemp(join(this.#base, 'folder-'));
    this.#folders.push(folder);
    return folder;
  }
}
