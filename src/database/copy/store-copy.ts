/**
 * Copies a store from SQLite to PostgreSQL, table by table, and verifies the copy
 * (docs/operating.md#moving-to-postgresql).
 *
 * The service must not run: the source is locked and only read. Each batch is one transaction with
 * its progress. At the end every row of both sides is compared, and only then may a service start
 * on the target. It moves nothing and deletes nothing: the SQLite file stays as it is.
 */
import { createHash } from 'node:crypto';
import { sql } from 'kysely';
import { runForEach } from '../bulk.ts';
import type { Database } from '../tables.ts';
import { type CopiedTable, copiedTables, insertInto } from './copied-tables.ts';
import { CopyProgress } from './copy-progress.ts';
import { batchesOf, type CopiedRow, keyOf } from './rows-in-order.ts';

export interface CopyNote {
  readonly step: 'copying' | 'verifying';
  readonly table: string;
  readonly rows: number;
  readonly of: number;
}

export interface StoreCopyParts {
  readonly source: Database;
  readonly target: Database;
  progress(note: CopyNote): void;
}

/** A table that was copied and compared. */
export interface CopiedSummary {
  readonly table: string;
  readonly rows: number;
  /** SHA-256 of all values in the order of the keys, the same on both sides. */
  readonly checksum: string;
}

/** @throws if the target holds something else, or differs from the source at the end */
export async function copyStore(parts: StoreCopyParts): Promise<readonly CopiedSummary[]> {
  const { source, target } = parts;
  const tables = await copiedTables(source);
  const counts = new Map<string, number>();
  for (const { name } of tables) counts.set(name, await countOf(source, name));
  const progress = new CopyProgress(target);
  await progress.begin(
    await identityOf(source, tables, counts),
    tables.map(({ name }) => name),
  );
  for (const table of tables) await copyTable(parts, progress, table, counts.get(table.name) ?? 0);
  const copied: CopiedSummary[] = [];
  for (const table of tables) copied.push(await verify(parts, table, counts.get(table.name) ?? 0));
  await progress.finish();
  // The planner of the target knows nothing of the rows yet.
  await sql`analyze`.execute(target);
  return copied;
}

async function copyTable(
  { source, target, progress: report }: StoreCopyParts,
  progress: CopyProgress,
  table: CopiedTable,
  of: number,
): Promise<void> {
  const { name } = table;
  const { last, isDone } = await progress.of(name);
  if (isDone) return;
  const statement = insertInto(table);
  let rows = last === undefined ? 0 : await countOf(target, name);
  report({ step: 'copying', table: name, rows, of });
  for await (const batch of batchesOf(source, table, last)) {
    await target.transaction().execute(async (transaction) => {
      // What is lost with the server now is copied again: the end of the table syncs it.
      await sql`set local synchronous_commit = off`.execute(transaction);
      await runForEach(transaction, statement, batch.rows);
      await progress.record(transaction, name, { last: batch.last, isDone: false });
    });
    rows += batch.rows.length;
    report({ step: 'copying', table: name, rows, of });
  }
  await progress.record(target, name, { isDone: true });
}

/** Compares every value of every row. @throws at the first row that differs */
async function verify(
  { source, target, progress: report }: StoreCopyParts,
  table: CopiedTable,
  of: number,
): Promise<CopiedSummary> {
  const checksum = createHash('sha256');
  const theirs = rowsOf(target, table);
  let rows = 0;
  report({ step: 'verifying', table: table.name, rows, of });
  for await (const batch of batchesOf(source, table)) {
    for (const row of batch.rows) {
      const text = JSON.stringify(row);
      const { value: copied } = await theirs.next();
      if (copied === undefined || JSON.stringify(copied) !== text) throw differs(table, row);
      checksum.update(text);
    }
    rows += batch.rows.length;
    report({ step: 'verifying', table: table.name, rows, of });
  }
  const { value: extra } = await theirs.next();
  if (extra !== undefined) throw differs(table, extra);
  return { table: table.name, rows, checksum: checksum.digest('hex') };
}

async function* rowsOf(database: Database, table: CopiedTable): AsyncGenerator<CopiedRow, undefined> {
  for await (const { rows } of batchesOf(database, table)) yield* rows;
  return undefined;
}

const differs = (table: CopiedTable, row: CopiedRow): Error =>
  new Error(
    `The copy of ${table.name} differs from the source at ${table.key.join(', ')} = ${keyOf(table, row).join(', ')}. ` +
      'Something else has written to the target: drop the database, make it again, and copy again.',
  );

async function countOf(database: Database, table: string): Promise<number> {
  const { rows } = await sql<{ count: number }>`select count(*) as count from ${sql.table(table)}`.execute(
    database,
  );
  return Number(rows[0]?.count ?? 0);
}

/** Changes with every row that is added, and with every change of a target or an integration. */
async function identityOf(
  source: Database,
  tables: readonly CopiedTable[],
  counts: ReadonlyMap<string, number>,
): Promise<string> {
  const identity = createHash('sha256');
  for (const table of tables) {
    const key = sql.join(table.key.map((name) => sql`${sql.ref(name)} desc`));
    const { rows } =
      await sql<object>`select * from ${sql.table(table.name)} order by ${key} limit 1`.execute(source);
    identity.update(JSON.stringify([table.name, counts.get(table.name), rows]));
  }
  return identity.digest('hex');
}
