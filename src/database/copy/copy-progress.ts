/**
 * How far a copy has come, kept in the target: written in the transaction of each batch, so that a
 * copy that was killed goes on behind the last batch that was committed. A service does not start
 * on a target whose copy is not finished.
 */
import { sql } from 'kysely';
import { lock } from '../locks.ts';
import { hasUnfinishedCopy } from '../postgres/unfinished-copy.ts';
import type { Database } from '../tables.ts';
import type { RowKey } from './copied-tables.ts';

export interface TableProgress {
  /** Key of the last row that is copied; absent before the first. */
  readonly last?: RowKey | undefined;
  /** Rows copied. */
  readonly rows: number;
  readonly isDone: boolean;
}

export class CopyProgress {
  readonly #target: Database;

  constructor(target: Database) {
    this.#target = target;
  }

  /**
   * Begins a copy of this source, or goes on with it.
   *
   * @param source identifies the content of the source
   * @throws if the target holds something else
   */
  async begin(source: string, tables: readonly string[]): Promise<void> {
    // One transaction: killed within it, the target is as it was.
    await this.#target.transaction().execute(async (transaction) => {
      await lock(transaction, 'copy');
      if (await hasUnfinishedCopy(transaction)) return requireSame(transaction, source);
      await refuseRows(transaction, tables);
      await sql`create table copy_progress (
        table_name text primary key, source text not null, last_key text, copied bigint not null, is_done integer not null)`.execute(
        transaction,
      );
      for (const table of tables)
        await sql`insert into copy_progress values (${table}, ${source}, null, 0, 0)`.execute(transaction);
    });
  }

  /** Waits for the last batch of a copy that was killed, which the server may be committing. */
  async of(table: string): Promise<TableProgress> {
    const { rows } = await sql<{ last_key: string | null; copied: number; is_done: number }>`
      select last_key, copied, is_done from copy_progress where table_name = ${table} for update`.execute(
      this.#target,
    );
    const [row] = rows;
    if (row === undefined) throw new Error(`The target has no record of the progress of ${table}.`);
    const last = row.last_key === null ? undefined : (JSON.parse(row.last_key) as RowKey);
    return { last, rows: row.copied, isDone: row.is_done === 1 };
  }

  /**
   * In the transaction of the rows, before they are written.
   *
   * @throws if another copy has gone on from `from` meanwhile
   */
  async advance(transaction: Database, table: string, from: TableProgress, to: TableProgress): Promise<void> {
    const { numAffectedRows } = await sql`
      update copy_progress set last_key = ${written(to.last)}, copied = ${to.rows}, is_done = ${to.isDone ? 1 : 0}
      where table_name = ${table} and is_done = 0 and last_key is not distinct from ${written(from.last)}`.execute(
      transaction,
    );
    if (numAffectedRows === 1n) return;
    throw new Error('Another copy writes to this target. Let it end, or stop it, and run one copy alone.');
  }

  /**
   * The copy is whole and verified: services may start on it. Ends the leases of the service that
   * was stopped, as its next start on SQLite would: none of their holders lives. Their outcome is
   * counted as unknown when a node takes the deliveries back, like that of any lease that ends.
   */
  async finish(): Promise<void> {
    await this.#target.transaction().execute(async (transaction) => {
      // Syncs this commit to disk, and with it all commits before it.
      await sql`set local synchronous_commit = on`.execute(transaction);
      for (const table of ['deliveries', 'life_events'] as const)
        await transaction
          .updateTable(table)
          .set({ lease_until: 0 })
          .where('lease_until', 'is not', null)
          .execute();
      await transaction.deleteFrom('credential_leases').execute();
      await sql`drop table copy_progress`.execute(transaction);
    });
  }
}

const written = (key: RowKey | undefined): string | null => (key === undefined ? null : JSON.stringify(key));

async function requireSame(transaction: Database, source: string): Promise<void> {
  const { rows } = await sql<{ source: string }>`
    select distinct source from copy_progress`.execute(transaction);
  if (rows.every((row) => row.source === source)) return;
  throw new Error(
    'The target holds the beginning of a copy of another store, or of this one before it was changed: the service has ' +
      'run on it since. Drop the target database, make it again, and copy again.',
  );
}

async function refuseRows(transaction: Database, tables: readonly string[]): Promise<void> {
  for (const table of tables) {
    const { rows } = await sql`select 1 from ${sql.table(table)} limit 1`.execute(transaction);
    if (rows.length > 0)
      throw new Error(
        `The target is not empty: its table ${table} has rows, and no copy is in progress there. It may be a finished copy, ` +
          'or the database of a service. To copy, name a database that Annex has not used yet.',
      );
  }
}
