/** The service of `handler-rounds.ts` on either engine, with an outage of its database. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as passed } from 'node:timers/promises';
import { HostProcess } from '../host-process.ts';
import { PostgresCluster } from '../nodes/postgres-cluster.ts';
import { type HandlerLedger, handlerRounds } from './handler-rounds.ts';

export interface EngineRounds {
  readonly restarts: number;
  readonly everyMs: number;
  readonly outageMs: number;
}

/** Tasks are queued faster than installations may on average. */
const ENV = {
  ANNEX_LIMIT_TASKS_PER_MINUTE_PER_INSTALLATION: '100000',
  ANNEX_LIMIT_TASKS_PENDING_PER_TARGET: '100000',
  ANNEX_LIMIT_TASKS_PENDING_PER_INTEGRATION: '100000',
  ANNEX_LIMIT_CELL_HEARTBEAT_MS: '30000',
};
const FLAGS = ['--cells', '1', '--built-ins', 'none'];

/** SQLite: another process holds the write lock for the time of the outage. */
export const onSqlite = ({ outageMs, ...rounds }: EngineRounds): Promise<HandlerLedger> =>
  inFolder((data) =>
    handlerRounds({
      ...rounds,
      start: () => HostProcess.start({ data, flags: FLAGS, env: ENV }),
      async outage() {
        const other = new DatabaseSync(join(data, 'annex.db'), { timeout: 10_000 });
        other.exec('begin immediate');
        await passed(outageMs);
        other.exec('rollback');
        other.close();
      },
    }),
  );

/** PostgreSQL: the server is stopped, and started again. */
export async function onPostgres({ outageMs, ...rounds }: EngineRounds): Promise<HandlerLedger> {
  const cluster = await PostgresCluster.start();
  try {
    const env = { ...ENV, ANNEX_DATABASE_URL: cluster.url() };
    return await inFolder((data) =>
      handlerRounds({
        ...rounds,
        start: () => HostProcess.start({ data, flags: FLAGS, env }),
        async outage() {
          await cluster.stop();
          await passed(outageMs);
          await cluster.start();
        },
      }),
    );
  } finally {
    await cluster.remove();
  }
}

async function inFolder<Result>(run: (data: string) => Promise<Result>): Promise<Result> {
  const folder = await mkdtemp(join(tmpdir(), 'annex-handlers-'));
  try {
    return await run(join(folder, 'data'));
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 10 });
  }
}
