/**
 * Seals everything anew under the key that seals now, in the background, after a fresh key was put first in the ring.
 *
 * It looks for values that do not begin with that key's id, so it needs no notes of how far it came: whatever ended it, the
 * next start goes on. Batches are small and a transaction each, and a value is replaced only where it is still the one that
 * was read, so a change that comes in between wins. What cannot be opened is told once, left as it is, and stops nothing.
 */
import { sql } from 'kysely';
import type { Database } from '../../database/tables.ts';
import {
  byName,
  keyIdIn,
  keysInUse,
  type RowKey,
  SEALED_COLUMNS,
  type SealedColumn,
} from './sealed-columns.ts';
import type { Vault } from './vault.ts';

/** Values in one transaction: all who change something wait for it. */
const BATCH = 50;
/** Values after which the operator is told how far it has come; of each batch only whoever wants to know it all. */
const TELL_EVERY = 1_000;

/** What the operator is told. */
export interface ResealNote {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly message: string;
  /** Names and numbers, never values. */
  readonly details: Readonly<Record<string, unknown>>;
}

export interface ResealParts {
  readonly database: Database;
  readonly vault: Vault;
  tell(note: ResealNote): void;
}

interface SealedValue {
  readonly row: RowKey;
  readonly sealed: string;
}

export class Reseal {
  readonly #parts: ResealParts;
  #stopping = false;
  #running: Promise<void> | undefined;

  constructor(parts: ResealParts) {
    this.#parts = parts;
  }

  /** Begins; at once over where there is nothing to do. Never rejects: what goes wrong is told. */
  start(): Promise<void> {
    this.#running ??= this.#run().catch((cause: unknown) => {
      // The next start goes on; until then both keys are needed, as they were.
      const message = 'sealing anew has ended early; the next start goes on with it';
      this.#tell('error', message, { err: cause });
    });
    return this.#running;
  }

  /** Ends after the batch that is under way. */
  async stop(): Promise<void> {
    this.#stopping = true;
    await this.#running;
  }

  async #run(): Promise<void> {
    const { database, vault } = this.#parts;
    // A ring of one key opens nothing that another one has sealed.
    if (vault.keys.length === 1) return;
    const before = await keysInUse(database);
    const older = before.filter(({ keyId }) => keyId !== vault.sealingKey);
    const values = older.reduce((sum, use) => sum + use.values, 0);
    if (values > 0) {
      this.#tell('info', 'sealing anew under another key', { key: vault.sealingKey, values, from: older });
    }
    let done = 0;
    for (const column of SEALED_COLUMNS) {
      for await (const renewed of this.#column(column)) {
        done += renewed;
        const level = done % TELL_EVERY < renewed ? 'info' : 'debug';
        if (renewed > 0) this.#tell(level, 'values are sealed anew', { key: vault.sealingKey, done, values });
        // Calls and changes have their turn between two batches.
        await new Promise(setImmediate);
        if (this.#stopping) return;
      }
    }
    if (done > 0) this.#tell('info', 'all is sealed anew that can be', { key: vault.sealingKey, done });
    const needed = (await keysInUse(database)).map(({ keyId }) => keyId);
    for (const keyId of vault.keys) {
      if (keyId === vault.sealingKey || needed.includes(keyId)) continue;
      const message = `key ${keyId} is no longer needed by this store; backups from before may need it`;
      this.#tell('info', message, { key: keyId });
    }
  }

  /** Goes once through a column. Yields, for each batch, how many values were sealed anew. */
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

  /** The next values that another key has sealed, in the order of their rows. */
  async #older({ table, column, key }: SealedColumn, after: RowKey | undefined): Promise<SealedValue[]> {
    const { database, vault } = this.#parts;
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
      const anew = this.#renewed(column, row, sealed);
      return anew === undefined ? [] : [{ row, sealed, anew }];
    });
    if (renewed.length === 0) return 0;
    return this.#parts.database.transaction().execute(async (transaction) => {
      let replaced = 0;
      for (const { row, sealed, anew } of renewed) {
        let update = byName(transaction)
          .updateTable(column.table)
          .set({ [column.column]: anew })
          // Whoever has changed it meanwhile has sealed it under the new key, and must not find the old value back.
          .where(column.column, '=', sealed);
        for (const [index, name] of column.key.entries()) update = update.where(name, '=', row[index] ?? '');
        const { numUpdatedRows } = await update.executeTakeFirstOrThrow();
        replaced += Number(numUpdatedRows);
      }
      return replaced;
    });
  }

  /** @returns undefined for what cannot be opened */
  #renewed(column: SealedColumn, row: RowKey, sealed: string): string | undefined {
    const { vault } = this.#parts;
    const place = column.place(row);
    try {
      const text = vault.open(place, sealed);
      return vault.seal(place, column.renewText?.(vault, text) ?? text);
    } catch {
      this.#tell('warn', 'a sealed value cannot be opened, and stays as it is', { place: place.join('/') });
      return undefined;
    }
  }

  #tell(level: ResealNote['level'], message: string, details: ResealNote['details']): void {
    this.#parts.tell({ level, message, details });
  }
}
