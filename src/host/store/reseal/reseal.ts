/**
 * Key rotation: reseals all values under the first key of the ring, in the background.
 *
 * It searches for values that do not begin with that key's id, so it keeps no record of its
 * progress: after any interruption the next start continues. Each small batch is a transaction, and
 * a value is replaced only if it is unchanged since it was read, so a concurrent change wins. A
 * value that cannot be opened is reported once and left as it is.
 */
import { sql } from 'kysely';
import type { GoesOn } from '../../database/batches.ts';
import type { Engine } from '../../database/engine.ts';
import type { Database } from '../../database/tables.ts';
import { inTransaction } from '../../database/transaction.ts';
import type { Vault } from '../vault/vault.ts';
import {
  byName,
  keyIdIn,
  keysInUse,
  type RowKey,
  SEALED_COLUMNS,
  type SealedColumn,
} from './sealed-columns.ts';

/** Values in one transaction: other writers wait for it. */
const BATCH = 50;
/** Progress is logged at level info after so many values, and at level debug after each batch. */
const REPORT_EVERY = 1_000;

/** A note for the operator. */
export interface ResealNote {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly message: string;
  /** Names and numbers, never values. */
  readonly details: Readonly<Record<string, unknown>>;
}

export interface ResealDeps {
  readonly database: Database;
  readonly vault: Vault;
  /** One node at a time reseals. */
  readonly engine: Pick<Engine, 'unlessElsewhere'>;
  /** Receives notes for the operator. */
  report(note: ResealNote): void;
}

interface SealedValue {
  readonly row: RowKey;
  readonly sealed: string;
}

export class Reseal {
  readonly #deps: ResealDeps;
  #stopping = false;
  #running: Promise<void> | undefined;

  constructor(deps: ResealDeps) {
    this.#deps = deps;
  }

  /** Starts; ends at once if there is nothing to do. Never rejects: failures are reported. */
  start(): Promise<void> {
    this.#running ??= this.#deps.engine
      .unlessElsewhere('resealing', (goesOn) => this.#run(goesOn))
      .then(() => undefined)
      .catch((cause: unknown) => {
        // The next start continues. Until then the older keys are still needed.
        const message = 'resealing ended early; the next start continues with it';
        this.#report('error', message, { err: cause });
      });
    return this.#running;
  }

  /** Ends after the current batch. */
  async stop(): Promise<void> {
    this.#stopping = true;
    await this.#running;
  }

  async #run(goesOn: GoesOn): Promise<void> {
    const { database, vault } = this.#deps;
    // A ring of one key cannot open values sealed with another one.
    if (vault.keys.length === 1) return;
    const before = await keysInUse(database);
    const older = before.filter(({ keyId }) => keyId !== vault.sealingKey);
    const values = older.reduce((sum, use) => sum + use.values, 0);
    if (values > 0) {
      this.#report('info', 'resealing under another key', { key: vault.sealingKey, values, from: older });
    }
    let done = 0;
    for (const column of SEALED_COLUMNS) {
      for await (const renewed of this.#column(column)) {
        done += renewed;
        const level = done % REPORT_EVERY < renewed ? 'info' : 'debug';
        if (renewed > 0) this.#report(level, 'values are resealed', { key: vault.sealingKey, done, values });
        // Between two batches the event loop turns.
        await new Promise(setImmediate);
        if (this.#stopping || !(await goesOn())) return;
      }
    }
    if (done > 0)
      this.#report('info', 'all values that can be opened are resealed', { key: vault.sealingKey, done });
    const needed = (await keysInUse(database)).map(({ keyId }) => keyId);
    for (const keyId of vault.keys) {
      if (keyId === vault.sealingKey || needed.includes(keyId)) continue;
      const message = `key ${keyId} is no longer needed by this store; older backups may need it`;
      this.#report('info', message, { key: keyId });
    }
  }

  /** Reseals one column. Yields the number of resealed values for each batch. */
  async *#column(column: SealedColumn): AsyncGenerator<number> {
    let after: RowKey | undefined;
    for (;;) {
      const batch = await this.#older(column, after);
      const last = batch.at(-1);
      if (last === undefined) return;
      after = last.row;
      yield await this.#replace(column, batch);
    }
  }

  /** The next values sealed with another key, in the order of their rows. */
  async #older({ table, column, key }: SealedColumn, after: RowKey | undefined): Promise<SealedValue[]> {
    const { database, vault } = this.#deps;
    let query = byName(database)
      .selectFrom(table)
      .select([...key, column])
      .where(column, 'is not', null)
      .where(column, '<>', '')
      .where(keyIdIn(column), '<>', vault.sealingKey);
    if (after !== undefined) {
      const columns = sql.join(key.map((name) => sql.ref(name)));
      query = query.where(sql<boolean>`(${columns}) > (${sql.join(after)})`);
    }
    for (const name of key) query = query.orderBy(name);
    const rows = await query.limit(BATCH).execute();
    return rows.map((row) => ({
      row: key.map((name) => row[name] ?? ''),
      sealed: String(row[column]),
    }));
  }

  async #replace(column: SealedColumn, batch: readonly SealedValue[]): Promise<number> {
    const renewed = batch.flatMap(({ row, sealed }) => {
      const resealed = this.#resealed(column, row, sealed);
      return resealed === undefined ? [] : [{ row, sealed, resealed }];
    });
    if (renewed.length === 0) return 0;
    return inTransaction(this.#deps.database, async (transaction) => {
      let replaced = 0;
      for (const { row, sealed, resealed } of renewed) {
        let update = byName(transaction)
          .updateTable(column.table)
          .set({ [column.column]: resealed })
          // A value changed since it was read is sealed under the new key already, and must not be
          // overwritten.
          .where(column.column, '=', sealed);
        for (const [index, name] of column.key.entries()) update = update.where(name, '=', row[index] ?? '');
        const { numUpdatedRows } = await update.executeTakeFirstOrThrow();
        replaced += Number(numUpdatedRows);
      }
      return replaced;
    });
  }

  /** @returns undefined if the value cannot be opened */
  #resealed(column: SealedColumn, row: RowKey, sealed: string): string | undefined {
    const { vault } = this.#deps;
    const place = column.place(row);
    try {
      const text = vault.open(place, sealed);
      return vault.seal(place, column.renewText?.(vault, text) ?? text);
    } catch {
      this.#report('warn', 'a sealed value cannot be opened, and stays as it is', { place: place.join('/') });
      return undefined;
    }
  }

  #report(level: ResealNote['level'], message: string, details: ResealNote['details']): void {
    this.#deps.report({ level, message, details });
  }
}
