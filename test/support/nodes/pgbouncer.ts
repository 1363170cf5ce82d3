/** PgBouncer in front of a PostgreSQL server, with its defaults beside what a test sets. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chown, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as passed } from 'node:timers/promises';
import { Client } from 'pg';
import { freePort } from '../free-port.ts';
import { unprivileged } from '../postgres/cluster.ts';
import { pathOf } from '../programs.ts';

const STARTED_WITHIN_MS = 30_000;
const POLL_EVERY_MS = 20;

export type PoolerSettings = Readonly<Record<string, string | number>>;

export class PgBouncer {
  /** URL of the database behind it. */
  readonly url: string;
  readonly #process: ChildProcess;
  readonly #folder: string;
  readonly #write: (settings: PoolerSettings) => Promise<void>;

  private constructor(
    url: string,
    process: ChildProcess,
    folder: string,
    write: (settings: PoolerSettings) => Promise<void>,
  ) {
    this.url = url;
    this.#process = process;
    this.#folder = folder;
    this.#write = write;
  }

  /** @param url of a database of the server, where it trusts a role without a password */
  static async start(url: string, settings: PoolerSettings): Promise<PgBouncer> {
    const folder = await mkdtemp(join(tmpdir(), 'annex-pgbouncer-'));
    const port = await freePort();
    const file = join(folder, 'pgbouncer.ini');
    const write = (own: PoolerSettings) =>
      writeFile(file, configuration(url, folder, { listen_port: port, ...own }));
    const user = await unprivileged();
    if (user !== undefined) await chown(folder, user.uid, user.gid);
    await writeFile(join(folder, 'users'), `"${new URL(url).username}" ""\n`);
    await write(settings);
    const program = spawn(pathOf('pgbouncer') ?? 'pgbouncer', ['-q', file], { ...user, stdio: 'ignore' });
    const through = new URL(url);
    through.host = `127.0.0.1:${port}`;
    through.searchParams.delete('host');
    const pooler = new PgBouncer(through.href, program, folder, write);
    await pooler.#answers();
    return pooler;
  }

  /** Changes settings while it runs. */
  async reload(settings: PoolerSettings): Promise<void> {
    await this.#write(settings);
    this.#process.kill('SIGHUP');
  }

  async stop(): Promise<void> {
    if (this.#process.exitCode === null && this.#process.signalCode === null) {
      const exited = once(this.#process, 'exit');
      this.#process.kill('SIGKILL');
      await exited;
    }
    await rm(this.#folder, { recursive: true, force: true });
  }

  async #answers(): Promise<void> {
    for (const since = performance.now(); ; await passed(POLL_EVERY_MS)) {
      const client = new Client({ connectionString: this.url });
      try {
        await client.connect();
        return;
      } catch (cause) {
        if (performance.now() - since < STARTED_WITHIN_MS && this.#process.exitCode === null) continue;
        await this.stop();
        throw new Error('PgBouncer did not start.', { cause });
      } finally {
        await client.end().catch(() => undefined);
      }
    }
  }
}

function configuration(url: string, folder: string, settings: PoolerSettings): string {
  const { hostname, port, searchParams } = new URL(url);
  const lines = Object.entries({
    ...{
      listen_addr: '127.0.0.1',
      unix_socket_dir: '',
      auth_type: 'trust',
      auth_file: join(folder, 'users'),
    },
    ...settings,
  }).map(([name, value]) => `${name} = ${value}\n`);
  const host = searchParams.get('host') ?? hostname;
  return `[databases]\n* = host=${host} port=${port || 5432}\n[pgbouncer]\n${lines.join('')}`;
}
