/**
 * The source of a copy: a SQLite file, opened for reading alone. Nothing writes it: the lock of the
 * folder keeps services out, and its bytes are the same afterwards.
 *
 * Its schema has to be the newest one. It is not migrated here: the file is what remains if the
 * move is given up, and an older Annex could not open it any more.
 */
import { createHash } from 'node:crypto';
import { createReadStream, existsSync } from 'node:fs';
import { DatabaseSync, type SQLOutputValue, type StatementSync } from 'node:sqlite';
import { TEXT } from '../bulk.ts';
import { NewerSchema } from '../database.ts';
import { isEarlier, MIGRATIONS } from '../migrations.ts';
import { newerAnnex } from '../sqlite/annex-version.ts';
import { checkWal, type WalNote } from '../sqlite/files/damaged-wal.ts';
import { unusableDatabase } from '../sqlite/files/data-folder.ts';
import { BUSY_TIMEOUT_MS, type FolderLock, inUse, isBusy, lockFolder } from '../sqlite/files/folder-lock.ts';
import {
  type CopiedRow,
  type CopiedTable,
  copiedTables,
  keyOf,
  nameOfRow,
  type RowKey,
} from './copied-tables.ts';

/**
 * Bounds of a batch. Characters, because a version holds a bundle of megabytes and an event some
 * hundred bytes; the row that exceeds them is the last one of its batch.
 */
const BATCH_CHARS = 4 * 1024 * 1024;
const BATCH_ROWS = 2_000;

export interface Batch {
  /** At least one. */
  readonly rows: readonly CopiedRow[];
  /** Key of the last row. */
  readonly last: RowKey;
  /** Rows with a character that PostgreSQL cannot hold, which was replaced. */
  readonly changed: readonly CopiedRow[];
}

export interface SourceOptions {
  /** Version of this Annex, for messages. */
  readonly version?: string;
  /** Receives notes for the operator about the write-ahead log. */
  readonly note?: (note: WalNote) => void;
}

export class SourceStore {
  readonly tables: readonly CopiedTable[];
  /** The same as long as nothing has written the file. */
  readonly identity: string;
  readonly #database: DatabaseSync;
  readonly #lock: FolderLock;
  readonly #statements = new Map<string, StatementSync>();

  private constructor(database: DatabaseSync, lock: FolderLock, identity: string) {
    this.#database = database;
    this.#lock = lock;
    this.identity = identity;
    this.tables = copiedTables(database);
  }

  /**
   * @param file path of the database file
   * @throws if a service runs on it, or it is damaged, or its schema is not that of this version
   */
  static async open(file: string, { version, note = () => {} }: SourceOptions = {}): Promise<SourceStore> {
    if (!existsSync(file))
      throw new Error(`${file} does not exist: --data names another folder, or there is no store.`);
    let lock: FolderLock | undefined;
    let database: DatabaseSync | undefined;
    try {
      lock = lockFolder(file);
      checkWal({ database: file, acceptLoss: 'never', now: 0, note });
      // Before SQLite opens the file: closing it would drop the locks of this process on it.
      const identity = await digestOf(file);
      database = new DatabaseSync(file, { readOnly: true, timeout: BUSY_TIMEOUT_MS });
      // One snapshot, whatever an operator does to the file by hand meanwhile.
      database.exec('begin');
      requireSchema(file, database);
      return new SourceStore(database, lock, identity);
    } catch (cause) {
      database?.close();
      lock?.release();
      if (isBusy(cause)) throw inUse(file, cause);
      throw newerAnnex(file, cause, version) ?? unusableDatabase(file, cause);
    }
  }

  /** Number of rows. */
  count({ name }: CopiedTable): number {
    return Number(this.#database.prepare(`select count(*) as count from "${name}"`).get()?.['count'] ?? 0);
  }

  /**
   * The next rows in the order of the primary key.
   *
   * @param after key of the row to begin behind; from the first row if absent
   * @returns undefined behind the last row
   * @throws if a key holds U+0000
   */
  next(table: CopiedTable, after?: RowKey): Batch | undefined {
    const rows: CopiedRow[] = [];
    const changed: CopiedRow[] = [];
    let chars = 0;
    const statement = this.#statement(table, after !== undefined);
    // Each row is an array, which the types of Node do not know.
    const found = statement.iterate(...parameters(table, after)) as Iterable<unknown>;
    for (const values of found as Iterable<SQLOutputValue[]>) {
      const { row, isChanged } = copied(table, values);
      rows.push(row);
      if (isChanged) changed.push(row);
      for (const value of row) chars += value?.length ?? 0;
      if (chars >= BATCH_CHARS) break;
    }
    const end = rows.at(-1);
    return end === undefined ? undefined : { rows, changed, last: keyOf(table, end) };
  }

  close(): void {
    if (!this.#database.isOpen) return;
    this.#database.close();
    this.#lock.release();
  }

  #statement({ name, columns, key }: CopiedTable, isBehind: boolean): StatementSync {
    const id = `${name} ${isBehind}`;
    const known = this.#statements.get(id);
    if (known !== undefined) return known;
    const list = (names: readonly string[]) => names.map((column) => `"${column}"`).join(', ');
    const behind = isBehind ? `where (${list(key)}) > (${key.map(() => '?').join(', ')})` : '';
    const all = list(columns.map((column) => column.name));
    const statement = this.#database.prepare(
      `select ${all} from "${name}" ${behind} order by ${list(key)} limit ${BATCH_ROWS}`,
    );
    statement.setReadBigInts(true);
    statement.setReturnArrays(true);
    this.#statements.set(id, statement);
    return statement;
  }
}

const parameters = ({ columns, key }: CopiedTable, after: RowKey = []): (string | bigint | null)[] =>
  after.map((value, index) => {
    const column = columns.find(({ name }) => name === key[index]);
    return value === null || column?.type === TEXT ? value : BigInt(value);
  });

/**
 * PostgreSQL cannot hold U+0000 in a text. The service writes U+FFFD in its place today, also on
 * SQLite; rows of earlier versions may still have it. In a key it is refused: the rows would have
 * another order on the two sides, and one may be the other's namesake.
 */
function copied(
  table: CopiedTable,
  values: readonly SQLOutputValue[],
): { readonly row: CopiedRow; readonly isChanged: boolean } {
  const row = values.map((value) => (value === null ? null : String(value).replaceAll('\0', '\u{fffd}')));
  if (values.some((value) => value instanceof Uint8Array))
    throw new Error(
      `${nameOfRow(table, row)} holds bytes, which no column of Annex does: something else has written it.`,
    );
  const changed = values.map((value) => typeof value === 'string' && value.includes('\0'));
  if (table.columns.some(({ name }, index) => changed[index] === true && table.key.includes(name)))
    throw new Error(
      `PostgreSQL cannot hold ${nameOfRow(table, row)}: its key has U+0000, shown here as U+FFFD. ` +
        'Start the service on SQLite, remove what the key names, stop the service, and copy again.',
    );
  return { row, isChanged: changed.includes(true) };
}

/** SHA-256 of the database and its log, in hexadecimal. */
async function digestOf(file: string): Promise<string> {
  const digest = createHash('sha256');
  for (const path of [file, `${file}-wal`])
    if (existsSync(path)) for await (const chunk of createReadStream(path)) digest.update(chunk);
  return digest.digest('hex');
}

function requireSchema(file: string, database: DatabaseSync): void {
  const isMade = database.prepare("select 1 from sqlite_schema where name = 'kysely_migration'").get();
  const applied = isMade === undefined ? [] : database.prepare('select name from kysely_migration').all();
  const names = applied.map(({ name }) => String(name));
  const unknown = names.filter((name) => !(name in MIGRATIONS) && !isEarlier(name));
  if (unknown.length > 0) throw new NewerSchema(unknown);
  const missing = Object.keys(MIGRATIONS).filter((name) => !names.includes(name));
  if (missing.length === 0) return;
  throw new Error(
    names.length === 0
      ? `${file} holds no store: no service has ever started on it. Name the data folder of the service (--data).`
      : `${file} has the schema of an older Annex: it lacks ${missing.join(', ')}. Make a backup, start the service of this ` +
          'version once on the folder, stop it, and copy again. Nothing was changed.',
  );
}
