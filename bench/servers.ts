/**
 * Redis and PostgreSQL for the peers, and PostgreSQL for Annex: with the default settings, so that
 * PostgreSQL syncs every commit to the disk. Started in folders of their own, with Unix sockets
 * only, and removed afterwards. Where their programs are not on the machine, the rows that need
 * them are left out, and the table says so.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface QueueServer {
  /** Unix socket, or the folder that it is in. */
  readonly socket: string;
  /** Process of the server; its other processes are children of it. */
  readonly pid: number;
  stop(): Promise<void>;
}

/** URL of the database that a new server of PostgreSQL has. */
export const databaseUrl = ({ socket }: QueueServer): string =>
  `postgres://postgres@localhost/postgres?host=${encodeURIComponent(socket)}`;

const READY_WITHIN_MS = 60_000;
const LOOK_EVERY_MS = 20;
/** The user `nobody` where this process is root: PostgreSQL refuses to run as root. */
const UNPRIVILEGED = 65_534;
const POSTGRES_HOMES = '/usr/lib/postgresql';

/**
 * @param fsync `always`: answered commands are on the disk; `everysec`: the last second can be lost
 */
export async function startRedis(fsync: 'always' | 'everysec'): Promise<QueueServer | undefined> {
  const program = onPath('redis-server');
  if (program === undefined) return undefined;
  const folder = mkdtempSync(join(tmpdir(), 'annex-bench-redis-'));
  const socket = join(folder, 'socket');
  const settings = ['--port', '0', '--unixsocket', socket, '--dir', folder, '--save', ''];
  const durable = ['--appendonly', 'yes', '--appendfsync', fsync];
  const server = spawn(program, [...settings, ...durable], { stdio: 'ignore' });
  return running(server, folder, socket, () => accepts(socket));
}

/** @param options further settings, as `name=value` */
export async function startPostgres(options: readonly string[] = []): Promise<QueueServer | undefined> {
  const bin = postgresFolder();
  if (bin === undefined) return undefined;
  const folder = mkdtempSync(join(tmpdir(), 'annex-bench-postgres-'));
  const data = join(folder, 'data');
  mkdirSync(data);
  const isRoot = process.getuid?.() === 0;
  const user = isRoot ? { uid: UNPRIVILEGED, gid: UNPRIVILEGED } : {};
  if (isRoot) for (const path of [folder, data]) chownSync(path, UNPRIVILEGED, UNPRIVILEGED);
  const initdb = ['-D', data, '-U', 'postgres', '--auth=trust', '--no-sync'];
  execFileSync(join(bin, 'initdb'), initdb, { ...user, stdio: 'ignore' });
  const wanted = ['listen_addresses=', 'autovacuum=on', ...options].flatMap((setting) => ['-c', setting]);
  const settings = ['-D', data, '-k', folder, ...wanted];
  const server = spawn(join(bin, 'postgres'), settings, { ...user, stdio: 'ignore' });
  // It listens before it answers.
  const asked = () => spawn(join(bin, 'pg_isready'), ['-q', '-h', folder], { stdio: 'ignore' });
  return running(server, folder, folder, async () => (await once(asked(), 'exit'))[0] === 0);
}

/** Finds a program even where the system folders are not on the path. */
export const onPath = (program: string): string | undefined =>
  [...(process.env['PATH'] ?? '').split(':'), '/usr/bin', '/usr/local/bin']
    .map((folder) => join(folder, program))
    .find((path) => existsSync(path));

function postgresFolder(): string | undefined {
  const found = existsSync(POSTGRES_HOMES) ? readdirSync(POSTGRES_HOMES).sort() : [];
  const newest = found.at(-1);
  return newest === undefined ? undefined : join(POSTGRES_HOMES, newest, 'bin');
}

async function running(
  server: ChildProcess,
  folder: string,
  socket: string,
  isReady: () => Promise<boolean>,
): Promise<QueueServer> {
  const exited = new Promise<void>((resolve) => server.once('exit', () => resolve()));
  const stop = async () => {
    server.kill('SIGINT');
    await exited;
    rmSync(folder, { recursive: true, force: true });
  };
  const until = performance.now() + READY_WITHIN_MS;
  while (!(await isReady())) {
    if (performance.now() > until || server.exitCode !== null) {
      await stop();
      throw new Error(`${server.spawnfile} does not listen.`);
    }
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
  return { socket, pid: server.pid ?? 0, stop };
}

const accepts = (socket: string): Promise<boolean> =>
  new Promise((resolve) => {
    const tried = connect(socket, () => {
      tried.destroy();
      resolve(true);
    });
    tried.once('error', () => resolve(false));
  });
