/**
 * Values that code of integrations keeps (docs/contract/storage.md), in areas with a quota each.
 *
 * Changes of all areas that are asked for at once are one batch in a transaction that other writers
 * share: one read of the entries and one write of each, however many changes one entry gets. A
 * transaction locks its areas, so a condition, an increment and the quota hold on all nodes. A
 * change is stored when its promise resolves, and every read asks the database.
 */
import { AnnexError } from '../../../errors.ts';
import type { LimitMet, Limits } from '../../../limits.ts';
import type { Actor } from '../../../model/actor.ts';
import { type TargetName, wholeInstallation } from '../../../model/installation.ts';
import { limitError } from '../../../model/limit-met.ts';
import { RateLimit } from '../../../model/rate-limit.ts';
import type { StorageArea, StoredKind } from '../../../model/stored-value.ts';
import { unknownInstallation, unknownIntegration } from '../../../model/unknown-name-errors.ts';
import { type GoesOn, inBatches, ROWS_PER_BATCH } from '../../database/batches.ts';
import { Gathered, type GroupCommit } from '../../database/group-commit.ts';
import { lock } from '../../database/locks.ts';
import type { Page, PageRequest } from '../../database/page.ts';
import type { Sequence } from '../../database/sequence.ts';
import type { Database } from '../../database/tables.ts';
import { insertAudit } from '../audit-rows.ts';
import type { Vault } from '../vault/vault.ts';
import {
  type AreaRow,
  areaOf,
  deleteEntries,
  deleteExpired,
  type EntryRow,
  expiredAreas,
  insertAreas,
  type ListedEntry,
  listEntries,
  putEntries,
  readAreas,
  readEntries,
  storedValuePlace,
  updateAreas,
} from './storage-rows.ts';

/** Bytes of values in one batch: sealing them, and writing them, blocks the event loop. */
const BATCH_BYTES = 1024 * 1024;
const MINUTE_MS = 60_000;
/** What a change weighs beside its value. */
const CHANGE_BYTES = 2 * 1024;
/** Entries that are read at once. */
const READS_PER_STATEMENT = 64;

export type StorageLimits = Pick<Limits, 'storageBytes' | 'storageKeys'>;

/** A value as it is kept: JSON text, or bytes in base64. */
export interface StoredText {
  readonly kind: StoredKind;
  readonly text: string;
}

export interface StoredValue extends StoredText {
  readonly version: number;
  /** Milliseconds since 1970. */
  readonly expiresAt?: number;
}

/** One change of one key. `ifVersion` is the version that it needs; 0 if there must be none. */
export type StorageChange =
  | {
      readonly do: 'put';
      readonly value: StoredText;
      /** Of the value itself. */
      readonly valueBytes: number;
      readonly expiresInMs?: number | undefined;
      readonly ifVersion?: number | undefined;
    }
  | { readonly do: 'delete'; readonly ifVersion?: number | undefined }
  | { readonly do: 'increment'; readonly by: number };

interface ChangeRequest {
  readonly area: StorageArea;
  readonly key: string;
  readonly change: StorageChange;
  readonly limits: StorageLimits;
}

export type StorageAnswer =
  /** `version` is 0 where the key is not there now; `number` is the sum of an increment. */
  | {
      readonly kind: 'stored';
      readonly version: number;
      /** Whether the key was there before. */
      readonly was: boolean;
      readonly number?: number;
    }
  /** It is another version than the change needs; 0 if there is none. */
  | { readonly kind: 'changed'; readonly version: number }
  | { readonly kind: 'full'; readonly limit: LimitMet }
  /** An increment of what is no whole number, or to one that is too large. */
  | { readonly kind: 'notWhole' }
  /** The area has written too many bytes in the last minute. */
  | { readonly kind: 'tooFast'; readonly limit: LimitMet }
  /** The installation or integration is no longer there. */
  | { readonly kind: 'gone' };

export interface StorageUsage {
  readonly keys: number;
  readonly bytes: number;
}

export interface StorageDeps {
  readonly database: Database;
  readonly commits: GroupCommit;
  readonly vault: Vault;
  readonly auditIds: Sequence;
  readonly limits: Pick<Limits, 'storageWrittenBytesPerMinute'>;
  /** Milliseconds since 1970. */
  readonly wallNow: () => number;
  readonly monotonicNow: () => number;
}

interface Reading {
  readonly area: string;
  readonly key: string;
  resolve(value: StoredValue | undefined): void;
  reject(cause: unknown): void;
}

export class Storage {
  readonly #deps: StorageDeps;
  readonly #changes: Gathered<ChangeRequest, StorageAnswer>;
  /**
   * Attack: code that writes one value over and over. Its quota stays as it is, while each change
   * is sealed, written to the log of the database and synced: the disk is busy for everyone else.
   */
  readonly #written: RateLimit;
  #reads: Reading[] = [];

  constructor(deps: StorageDeps) {
    this.#deps = deps;
    const { limits, monotonicNow } = deps;
    const timesMax = limits.storageWrittenBytesPerMinute;
    this.#written = new RateLimit({ timesMax, windowMs: MINUTE_MS, monotonicNow });
    this.#changes = new Gathered(
      deps.commits,
      BATCH_BYTES,
      (transaction, requests) => this.#write(transaction, requests),
      {
        ownerOf: ({ area }) => areaOf(area),
        weightOf: ({ change }) => weightOf(change),
      },
    );
  }

  /** @returns undefined if there is no value, or it has expired */
  get(area: StorageArea, key: string): Promise<StoredValue | undefined> {
    return new Promise((resolve, reject) => {
      this.#reads.push({ area: areaOf(area), key, resolve, reject });
      if (this.#reads.length === 1) setImmediate(() => void this.#readAll());
    });
  }

  /** Resolves once the change is stored, or refused. */
  async change(
    area: StorageArea,
    key: string,
    change: StorageChange,
    limits: StorageLimits,
  ): Promise<StorageAnswer> {
    const max = this.#deps.limits.storageWrittenBytesPerMinute;
    if (!this.#written.take(areaOf(area), { tokens: weightOf(change) }))
      return { kind: 'tooFast', limit: { name: 'storageWrittenBytesPerMinute', max } };
    return this.#changes.add({ area, key, change, limits });
  }

  /** Entries by key, without values. The cursor of a page is its last key. */
  async list(
    area: StorageArea,
    { prefix = '', cursor, limit }: PageRequest & { readonly prefix?: string | undefined },
  ): Promise<Page<ListedEntry>> {
    const { database, wallNow } = this.#deps;
    const asked = { area: areaOf(area), prefix, after: cursor, now: wallNow() };
    const items = await listEntries(database, { ...asked, limit: limit + 1 });
    const page = items.slice(0, limit);
    const last = page.at(-1);
    return items.length > limit && last !== undefined ? { items: page, next: last.key } : { items: page };
  }

  /** What the quota of an area counts. Expired entries count until they are removed. */
  async usage(area: StorageArea): Promise<StorageUsage> {
    const [row] = await readAreas(this.#deps.database, [areaOf(area)]);
    return { keys: row?.keys ?? 0, bytes: row?.bytes ?? 0 };
  }

  /** Removes an entry for a person, with its audit. @returns whether it was there */
  async remove(
    { organization, ...area }: StorageArea & { readonly organization: string },
    key: string,
    by: Actor,
  ): Promise<boolean> {
    const { commits, auditIds, wallNow } = this.#deps;
    const target: TargetName | undefined =
      area.installationId === undefined ? undefined : wholeInstallation(area.installationId);
    const entry = {
      ...({
        action: 'storage.delete',
        organization,
        integration: area.integration,
        details: { key },
      } as const),
      ...(target && { target }),
    };
    return commits.run(async (transaction) => {
      const change = { do: 'delete' } as const;
      // A removal exceeds no limit.
      const limits = { storageBytes: Number.MAX_SAFE_INTEGER, storageKeys: Number.MAX_SAFE_INTEGER };
      const [answer] = await this.#write(transaction, [{ area, key, change, limits }]);
      if (answer?.kind !== 'stored' || !answer.was) return false;
      const at = wallNow();
      await insertAudit(transaction, { id: auditIds.next(at), at, by, entry });
      return true;
    });
  }

  /** Removes entries that have expired. */
  async prune(goesOn?: GoesOn): Promise<void> {
    const { database, commits, wallNow } = this.#deps;
    await inBatches(async () => {
      const areas = await expiredAreas(database, wallNow(), ROWS_PER_BATCH);
      let removed = 0;
      for (const area of areas)
        removed += await commits.run((transaction) => this.#expire(transaction, area));
      // More may have expired than one area's batch removes.
      return removed === 0 ? 0 : ROWS_PER_BATCH;
    }, goesOn);
  }

  /** @returns the number of removed entries */
  async #expire(transaction: Database, area: string): Promise<number> {
    await lock(transaction, lockName(area));
    const now = this.#deps.wallNow();
    const removed = await deleteExpired(transaction, area, { now, limit: ROWS_PER_BATCH });
    const [row] = await readAreas(transaction, [area]);
    if (row !== undefined && removed.length > 0) await updateAreas(transaction, [without(row, removed)]);
    return removed.length;
  }

  async #readAll(): Promise<void> {
    const reads = this.#reads;
    this.#reads = [];
    for (let at = 0; at < reads.length; at += READS_PER_STATEMENT)
      await this.#read(reads.slice(at, at + READS_PER_STATEMENT));
  }

  /** Never rejects. */
  async #read(reads: readonly Reading[]): Promise<void> {
    try {
      const keys = new Map(reads.map(({ area, key }) => [nameOf(area, key), [area, key] as const]));
      const rows = await readEntries(this.#deps.database, [...keys.values()]);
      const found = new Map(rows.map((row) => [nameOf(row.area, row.key), row]));
      const now = this.#deps.wallNow();
      for (const { area, key, resolve, reject } of reads) {
        try {
          const row = found.get(nameOf(area, key));
          resolve(row === undefined || isOver(row, now) ? undefined : this.#opened(row));
        } catch (cause) {
          reject(cause);
        }
      }
    } catch (cause) {
      for (const { reject } of reads) reject(cause);
    }
  }

  #opened({ area, key, kind, sealed, version, expiresAt }: EntryRow): StoredValue {
    const text = this.#deps.vault.open(storedValuePlace(area, key), sealed);
    return { kind, text, version, ...(expiresAt !== null && { expiresAt }) };
  }

  async #write(transaction: Database, requests: readonly ChangeRequest[]): Promise<readonly StorageAnswer[]> {
    const areas = new Map(requests.map(({ area }) => [areaOf(area), area]));
    await lock(transaction, ...Array.from(areas.keys(), lockName));
    const batch = new Batch(this.#deps, transaction);
    await batch.read(areas, requests);
    const answers: StorageAnswer[] = [];
    for (const request of requests) answers.push(await batch.change(request));
    await batch.write();
    return answers;
  }
}

const weightOf = (change: StorageChange): number =>
  CHANGE_BYTES + (change.do === 'put' ? change.valueBytes : 0);

const lockName = (area: string): string => `storage of ${area}`;

/** Of an entry among those of several areas. */
const nameOf = (area: string, key: string): string => `${area}\0${key}`;

const isOver = ({ expiresAt }: Pick<EntryRow, 'expiresAt'>, now: number): boolean =>
  expiresAt !== null && expiresAt <= now;

/** An entry before it is sealed: entries that change twice in a batch are sealed once. */
type Entry = Omit<EntryRow, 'sealed'> & ({ readonly text: string } | { readonly sealed: string });

/** The changes of one transaction: each is applied to what the ones before have left. */
class Batch {
  readonly #deps: Pick<StorageDeps, 'vault' | 'wallNow'>;
  readonly #transaction: Database;
  readonly #areas = new Map<string, AreaRow>();
  readonly #entries = new Map<string, Entry | undefined>();
  /** Names of entries that differ from their rows, with the row's key. */
  readonly #changed = new Map<string, readonly [area: string, key: string]>();
  readonly #expired = new Set<string>();

  constructor(deps: Pick<StorageDeps, 'vault' | 'wallNow'>, transaction: Database) {
    this.#deps = deps;
    this.#transaction = transaction;
  }

  async read(areas: ReadonlyMap<string, StorageArea>, requests: readonly ChangeRequest[]): Promise<void> {
    await this.#readAreas([...areas.keys()]);
    const missing = [...areas].flatMap(([name, area]) => (this.#areas.has(name) ? [] : [area]));
    if (missing.length > 0) {
      await insertAreas(this.#transaction, missing);
      await this.#readAreas(missing.map(areaOf));
    }
    const keys = new Map<string, readonly [area: string, key: string]>();
    for (const { area, key } of requests) keys.set(nameOf(areaOf(area), key), [areaOf(area), key]);
    const rows = await readEntries(this.#transaction, [...keys.values()]);
    for (const row of rows) this.#entries.set(nameOf(row.area, row.key), row);
  }

  async #readAreas(names: readonly string[]): Promise<void> {
    for (const row of await readAreas(this.#transaction, names)) this.#areas.set(row.area, row);
  }

  async change({ area, key, change, limits }: ChangeRequest): Promise<StorageAnswer> {
    const name = areaOf(area);
    if (!this.#areas.has(name)) return { kind: 'gone' };
    const now = this.#deps.wallNow();
    const found = this.#entries.get(nameOf(name, key));
    const present = found === undefined || isOver(found, now) ? undefined : found;
    const version = present?.version ?? 0;
    if (change.do !== 'increment' && change.ifVersion !== undefined && change.ifVersion !== version)
      return { kind: 'changed', version };
    if (change.do === 'delete') {
      if (found !== undefined) this.#remove(name, key, found);
      return { kind: 'stored', version: 0, was: present !== undefined };
    }
    const was = present !== undefined;
    if (change.do === 'put') {
      const expiresAt = change.expiresInMs === undefined ? null : now + change.expiresInMs;
      const bytes = Buffer.byteLength(key) + change.valueBytes;
      const put = { area: name, key, ...change.value, bytes, expiresAt, updatedAt: now };
      const answer = await this.#put(put, limits);
      return answer ?? { kind: 'stored', version: this.#versionOf(name), was };
    }
    const number = this.#sum(present, change.by);
    if (number === undefined) return { kind: 'notWhole' };
    const text = String(number);
    const bytes = Buffer.byteLength(key) + text.length;
    const expiresAt = present?.expiresAt ?? null;
    const put = { area: name, key, kind: 'json', text, bytes, expiresAt, updatedAt: now } as const;
    const answer = await this.#put(put, limits);
    return answer ?? { kind: 'stored', version: this.#versionOf(name), was, number };
  }

  async write(): Promise<void> {
    const puts: EntryRow[] = [];
    const deletes: (readonly [area: string, key: string])[] = [];
    for (const [name, row] of this.#changed) {
      const entry = this.#entries.get(name);
      if (entry === undefined) deletes.push(row);
      else puts.push(this.#sealed(entry));
    }
    const areas = new Set(Array.from(this.#changed.values(), ([area]) => area)).union(this.#expired);
    await putEntries(this.#transaction, puts);
    await deleteEntries(this.#transaction, deletes);
    await updateAreas(
      this.#transaction,
      [...areas].flatMap((area) => this.#areas.get(area) ?? []),
    );
  }

  #versionOf(area: string): number {
    return this.#areas.get(area)?.version ?? 0;
  }

  #sealed(entry: Entry): EntryRow {
    if ('sealed' in entry) return entry;
    const { text, ...row } = entry;
    return { ...row, sealed: this.#deps.vault.seal(storedValuePlace(row.area, row.key), text) };
  }

  /** @returns undefined where it is no whole number, or not one that a number holds exactly */
  #sum(present: Entry | undefined, by: number): number | undefined {
    if (present === undefined) return by;
    if (present.kind !== 'json') return undefined;
    const text =
      'text' in present
        ? present.text
        : this.#deps.vault.open(storedValuePlace(present.area, present.key), present.sealed);
    const before = /^-?\d+$/.test(text) ? Number(text) : undefined;
    if (!Number.isSafeInteger(before) || before === undefined) return undefined;
    return Number.isSafeInteger(before + by) ? before + by : undefined;
  }

  #remove(area: string, key: string, found: Entry): void {
    this.#count(area, { keys: -1, bytes: -found.bytes });
    this.#entries.set(nameOf(area, key), undefined);
    this.#changed.set(nameOf(area, key), [area, key]);
  }

  /** @returns the limit that it would exceed; nothing is changed then */
  async #put(
    put: Omit<Entry, 'version'> & { readonly text: string },
    limits: StorageLimits,
  ): Promise<StorageAnswer | undefined> {
    const { area, key } = put;
    const more = () => {
      const found = this.#entries.get(nameOf(area, key));
      return { keys: found === undefined ? 1 : 0, bytes: put.bytes - (found?.bytes ?? 0) };
    };
    if (this.#exceeded(area, more(), limits) !== undefined) await this.#expire(area);
    const limit = this.#exceeded(area, more(), limits);
    if (limit !== undefined) return { kind: 'full', limit };
    this.#count(area, more());
    const version = this.#versionOf(area) + 1;
    this.#areas.set(area, { ...(this.#areas.get(area) as AreaRow), version });
    this.#entries.set(nameOf(area, key), { ...put, version });
    this.#changed.set(nameOf(area, key), [area, key]);
    return undefined;
  }

  /** Of a limit that was lowered since: a change that makes the area no larger is stored. */
  #exceeded(
    area: string,
    more: { readonly keys: number; readonly bytes: number },
    { storageBytes, storageKeys }: StorageLimits,
  ): LimitMet | undefined {
    const row = this.#areas.get(area) as AreaRow;
    const [keys, bytes] = [row.keys + more.keys, row.bytes + more.bytes];
    if (more.keys > 0 && keys > storageKeys) return { name: 'storageKeys', max: storageKeys, used: keys };
    if (more.bytes > 0 && bytes > storageBytes)
      return { name: 'storageBytes', max: storageBytes, used: bytes };
    return undefined;
  }

  #count(area: string, { keys, bytes }: { readonly keys: number; readonly bytes: number }): void {
    const row = this.#areas.get(area) as AreaRow;
    this.#areas.set(area, { ...row, keys: row.keys + keys, bytes: row.bytes + bytes });
  }

  /** Makes room: entries that have expired are removed, once for each area. */
  async #expire(area: string): Promise<void> {
    if (this.#expired.has(area)) return;
    this.#expired.add(area);
    const removed = await deleteExpired(this.#transaction, area, { now: this.#deps.wallNow() });
    // What this batch has put or removed is counted against the row already.
    const unchanged = removed.filter(({ key }) => !this.#changed.has(nameOf(area, key)));
    for (const { key } of unchanged) this.#entries.delete(nameOf(area, key));
    this.#areas.set(area, without(this.#areas.get(area) as AreaRow, unchanged));
  }
}

function without(row: AreaRow, removed: readonly { readonly bytes: number }[]): AreaRow {
  const bytes = removed.reduce((sum, one) => sum + one.bytes, 0);
  return { ...row, keys: row.keys - removed.length, bytes: row.bytes - bytes };
}

/**
 * @throws AnnexError STORED_VALUE_CHANGED, STORAGE_FULL, REQUEST_RATE_EXCEEDED,
 * STORED_VALUE_NOT_WHOLE, INSTALLATION_UNKNOWN, INTEGRATION_UNKNOWN
 */
export function storedOrThrown(
  area: StorageArea,
  key: string,
  answer: StorageAnswer,
): Extract<StorageAnswer, { readonly kind: 'stored' }> {
  switch (answer.kind) {
    case 'stored':
      return answer;
    case 'changed':
      throw new AnnexError('STORED_VALUE_CHANGED', changedSentence(key, answer.version));
    case 'full':
      throw limitError('STORAGE_FULL', answer.limit);
    case 'tooFast':
      throw limitError('REQUEST_RATE_EXCEEDED', answer.limit);
    case 'notWhole':
      throw new AnnexError(
        'STORED_VALUE_NOT_WHOLE',
        `The value of ${shown(key)}, or the sum, is not a whole number from -(2^53 - 1) to 2^53 - 1.`,
      );
    case 'gone':
      throw area.installationId === undefined
        ? unknownIntegration(area.integration)
        : unknownInstallation(area.installationId);
  }
}

const changedSentence = (key: string, version: number): string =>
  version === 0
    ? `There is no value of ${shown(key)} now.`
    : `The value of ${shown(key)} has changed: its version is ${version} now.`;

/** Characters of a key that a message repeats. */
const SHOWN_CHARS = 100;
const shown = (key: string): string => JSON.stringify(key.slice(0, SHOWN_CHARS));
