/**
 * A PostgreSQL cluster of its own, in a folder that is removed with it, for tests that stop, kill
 * and fill it. It syncs to disk, as in production.
 *
 * PostgreSQL refuses to run as root, so root runs it as the user `postgres`.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as passed } from 'node:timers/promises';
import { Client } from 'pg';
import { freePort } from '../free-port.ts';
import { postgresFolder } from '../programs.ts';

const STARTED_WITHIN_MS = 60_000;
const CONNECTED_WITHIN_MS = 60_000;
const POLL_EVERY_MS = 20;
const TOO_MANY_CONNECTIONS = '53300';
/** The role of the nodes; it is no superuser, which could take the connections kept for those. */
const NODES = 'nodes';
const DATABASE = 'annex';

export interface ClusterOptions {
  /** Settings of the server. */
  readonly settings?: Readonly<Record<string, string | number>>;
  /** Where its folder is made: a folder that every user can enter; the temporary one if absent. */
  readonly place?: string;
}

export class PostgresCluster {
  readonly port: number;
  /** Data folder. */
  readonly folder: string;
  readonly #settings: Readonly<Record<string, string | number>>;
  #server: ChildProcess | undefined;

  private constructor(folder: string, port: number, settings: Readonly<Record<string, string | number>>) {
    this.folder = folder;
    this.port = port;
    this.#settings = settings;
  }

  /** Makes a cluster with an empty database, and starts it. */
  static async start({ settings = {}, place = tmpdir() }: ClusterOptions = {}): Promise<PostgresCluster> {
    const folder = await ownedFolder(place);
    execFileSync(program('initdb'), ['-D', folder, '-A', 'trust', '-U', 'postgres', '--no-instructions'], {
      ...{ ...owner(), cwd: folder, stdio: 'ignore' },
    });
    const cluster = new PostgresCluster(folder, await freePort(), settings);
    await cluster.start();
    await cluster.query(`create role ${NODES} login`, 'postgres');
    await cluster.query(`create database ${DATABASE} owner ${NODES}`, 'postgres');
    return cluster;
  }

  /** Makes a server that follows this one, and only reads until `pg_promote`. */
  async standby(): Promise<PostgresCluster> {
    const folder = await ownedFolder(tmpdir());
    const from = ['-h', '127.0.0.1', '-p', String(this.port), '-U', 'postgres'];
    execFileSync(program('pg_basebackup'), [...from, '-D', folder, '-R', '-c', 'fast'], {
      ...{ ...owner(), cwd: folder, stdio: 'ignore' },
    });
    const cluster = new PostgresCluster(folder, await freePort(), this.#settings);
    await cluster.start();
    return cluster;
  }

  /** URL of the database for nodes; over a proxy if its port is given. */
  url(port = this.port): string {
    return `postgres://${NODES}@127.0.0.1:${port}/${DATABASE}`;
  }

  /** Starts the server. Resolves when it answers. */
  async start(): Promise<void> {
    const until = performance.now() + STARTED_WITHIN_MS;
    for (;;) {
      if (this.#server === undefined || this.#server.exitCode !== null) this.#launch();
      try {
        await this.query('select 1', 'postgres');
        return;
      } catch (cause) {
        if (performance.now() > until) throw cause;
        await passed(POLL_EVERY_MS);
      }
    }
  }

  /** Stops the server: it ends all sessions, writes a checkpoint and exits. */
  stop(): Promise<void> {
    return this.#end('SIGINT');
  }

  /** Kills all of its processes, as a crash of the machine would. */
  async kill(): Promise<void> {
    const server = this.#server?.pid;
    if (server === undefined) return;
    // Stopped first: a child that it makes meanwhile would live on, and keep the next server away.
    this.#server?.kill('SIGSTOP');
    const children = childrenOf(server);
    const ended = this.#end('SIGKILL');
    for (const child of children) {
      try {
        process.kill(child, 'SIGKILL');
      } catch {
        // It has ended.
      }
    }
    await ended;
  }

  /** Whether the server runs. */
  get isRunning(): boolean {
    return this.#server !== undefined && this.#server.exitCode === null && this.#server.signalCode === null;
  }

  /** Runs statements as superuser. @returns the rows of the last one */
  async query<Row = Record<string, unknown>>(sql: string, database = DATABASE): Promise<Row[]> {
    const client = await this.#connected(database);
    try {
      const results = await client.query(sql);
      return (Array.isArray(results) ? results.at(-1) : results).rows as Row[];
    } finally {
      await client.end();
    }
  }

  /** A connection of an outsider, not connected. */
  client(database = DATABASE, user = 'postgres'): Client {
    const client = new Client({ host: '127.0.0.1', port: this.port, user, database });
    client.on('error', () => undefined);
    return client;
  }

  /** A connection of the role of the nodes, which takes one of theirs. */
  nodeClient(): Client {
    return this.client(DATABASE, NODES);
  }

  /**
   * A connection of the superuser. The server keeps some for it, but connections that are about to
   * be refused have those for a moment, too.
   */
  async #connected(database: string): Promise<Client> {
    const until = performance.now() + CONNECTED_WITHIN_MS;
    for (;;) {
      const client = this.client(database);
      try {
        await client.connect();
        return client;
      } catch (cause) {
        const isFull = (cause as { code?: string }).code === TOO_MANY_CONNECTIONS;
        if (!isFull || performance.now() > until) throw cause;
        await passed(POLL_EVERY_MS);
      }
    }
  }

  /** Kills the server and removes its folder. */
  async remove(): Promise<void> {
    await this.kill();
    await rm(this.folder, { recursive: true, force: true, maxRetries: 10 });
  }

  #launch(): void {
    const settings = {
      ...{ port: this.port, listen_addresses: '127.0.0.1', unix_socket_directories: this.folder },
      ...this.#settings,
    };
    const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    this.#server = spawn(program('postgres'), ['-D', this.folder, ...flags], {
      ...{ ...owner(), cwd: this.folder, stdio: 'ignore' },
    });
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    if (server === undefined || server.exitCode !== null || server.signalCode !== null) return;
    const exited = once(server, 'exit');
    server.kill(signal);
    await exited;
  }
}

function program(name: string): string {
  const folder = postgresFolder();
  if (folder === undefined) throw new Error('PostgreSQL is not installed.');
  return join(folder, name);
}

async function ownedFolder(place: string): Promise<string> {
  const folder = await mkdtemp(join(place, 'annex-postgres-'));
  const { uid, gid } = owner();
  if (uid !== undefined && gid !== undefined) chownSync(folder, uid, gid);
  return folder;
}

/** Whom the server runs as, if this process is root. */
function owner(): { uid?: number; gid?: number } {
  if (process.getuid?.() !== 0) return {};
  const id = (flag: string) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}

function childrenOf(pid: number): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').map(Number);
}
