/**
 * Kysely's driver for PostgreSQL over the connections of a pool.
 *
 * Connections are pipelined: the start of a transaction travels with its first statement, and the
 * commit with the writes that nothing waits for. A batch of rows is one prepared statement
 * (`bulk-sql.ts`). Errors are translated (`postgres-errors.ts`), and a connection that is lost or
 * late is not used again.
 */
import {
  AbortedTransactionError,
  type CompiledQuery,
  type DatabaseConnection,
  type Driver,
  type QueryResult,
} from 'kysely';
import type { QueryResult as PgResult, Pool, PoolClient, QueryConfig } from 'pg';
import type { Availability } from '../availability.ts';
import { BulkRows, type BulkStatement, type ColumnValue, UpdateOfFound, type ValueType } from '../bulk.ts';
import { EngineCommand } from '../command.ts';
import { LockNames } from '../locks.ts';
import { SendNotice } from '../notices.ts';
import { DatabaseUnavailable } from '../unavailable.ts';
import { bulkSql, updateOfFoundSql } from './bulk-sql.ts';
import { LOCK, NOTIFY, slotsOf } from './node-tables.ts';
import { holdWrites } from './postgres-clients.ts';
import { endsConnection, translated } from './postgres-errors.ts';

/**
 * Other isolation levels may be the default of the server. Everything here is written for this one,
 * with row locks, locks on names and fences.
 */
const BEGIN = 'begin isolation level read committed';
/**
 * Writes of a transaction that are on their way at once without being waited for: their rows are in
 * memory.
 */
const UNAWAITED_MAX = 4;

export class PostgresDriver implements Driver {
  readonly #pool: Pool;
  /** Marks the notices of this node. */
  readonly #node: string;
  readonly #availability: Availability | undefined;

  constructor(pool: Pool, node: string, availability: Availability | undefined) {
    this.#pool = pool;
    this.#node = node;
    this.#availability = availability;
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<PostgresConnection> {
    const cut = this.#availability?.cut;
    // It would wait for an answer, and its caller with it.
    if (cut !== undefined) throw new DatabaseUnavailable(cut);
    try {
      return new PostgresConnection(await this.#pool.connect(), this.#node, this.#availability);
    } catch (cause) {
      throw noted(translated(cause), this.#availability);
    }
  }

  async beginTransaction(connection: DatabaseConnection): Promise<void> {
    (connection as PostgresConnection).begin();
  }

  async commitTransaction(connection: DatabaseConnection): Promise<void> {
    await (connection as PostgresConnection).commit();
  }

  async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    await (connection as PostgresConnection).rollback();
  }

  async releaseConnection(connection: DatabaseConnection): Promise<void> {
    (connection as PostgresConnection).release();
  }

  async destroy(): Promise<void> {
    await this.#pool.end();
  }
}

class PostgresConnection implements DatabaseConnection {
  readonly #client: PoolClient;
  readonly #node: string;
  readonly #availability: Availability | undefined;
  #isLost = false;
  #isInTransaction = false;
  /** Whether the statements of this turn are held back. */
  #isGathering = false;
  /** Writes of this transaction that nothing waited for. None of them rejects. */
  #unawaited: Promise<unknown>[] = [];
  /** Error of the first statement of this transaction that failed. */
  #failure: { readonly error: unknown } | undefined;

  constructor(client: PoolClient, node: string, availability: Availability | undefined) {
    this.#client = client;
    this.#node = node;
    this.#availability = availability;
  }

  /** Sends the start of a transaction, without waiting: its first statement follows at once. */
  begin(): void {
    this.#isInTransaction = true;
    // A failure fails the next statement, too.
    this.#send({ text: BEGIN }).catch(() => undefined);
  }

  async commit(): Promise<void> {
    const { command } = await this.#send({ text: 'commit' });
    // A statement had failed that nothing waited for, or whose error was ignored.
    if (this.#failure !== undefined) throw this.#failure.error;
    if (command === 'ROLLBACK') throw new AbortedTransactionError();
    this.#availability?.committed();
  }

  /** Never rejects: the error that led to it is the one to report. */
  async rollback(): Promise<void> {
    if (this.#isLost) return;
    await this.#send({ text: 'rollback' }).catch(() => (this.#isLost = true));
  }

  release(): void {
    this.#client.release(this.#isLost);
  }

  async executeQuery<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
    const [first] = query.parameters;
    if (!(first instanceof BulkRows && this.#isInTransaction)) return this.#answer<Row>(query);
    // Kysely lets the next statement of a transaction go once this call returns.
    first.answer = this.#answer<Row>(query).then(({ rows }) => rows);
    first.answer.catch(() => undefined);
    return { rows: [] };
  }

  async #answer<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
    try {
      return await this.#execute<Row>(query);
    } catch (error) {
      // After a failure every other statement of the transaction fails, and does not say why. The
      // server answers in order: the first error is known by now.
      throw this.#failure === undefined ? error : this.#failure.error;
    }
  }

  async #execute<Row>({ sql, parameters }: CompiledQuery): Promise<QueryResult<Row>> {
    const [first] = parameters;
    if (first instanceof EngineCommand) return this.#carryOut<Row>(first);
    const { command, rowCount, rows } = await this.#send({ text: sql, values: [...parameters] });
    const isWrite = command === 'INSERT' || command === 'UPDATE' || command === 'DELETE';
    return { rows, ...(isWrite && { numAffectedRows: BigInt(rowCount ?? 0) }) };
  }

  /** No query of the store is streamed. */
  // biome-ignore lint/correctness/useYield: the interface asks for a generator
  async *streamQuery(): AsyncIterableIterator<never> {
    throw new Error('Queries are not streamed.');
  }

  async #carryOut<Row>(command: EngineCommand): Promise<QueryResult<Row>> {
    if (command instanceof UpdateOfFound) return { rows: await this.#updateFound<Row>(command) };
    if (command instanceof BulkRows) return { rows: await this.#bulk<Row>(command) };
    if (command instanceof LockNames) {
      const slots = slotsOf(command.names);
      const { rows } = await this.#prepared(LOCK, [`{${slots.join()}}`]);
      if (rows.length !== slots.length) throw new Error('The table name_locks lacks rows.');
    } else if (command instanceof SendNotice) {
      const payload = JSON.stringify({ ...command.notice, from: this.#node });
      await this.#prepared(NOTIFY, [payload]);
    } else throw new Error(`PostgreSQL does not know the command ${command.constructor.name}.`);
    return { rows: [] };
  }

  async #bulk<Row>({ statement, rows, wantsChanges, changes }: BulkRows): Promise<Row[]> {
    const sql = bulkSql(statement);
    const [first] = rows;
    const isOne = first !== undefined && rows.length === 1;
    const text = isOne ? sql.forOne : wantsChanges ? sql.forChanges : sql.forMany;
    const sent = this.#prepared(text, isOne ? [...first] : columnsOf(statement, rows));
    if (!wantsChanges && !statement.returnsRows && this.#isInTransaction) {
      await this.#goOn(sent);
      return [];
    }
    const { rows: found, rowCount } = await sent;
    if (!wantsChanges) return found;
    if (isOne) changes.push(rowCount ?? 0);
    else {
      const numbers = new Set(found.map((row) => Number(Object.values(row)[0])));
      for (const index of rows.keys()) changes.push(numbers.has(index + 1) ? 1 : 0);
    }
    return [];
  }

  async #updateFound<Row>(command: UpdateOfFound): Promise<Row[]> {
    const { statement, rows, update, values } = command;
    const text = updateOfFoundSql(statement, update);
    const found = await this.#prepared(text, [...columnsOf(statement, rows), ...values]);
    command.isUpdated = true;
    return found.rows;
  }

  #prepared(text: string, values: (ColumnValue | Buffer)[]) {
    return this.#send({ name: nameOf(text), text, values });
  }

  /**
   * Does not wait for a write whose result no caller needs: the next statement or the commit
   * follows at once, and fails if it fails.
   */
  async #goOn(sent: Promise<unknown>): Promise<void> {
    this.#unawaited.push(sent.catch(() => undefined));
    if (this.#unawaited.length >= UNAWAITED_MAX) await this.#unawaited.shift();
  }

  /** Statements of one turn of the event loop leave in one write: each wakes the server. */
  #gather(): void {
    if (this.#isGathering) return;
    this.#isGathering = true;
    const release = holdWrites(this.#client);
    process.nextTick(() => {
      this.#isGathering = false;
      release();
    });
  }

  // biome-ignore lint/suspicious/noExplicitAny: rows have the columns that the statement selects
  async #send(query: QueryConfig): Promise<PgResult<any>> {
    try {
      this.#gather();
      const result = await this.#client.query(query);
      this.#availability?.answered();
      return result;
    } catch (cause) {
      const error = noted(translated(cause), this.#availability);
      this.#isLost ||= endsConnection(error);
      if (this.#isInTransaction) this.#failure ??= { error };
      throw error;
    }
  }
}

const columnsOf = ({ types }: BulkStatement, rows: BulkRows['rows']): Buffer[] =>
  types.map((type, index) =>
    arrayParameter(
      type,
      rows.map((row) => row[index] ?? null),
    ),
  );

/** Notes a failure of the database. @returns the error */
function noted(error: unknown, availability: Availability | undefined): unknown {
  if (error instanceof DatabaseUnavailable) availability?.failed(error.cause);
  return error;
}

const NAMES = new Map<string, string>();

/** Name of a prepared statement: short, because the server cuts it off after 63 bytes. */
function nameOf(text: string): string {
  const known = NAMES.get(text);
  if (known !== undefined) return known;
  const name = `annex_${NAMES.size + 1}`;
  NAMES.set(text, name);
  return name;
}

/** Object ids of the types of elements. */
const ELEMENTS: Readonly<Record<ValueType['type'], number>> = { text: 25, bigint: 20 };
/** Number of dimensions, a flag, the type, and the size and first index of the only dimension. */
const HEADER_BYTES = 20;
const LENGTH_BYTES = 4;
const BIGINT_BYTES = 8;
/** In place of the length of an element that is null. */
const NULL = -1;
const TWO_TO_32 = 2 ** 32;

/**
 * Writes the values of a column as an array in the binary format of PostgreSQL.
 *
 * Payloads are texts full of quotes: as the text of an array each quote is escaped here and parsed
 * there, character by character. In the binary format a text is its length and its bytes. See
 * `array_recv` in the source of PostgreSQL; the format has been the same since version 7.4.
 *
 * @throws TypeError for a value that is not of the type
 */
function arrayParameter(type: ValueType['type'], values: readonly ColumnValue[]): Buffer {
  const bytes = Buffer.allocUnsafe(HEADER_BYTES + sizeOf(type, values));
  const hasNulls = values.includes(null) ? 1 : 0;
  let at = 0;
  for (const word of [1, hasNulls, ELEMENTS[type], values.length, 1]) at = bytes.writeInt32BE(word, at);
  for (const value of values) {
    if (value === null) at = bytes.writeInt32BE(NULL, at);
    else if (type === 'bigint') at = writeWhole(bytes, value, at);
    else at = writeText(bytes, String(value), at);
  }
  return bytes;
}

function sizeOf(type: ValueType['type'], values: readonly ColumnValue[]): number {
  let size = values.length * LENGTH_BYTES;
  for (const value of values)
    if (value !== null) size += type === 'bigint' ? BIGINT_BYTES : Buffer.byteLength(String(value));
  return size;
}

function writeWhole(bytes: Buffer, value: string | number, at: number): number {
  if (!Number.isSafeInteger(value)) throw new TypeError(`A whole number of a statement is ${typeof value}.`);
  const whole = value as number;
  const high = Math.floor(whole / TWO_TO_32);
  const after = bytes.writeInt32BE(BIGINT_BYTES, at);
  return bytes.writeUInt32BE(whole - high * TWO_TO_32, bytes.writeInt32BE(high, after));
}

function writeText(bytes: Buffer, text: string, at: number): number {
  const start = at + LENGTH_BYTES;
  const length = bytes.write(text, start);
  bytes.writeInt32BE(length, at);
  return start + length;
}
