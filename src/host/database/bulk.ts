/**
 * Bulk statements: one statement for many rows, which travel as one parameter.
 *
 * Deliveries are inserted, claimed and settled thousands of times a second. One statement for each
 * row costs more to build than to execute, and one long statement for all rows has a different text
 * each time. SQLite runs a prepared statement for each row inside one call; PostgreSQL gets one
 * statement that joins arrays of the values (`postgres/bulk-sql.ts`). See
 * docs/decisions/bulk-statements.md. Everywhere else a parameter is a plain value.
 */
import { CompiledQuery } from 'kysely';
import { EngineCommand } from './command.ts';
import type { Database } from './tables.ts';

/** What a column can hold. */
export type ColumnValue = string | number | null;

/** Type of a value in a bulk statement; PostgreSQL has to know it before it sees the value. */
export interface ValueType {
  readonly type: 'text' | 'bigint';
}
/** A text, or null. */
export const TEXT: ValueType = { type: 'text' };
/** A whole number, or null. */
export const WHOLE: ValueType = { type: 'bigint' };

/** Locks the selected rows of this table, and skips those that another node has locked. */
export class RowLock {
  readonly table: string;

  constructor(table: string) {
    this.table = table;
  }
}

type Part = string | ValueType | RowLock;

/** A statement with a place for each value of a row. Made by `bulk`. */
export class BulkStatement {
  readonly parts: readonly Part[];
  /** Types of the values, in order. */
  readonly types: readonly ValueType['type'][];
  /** Its text for engines that run it once for each row, with a `?` for each value. */
  readonly sql: string;
  /** Whether it selects rows, or returns those that it wrote. */
  readonly returnsRows: boolean;

  constructor(parts: readonly Part[]) {
    this.parts = parts;
    this.types = parts.flatMap((part) => (typeof part === 'object' && 'type' in part ? [part.type] : []));
    this.sql = this.text(
      () => '?',
      () => '',
    );
    this.returnsRows = /^\s*select\b|\breturning\b/.test(this.sql);
  }

  /** Its text. @param valueAt writes the value of this index @param locked writes a lock of rows */
  text(valueAt: (index: number) => string, locked: (table: string) => string): string {
    let index = 0;
    return this.parts
      .map((part) => {
        if (typeof part === 'string') return part;
        if (part instanceof RowLock) return locked(part.table);
        index += 1;
        return valueAt(index - 1);
      })
      .join('');
  }
}

/**
 * Makes a bulk statement: `bulk\`update t set a = ${WHOLE} where id = ${TEXT}\``. Numbers and
 * strings become part of its text, and so do other bulk statements.
 */
export function bulk(
  strings: TemplateStringsArray,
  ...holes: readonly (ValueType | RowLock | BulkStatement | number | string)[]
): BulkStatement {
  const parts = strings.flatMap((text, index): Part[] => {
    const hole = holes[index];
    if (hole === undefined) return [text];
    if (hole instanceof BulkStatement) return [text, ...hole.parts];
    return [text, typeof hole === 'object' ? hole : String(hole)];
  });
  return new BulkStatement(parts);
}

/** The command: a statement, and the values of each row in the order of its places. */
export class BulkRows extends EngineCommand {
  readonly statement: BulkStatement;
  readonly rows: readonly (readonly ColumnValue[])[];
  /** Whether the caller wants to know of each row whether it changed anything. */
  readonly wantsChanges: boolean;
  /** Number of changed rows for each run; filled in by the driver if wanted. */
  readonly changes: number[] = [];
  /**
   * Its rows, set by a driver that goes on before the server has answered: the next statement of
   * the transaction is sent behind this one. `changes` are filled in by then.
   */
  answer: Promise<readonly unknown[]> | undefined;

  constructor(
    statement: BulkStatement,
    rows: readonly (readonly ColumnValue[])[],
    { wantsChanges }: { readonly wantsChanges: boolean },
  ) {
    super();
    this.statement = statement;
    this.rows = rows;
    this.wantsChanges = wantsChanges;
  }
}

/**
 * The command: selects rows of a table for each row of values, and updates each row that was found.
 * An engine whose statements travel runs it as one. Otherwise it is a `BulkRows`, which selects.
 */
export class UpdateOfFound extends BulkRows {
  readonly update: BulkStatement;
  /** Values of the update: all but its last, which is the id of the row. */
  readonly values: readonly ColumnValue[];
  /** Whether the rows that were found are updated; set by the driver. */
  isUpdated = false;

  constructor(
    select: BulkStatement,
    rows: readonly (readonly ColumnValue[])[],
    update: BulkStatement,
    values: readonly ColumnValue[],
  ) {
    super(select, rows, { wantsChanges: false });
    this.update = update;
    this.values = values;
  }
}

/**
 * Selects rows for each row of values, and updates every row that was found once.
 *
 * @param select has the column `id`, and locks the rows
 * @param update ends with `where TABLE.id = ` and a place for the id, and names its table with each
 *   column that it reads
 * @param values of the places before the id, the same for all rows
 * @returns the rows as they were found, in the order of the values
 */
export async function updateFound<Row extends { readonly id: string }>(
  transaction: Database,
  [select, rows]: readonly [select: BulkStatement, rows: readonly (readonly ColumnValue[])[]],
  [update, values]: readonly [update: BulkStatement, values: readonly ColumnValue[]],
): Promise<Row[]> {
  if (rows.length === 0) return [];
  const command = new UpdateOfFound(select, rows, update, values);
  const found = await answerOf<Row>(transaction, command);
  if (command.isUpdated) return found;
  const ids = new Set(found.map(({ id }) => id));
  await runForEach(
    transaction,
    update,
    Array.from(ids, (id) => [...values, id]),
  );
  return found;
}

/**
 * Runs a statement for each row in the given transaction. A statement that writes must not write
 * one row of a table for two rows of values.
 *
 * Omit `returning` from statements that write: SQLite builds a temporary table for it at each run.
 *
 * @returns the rows returned by all runs; those of a `select` in the order of the runs
 */
export async function runForEach<Row = never>(
  transaction: Database,
  statement: BulkStatement,
  rows: readonly (readonly ColumnValue[])[],
): Promise<Row[]> {
  if (rows.length === 0) return [];
  const command = new BulkRows(statement, rows, { wantsChanges: false });
  return answerOf<Row>(transaction, command);
}

/**
 * Runs a statement that returns nothing for each row. @returns for each run, whether it changed a
 * row
 */
export async function changeForEach(
  transaction: Database,
  statement: BulkStatement,
  rows: readonly (readonly ColumnValue[])[],
): Promise<boolean[]> {
  if (rows.length === 0) return [];
  const command = new BulkRows(statement, rows, { wantsChanges: true });
  await answerOf(transaction, command);
  return command.changes.map((changed) => changed > 0);
}

async function answerOf<Row>(transaction: Database, command: BulkRows): Promise<Row[]> {
  const query = CompiledQuery.raw(command.statement.sql, [command]);
  const { rows } = await transaction.executeQuery<Row>(query);
  return command.answer === undefined ? rows : ((await command.answer) as Row[]);
}
