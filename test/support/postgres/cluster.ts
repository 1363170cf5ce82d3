/**
 * A PostgreSQL server of its own, in a temporary folder: for a run of the tests, and for tests that
 * stop a server. It never waits for the disk, so it is not for tests of power cuts.
 *
 * It listens on a socket in its folder, which only its user and root can enter, so it needs no
 * password. It is stopped, and its folder removed, when this process ends, however it ends: its
 * shell waits for the end of a pipe.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { chown, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { postgresFolder } from '../programs.ts';

const START_MS = 60_000;
const USER = 'annex';
/** Fast: no commit waits, and no other process works beside those of the tests. */
const SETTINGS = {
  listen_addresses: '',
  fsync: 'off',
  full_page_writes: 'off',
  autovacuum: 'off',
  wal_level: 'minimal',
  max_wal_size: '256MB',
  max_wal_senders: '0',
  max_connections: '200',
};
/** Runs a program until it ends or the standard input does, and removes the folder behind it. */
const WATCHED = `
folder="$1"; shift
exec 3<&0
"$@" >"$folder/log" 2>&1 3<&- &
server=$!
(read -r _ <&3; kill -QUIT $server 2>/dev/null) &
exec 3<&-
wait $server
code=$?
[ $code -eq 0 ] || tail -n 20 "$folder/log" >&2
rm -rf "$folder"
exit $code
`;

export class PostgresCluster {
  /** URL of its database `postgres`, for a user who may do everything. */
  readonly url: string;
  readonly #shell: ChildProcess;
  readonly #ended: Promise<unknown>;

  private constructor(url: string, shell: ChildProcess, ended: Promise<unknown>) {
    this.url = url;
    this.#shell = shell;
    this.#ended = ended;
  }

  /** @throws if the programs are missing (`postgresFolder`), or it does not start */
  static async start(): Promise<PostgresCluster> {
    const binaries = postgresFolder();
    if (binaries === undefined) throw new Error('There is no PostgreSQL here: install postgresql.');
    const folder = await mkdtemp(join(tmpdir(), 'annex-pg-'));
    const user = await unprivileged();
    if (user !== undefined) await chown(folder, user.uid, user.gid);
    const data = join(folder, 'data');
    const options = { cwd: folder, ...user };
    const made = ['-D', data, '-U', USER, '-A', 'trust', '-E', 'UTF8', '--locale=C', '-N'];
    try {
      await promisify(execFile)(join(binaries, 'initdb'), made, options);
    } catch (cause) {
      await rm(folder, { recursive: true, force: true });
      throw cause;
    }
    const settings = Object.entries({ ...SETTINGS, unix_socket_directories: folder });
    const server = [join(binaries, 'postgres'), '-D', data];
    const flags = settings.flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    const shell = spawn('/bin/sh', ['-c', WATCHED, 'sh', folder, ...server, ...flags], {
      ...options,
      // An interrupt from a terminal is for the tests, which end it.
      detached: true,
      stdio: ['pipe', 'ignore', 'pipe'],
    });
    const ended = new Promise((resolve) => shell.once('close', resolve));
    const url = `postgres://${USER}@localhost/postgres?host=${encodeURIComponent(folder)}`;
    const cluster = new PostgresCluster(url, shell, ended);
    await cluster.#answers();
    return cluster;
  }

  /** Stops it at once, without writing what it has in memory. */
  async stop(): Promise<void> {
    this.#shell.stdin?.end();
    await this.#ended;
  }

  async #answers(): Promise<void> {
    let complaint = '';
    let hasEnded = false;
    this.#shell.stderr?.on('data', (text) => (complaint += text));
    void this.#ended.then(() => (hasEnded = true));
    for (const since = performance.now(); ; ) {
      const client = new Client({ connectionString: this.url });
      try {
        await client.connect();
        await client.end();
        return;
      } catch (cause) {
        if (hasEnded) throw new Error(`PostgreSQL did not start: ${complaint}`, { cause });
        if (performance.now() - since > START_MS) {
          await this.stop();
          throw new Error('PostgreSQL did not start in time.', { cause });
        }
        await setTimeout(20);
      }
    }
  }
}

/** The user who runs the server where this one is root, whom PostgreSQL refuses. */
export async function unprivileged(): Promise<{ uid: number; gid: number } | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const users = (await readFile('/etc/passwd', 'utf8')).split('\n').map((line) => line.split(':'));
  const [, , uid, gid] =
    users.find(([name]) => name === 'postgres') ?? users.find(([name]) => name === 'nobody') ?? [];
  if (uid === undefined || gid === undefined) throw new Error('There is no user postgres, and none nobody.');
  return { uid: Number(uid), gid: Number(gid) };
}
