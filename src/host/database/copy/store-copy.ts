/**
 * Copies a store from SQLite to PostgreSQL, table by table, and verifies the copy
 * (docs/operating/upgrade.md#moving-to-postgresql).
 *
 * The service must not run. Each batch is one transaction with its progress. At the end every value
 * of both sides is compared, and only then may a service start on the target. It moves nothing and
 * deletes nothing: the SQLite file stays as it is.
 */
import { createHash } from 'node:crypto';
import { type RawBuilder, sql } from 'kysely';
import { runForEach } from '../bulk.ts';
import { lock } from '../locks.ts';
import { hasUnfinishedCopy } from '../postgres/unfinished-copy.ts';
import type { Database } from '../tables.ts';
import { DatabaseUnavailable } from '../unavailable.ts';
import {
  type CopiedRow,
  type CopiedTable,
  insertInto,
  keyOf,
  nameOfRow,
  type RowKey,
} from './copied-tables.ts';
import type { SourceStore } from './source-store.ts';

export interface CopyNote {
  readonly step: 'copying' | 'verifying';
  readonly table: string;
  readonly rows: number;
  readonly of: number;
}

export interface StoreCopyDeps {
  readonly source: SourceStore;
  readonly target: Database;
  progress(note: CopyNote): void;
}

/** A table that was copied and compared. */
export interface CopiedSummary {
  readonly table: string;
  readonly rows: number;
  /** SHA-256 of all values in the order of the keys, the same on both sides. */
  readonly checksum: string;
  /** Rows in which U+0000 was replaced by U+FFFD. */
  readonly changed: number;
  /** Names the first of them. */
  readonly firstChanged: string | undefined;
}

/** @throws if the target holds something else, or differs from the source at the end */
export async function copyStore(deps: StoreCopyDeps): Promise<readonly CopiedSummary[]> {
  const { source, target } = deps;
  const progress = new CopyProgress(target);
  await progress.begin(
    source.identity,
    source.tables.map(({ name }) => name),
  );
  for (const table of source.tables) await copyTable(deps, progress, table);
  const copied: CopiedSummary[] = [];
  for (const table of source.tables) copied.push(await verify(deps, table));
  // The planner of the target knows nothing of the rows yet.
  await sql`analyze`.execute(target);
  await progress.finish();
  return copied;
}

async function copyTable(deps: StoreCopyDeps, progress: CopyProgress, table: CopiedTable): Promise<void> {
  const { source, progress: report } = deps;
  const of = source.count(table);
  let from = await progress.of(table.name);
  if (from.isDone) return;
  report({ step: 'copying', table: table.name, rows: from.rows, of });
  while (!from.isDone) {
    from = await copyBatch(deps, progress, table, from);
    report({ step: 'copying', table: table.name, rows: from.rows, of });
  }
}

/** @returns the progress after it; the table is done if no batch was left */
async function copyBatch(
  { source, target }: StoreCopyDeps,
  progress: CopyProgress,
  table: CopiedTable,
  from: TableProgress,
): Promise<TableProgress> {
  const batch = source.next(table, from.last);
  const to: TableProgress =
    batch === undefined
      ? { ...from, isDone: true }
      : { last: batch.last, rows: from.rows + batch.rows.length, isDone: false };
  let refusal: unknown;
  try {
    await target.transaction().execute(async (transaction) => {
      // What is lost with the server now is copied again; the last commit of the copy is synced.
      await sql`set local synchronous_commit = off`.execute(transaction);
      await progress.advance(transaction, table.name, from, to);
      if (batch === undefined) return;
      await writeRows(transaction, table, batch.rows).catch((cause) => {
        refusal = cause;
        throw cause;
      });
    });
  } catch (cause) {
    if (refusal === undefined || batch === undefined) throw cause;
    throw await refusedRow(target, table, batch.rows, refusal);
  }
  return to;
}

/** Compares every value of every row. @throws at the first row that differs */
async function verify(
  { source, target, progress: report }: StoreCopyDeps,
  table: CopiedTable,
): Promise<CopiedSummary> {
  const of = source.count(table);
  const checksum = createHash('sha256');
  let [rows, changed] = [0, 0];
  let firstChanged: string | undefined;
  let after: RowKey | undefined;
  report({ step: 'verifying', table: table.name, rows, of });
  for (;;) {
    const batch = source.next(table, after);
    // One row more than there should be; behind the last row, none should be.
    const limit = (batch?.rows.length ?? 0) + 1;
    const copied = await readRows(target, table, { after, to: batch?.last }, limit);
    compare(table, batch?.rows ?? [], copied);
    if (batch === undefined) break;
    for (const row of batch.rows) checksum.update(`${JSON.stringify(row)}\n`);
    rows += batch.rows.length;
    changed += batch.changed.length;
    firstChanged ??= batch.changed[0] && nameOfRow(table, batch.changed[0]);
    after = batch.last;
    report({ step: 'verifying', table: table.name, rows, of });
  }
  // A row without a key has no place in the order of the keys.
  if (rows !== of)
    throw new Error(`Of ${of} rows of ${table.name} only ${rows} have a key; the others cannot be copied.`);
  return { table: table.name, rows, checksum: checksum.digest('hex'), changed, firstChanged };
}

/** Both sides are in the order of their keys. */
function compare(table: CopiedTable, rows: readonly CopiedRow[], copied: readonly CopiedRow[]): void {
  const keyIn = (row: CopiedRow | undefined) => row && JSON.stringify(keyOf(table, row));
  const keys = new Set(rows.map(keyIn));
  for (let index = 0; index < Math.max(rows.length, copied.length); index += 1) {
    const [row, copy] = [rows[index], copied[index]];
    if (copy !== undefined && !keys.has(keyIn(copy)))
      throw differs(`the target has ${nameOfRow(table, copy)}, and the source has not`);
    if (row === undefined) return;
    if (keyIn(copy) !== keyIn(row)) throw differs(`the target lacks ${nameOfRow(table, row)}`);
    const column = table.columns.find((_, at) => row[at] !== copy?.[at]);
    if (column !== undefined) throw differs(`${nameOfRow(table, row)} has another ${column.name}`);
  }
}

const differs = (how: string): Error =>
  new Error(
    `The copy differs from the source: ${how}. Something else has written to the target. ` +
      'Drop the target database, make it again, and copy again.',
  );

/** Both ends are keys; open if absent. The first one is not included, the last one is. */
interface KeyRange {
  readonly after?: RowKey | undefined;
  readonly to?: RowKey | undefined;
}

/**
 * Rows of a copy in its target: how they are written, and read again for the comparison. PostgreSQL
 * only.
 */
async function writeRows(
  transaction: Database,
  table: CopiedTable,
  rows: readonly CopiedRow[],
): Promise<void> {
  await runForEach(transaction, insertInto(table), rows);
  // The driver does not wait for a write that returns nothing. Here its refusal is wanted now.
  await sql`select 1`.execute(transaction);
}

/** The rows in a range of keys, in their order; at most `limit` of them. */
async function readRows(
  target: Database,
  { name, columns, key }: CopiedTable,
  { after, to }: KeyRange,
  limit: number,
): Promise<CopiedRow[]> {
  const keys = sql.join(key.map((column) => sql.ref(column)));
  const ends: RawBuilder<unknown>[] = [sql`true`];
  if (after !== undefined) ends.push(sql`(${keys}) > (${sql.join([...after])})`);
  if (to !== undefined) ends.push(sql`(${keys}) <= (${sql.join([...to])})`);
  // No alias is the name of a column: the order is that of the keys, not that of their digits.
  const values = columns.map(
    (column, index) => sql`${sql.ref(column.name)}::text as ${sql.ref(`v${index}`)}`,
  );
  const { rows } = await sql<Record<string, string | null>>`
    select ${sql.join(values)} from ${sql.table(name)} where ${sql.join(ends, sql` and `)}
    order by ${keys} limit ${limit}`.execute(target);
  return rows.map((row) => columns.map((_, index) => row[`v${index}`] ?? null));
}

/**
 * Finds the row of a batch that PostgreSQL refuses, by writing them one at a time. Keeps none.
 *
 * @param refusal why the batch was refused
 * @returns the error that names the row
 */
async function refusedRow(
  target: Database,
  table: CopiedTable,
  rows: readonly CopiedRow[],
  refusal: unknown,
): Promise<unknown> {
  const isOfARow = (cause: unknown): cause is Error =>
    cause instanceof Error && !(cause instanceof DatabaseUnavailable);
  if (!isOfARow(refusal)) return refusal;
  let refused: CopiedRow | undefined;
  const cause: unknown = await target
    .transaction()
    .execute(async (transaction) => {
      for (const row of rows) {
        refused = row;
        await writeRows(transaction, table, [row]);
      }
      refused = undefined;
      // Rolls back.
      throw refusal;
    })
    .catch((thrown: unknown) => thrown);
  if (refused === undefined || !isOfARow(cause)) return cause;
  return new Error(
    `PostgreSQL refuses ${nameOfRow(table, refused)}: ${cause.message}. Start the service on SQLite, correct or remove what the ` +
      'row holds, stop the service, and copy again into a new database.',
    { cause },
  );
}

interface TableProgress {
  /** Key of the last row that is copied; absent before the first. */
  readonly last?: RowKey | undefined;
  /** Rows copied. */
  readonly rows: number;
  readonly isDone: boolean;
}

/**
 * How far a copy has come, kept in the target: written in the transaction of each batch, so that a
 * copy that was killed goes on behind the last batch that was committed. A service does not start
 * on a target whose copy is not finished.
 */
class CopyProgress {
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
