/**
 * How far a copy has come, kept in the target: written in the transaction of each batch, so that a
 * copy that was killed goes on behind the last batch that was committed. A service does not start
 * on a target whose copy is not finished.
 */
import { sql } from 'kysely';
import type { ColumnValue } from '../bulk.ts';
import { hasUnfinishedCopy } from '../postgres/unfinished-copy.ts';
import type { Database } from '../tables.ts';

/** Its only row in the table `copy_progress` that is not about a table. */
const WHOLE_COPY = '';

export interface TableProgress {
  /** Key of the last row that is copied; absent before the first. */
  readonly last?: readonly ColumnValue[];
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
    if (!(await hasUnfinishedCopy(this.#target))) {
      await this.#refuseRows(tables);
      await sql`create table copy_progress (
        table_name text primary key, source text, last_key text, is_done integer not null)`.execute(
        this.#target,
      );
      await sql`insert into copy_progress values (${WHOLE_COPY}, ${source}, null, 0)`.execute(this.#target);
      return;
    }
    const { rows } = await sql<{ source: string }>`
      select source from copy_progress where table_name = ${WHOLE_COPY}`.execute(this.#target);
    if (rows[0]?.source === source) return;
    throw new Error(
      'The target holds a copy that was begun from another store, or the service has run on this one since. ' +
        'Drop the target database, make it again, and copy again.',
    );
  }

  async of(table: string): Promise<TableProgress> {
    const { rows } = await sql<{ last_key: string | null; is_done: number }>`
      select last_key, is_done from copy_progress where table_name = ${table}`.execute(this.#target);
    const [row] = rows;
    if (row === undefined) return { isDone: false };
    return { isDone: row.is_done === 1, ...(row.last_key !== null && { last: JSON.parse(row.last_key) }) };
  }

  /** In the transaction of the rows. */
  async record(transaction: Database, table: string, { last, isDone }: TableProgress): Promise<void> {
    const key = last === undefined ? null : JSON.stringify(last);
    await sql`
      insert into copy_progress (table_name, last_key, is_done) values (${table}, ${key}, ${isDone ? 1 : 0})
      on conflict (table_name) do update
      set last_key = coalesce(excluded.last_key, copy_progress.last_key), is_done = excluded.is_done`.execute(
      transaction,
    );
  }

  /** The copy is whole and verified: services may start on it. */
  async finish(): Promise<void> {
    await sql`drop table copy_progress`.execute(this.#target);
  }

  async #refuseRows(tables: readonly string[]): Promise<void> {
    for (const table of tables) {
      const { rows } = await sql`select 1 from ${sql.table(table)} limit 1`.execute(this.#target);
      if (rows.length > 0)
        throw new Error(
          `The target is not empty: its table ${table} has rows. Name a database that Annex has not used yet.`,
        );
    }
  }
}
