/**
 * Kysely's driver for PostgreSQL over the connections of a pool.
 *
 * Connections are pipelined: the start of a transaction travels with its first statement, and a
 * batch of rows is one prepared statement (`bulk-sql.ts`). Errors are translated
 * (`postgres-errors.ts`), and a connection that is lost or late is not used again.
 */
import {
  AbortedTransactionError,
  type CompiledQuery,
  type DatabaseConnection,
  type Driver,
  type QueryResult,
} from 'kysely';
import type { QueryResult as PgResult, Pool, PoolClient, QueryConfig } from 'pg';
import { BulkRows, type ColumnValue } from '../bulk.ts';
import { EngineCommand } from '../command.ts';
import { LockNames } from '../locks.ts';
import { SendNotice } from '../notices.ts';
import { DatabaseUnavailable } from '../unavailable.ts';
import type { Availability } from './availability.ts';
import { bulkSql } from './bulk-sql.ts';
import { endsConnection, translated } from './postgres-errors.ts';

/** Changes of one deployment; a database has one. */
export const CHANNEL = 'annex_changes';
/**
 * Other isolation levels may be the default of the server. Everything here is written for this one,
 * with row locks, locks on names and fences.
 */
const BEGIN = 'begin isolation level read committed';
const LOCK = 'select pg_advisory_xact_lock(hashtextextended($1, 0))';

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
    // It would wait for an answer, and with it whoever asks.
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

  constructor(client: PoolClient, node: string, availability: Availability | undefined) {
    this.#client = client;
    this.#node = node;
    this.#availability = availability;
  }

  /** Sends the start of a transaction, without waiting: its first statement follows at once. */
  begin(): void {
    // A failure fails the next statement, too.
    this.#send({ text: BEGIN }).catch(() => undefined);
  }

  async commit(): Promise<void> {
    const { command } = await this.#send({ text: 'commit' });
    // A statement had failed, and its error was ignored.
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

  async executeQuery<Row>({ sql, parameters }: CompiledQuery): Promise<QueryResult<Row>> {
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
    if (command instanceof BulkRows) return { rows: await this.#bulk<Row>(command) };
    if (command instanceof LockNames)
      for (const name of command.names) await this.#send({ name: LOCK, text: LOCK, values: [name] });
    else if (command instanceof SendNotice) {
      const payload = JSON.stringify({ ...command.notice, from: this.#node });
      await this.#send({ text: 'select pg_notify($1, $2)', values: [CHANNEL, payload] });
    } else throw new Error(`PostgreSQL does not know the command ${command.constructor.name}.`);
    return { rows: [] };
  }

  async #bulk<Row>({ statement, rows, wantsChanges, changes }: BulkRows): Promise<Row[]> {
    const sql = bulkSql(statement);
    const [first] = rows;
    if (first !== undefined && rows.length === 1) {
      const one = await this.#prepared(sql.forOne, [...first]);
      if (wantsChanges) changes.push(one.rowCount ?? 0);
      return one.rows;
    }
    const columns = statement.types.map((_, index) => rows.map((row) => row[index] ?? null));
    if (!wantsChanges) return (await this.#prepared(sql.forMany, columns)).rows;
    const changed = await this.#prepared(sql.forChanges, columns);
    const numbers = new Set(changed.rows.map((row) => Number(Object.values(row)[0])));
    for (const index of rows.keys()) changes.push(numbers.has(index + 1) ? 1 : 0);
    return [];
  }

  #prepared(text: string, values: (ColumnValue | ColumnValue[])[]) {
    return this.#send({ name: nameOf(text), text, values });
  }

  // biome-ignore lint/suspicious/noExplicitAny: rows have the columns that the statement selects
  async #send(query: QueryConfig): Promise<PgResult<any>> {
    try {
      const result = await this.#client.query(query);
      this.#availability?.answered();
      return result;
    } catch (cause) {
      const error = noted(translated(cause), this.#availability);
      this.#isLost ||= endsConnection(error);
      throw error;
    }
  }
}

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
