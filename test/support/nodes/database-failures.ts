/** Ways in which a database stops doing its work for a while, without a node doing anything. */
import { execFileSync } from 'node:child_process';
import { closeSync, openSync, unlinkSync, writeSync } from 'node:fs';
import { mkdtemp, rmdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as passed } from 'node:timers/promises';
import type { Client } from 'pg';
import type { Failure } from './lost-database.ts';
import type { PostgresCluster } from './postgres-cluster.ts';

const POLL_EVERY_MS = 5;
const BALLAST_BYTES = 65_536;

export type MakeFailure = (cluster: PostgresCluster, lastsMs: number) => Failure;

/** The server is stopped, and started again. */
export const stopped: MakeFailure = (cluster, lastsMs) => ({
  ...{ name: 'stopped', lastsMs },
  begin: () => cluster.stop(),
  end: () => cluster.start(),
});

/** The server is killed, and started again. */
export const killed: MakeFailure = (cluster, lastsMs) => ({
  ...{ name: 'killed', lastsMs },
  begin: () => cluster.kill(),
  end: () => cluster.start(),
});

/** Others have taken all connections. */
export function outOfConnections(cluster: PostgresCluster, lastsMs: number): Failure {
  const taken: Client[] = [];
  let isOver = false;
  const take = async () => {
    const client = cluster.nodeClient();
    await client.connect();
    taken.push(client);
  };
  const takeAll = async () => {
    while (!isOver) await take().catch(() => passed(POLL_EVERY_MS));
  };
  return {
    ...{ name: 'out of connections', lastsMs },
    async begin() {
      for (let index = 0; index < 4; index += 1) void takeAll();
      // Again and again: a node may be faster once.
      const end = () =>
        cluster.query(
          "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'annex'",
        );
      for (let round = 0; round < 20; round += 1) {
        await end();
        await passed(20 * POLL_EVERY_MS);
      }
    },
    async end() {
      isOver = true;
      await Promise.all(taken.map((client) => client.end()));
    },
  };
}

/** Somebody holds a lock on the deliveries. */
export function locked(cluster: PostgresCluster, lastsMs: number): Failure {
  const client = cluster.client();
  return {
    ...{ name: 'deliveries locked', lastsMs },
    async begin() {
      await client.connect();
      await client.query('begin; lock table deliveries in access exclusive mode');
    },
    async end() {
      await client.query('rollback');
      await client.end();
    },
  };
}

/** The database only reads. */
export function readOnly(cluster: PostgresCluster, lastsMs: number): Failure {
  const set = async (value: 'on' | 'off') => {
    await cluster.query(`alter system set default_transaction_read_only = ${value}`);
    await cluster.query('select pg_reload_conf()');
  };
  return { ...{ name: 'read-only', lastsMs }, begin: () => set('on'), end: () => set('off') };
}

/** The disk of the database is full. The cluster has to be on a `SmallDisk`. */
export function diskFull(cluster: PostgresCluster, lastsMs: number): Failure {
  const ballast = join(cluster.folder, 'ballast');
  return {
    ...{ name: 'disk full', lastsMs },
    async begin() {
      const file = openSync(ballast, 'w');
      const bytes = Buffer.alloc(BALLAST_BYTES);
      try {
        for (;;) writeSync(file, bytes);
      } catch {
        // It is full.
      } finally {
        closeSync(file);
      }
    },
    async end() {
      unlinkSync(ballast);
      // A server that cannot write its log ends; its supervisor would start it again.
      await cluster.start();
    },
  };
}

/** A small file system in memory. */
export class SmallDisk {
  readonly folder: string;

  private constructor(folder: string) {
    this.folder = folder;
  }

  /** @returns undefined where this process may not mount */
  static async mount(mib: number): Promise<SmallDisk | undefined> {
    const folder = await mkdtemp(join(tmpdir(), 'annex-disk-'));
    try {
      const options = `size=${mib}m,mode=0755`;
      execFileSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', folder], { stdio: 'ignore' });
      return new SmallDisk(folder);
    } catch {
      await rmdir(folder);
      return undefined;
    }
  }

  async unmount(): Promise<void> {
    execFileSync('umount', ['--lazy', this.folder], { stdio: 'ignore' });
    await rmdir(this.folder);
  }
}
