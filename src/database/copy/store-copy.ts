/**
 * Copies a store from SQLite to PostgreSQL, table by table, and verifies the copy
 * (docs/operating/upgrade.md#moving-to-postgresql).
 *
 * The service must not run. Each batch is one transaction with its progress. At the end every value
 * of both sides is compared, and only then may a service start on the target. It moves nothing and
 * deletes nothing: the SQLite file stays as it is.
 */
import { createHash } from 'node:crypto';
import { sql } from 'kysely';
import type { Database } from '../tables.ts';
import { type CopiedRow, type CopiedTable, keyOf, nameOfRow, type RowKey } from './copied-tables.ts';
import { CopyProgress, type TableProgress } from './copy-progress.ts';
import type { SourceStore } from './source-store.ts';
import { readRows, refusedRow, writeRows } from './target-rows.ts';

export interface CopyNote {
  readonly step: 'copying' | 'verifying';
  readonly table: string;
  readonly rows: number;
  readonly of: number;
}

export interface StoreCopyParts {
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
export async function copyStore(parts: StoreCopyParts): Promise<readonly CopiedSummary[]> {
  const { source, target } = parts;
  const progress = new CopyProgress(target);
  await progress.begin(
    source.identity,
    source.tables.map(({ name }) => name),
  );
  for (const table of source.tables) await copyTable(parts, progress, table);
  const copied: CopiedSummary[] = [];
  for (const table of source.tables) copied.push(await verify(parts, table));
  // The planner of the target knows nothing of the rows yet.
  await sql`analyze`.execute(target);
  await progress.finish();
  return copied;
}

async function copyTable(parts: StoreCopyParts, progress: CopyProgress, table: CopiedTable): Promise<void> {
  const { source, progress: report } = parts;
  const of = source.count(table);
  let from = await progress.of(table.name);
  if (from.isDone) return;
  report({ step: 'copying', table: table.name, rows: from.rows, of });
  while (!from.isDone) {
    from = await copyBatch(parts, progress, table, from);
    report({ step: 'copying', table: table.name, rows: from.rows, of });
  }
}

/** @returns the progress after it; the table is done if no batch was left */
async function copyBatch(
  { source, target }: StoreCopyParts,
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
  { source, target, progress: report }: StoreCopyParts,
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
