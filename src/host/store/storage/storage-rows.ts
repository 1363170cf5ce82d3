/**
 * Rows of stored values: SQL only, no decisions.
 *
 * Each area has one row with what its quota counts, which every change of the area writes in its
 * own transaction. So the count is exact, and no change counts rows.
 */
import type { StorageArea, StoredKind } from '../../../model/stored-value.ts';
import { endOfPrefix } from '../../../model/stored-value.ts';
import { bulk, runForEach, TEXT, WHOLE } from '../../database/bulk.ts';
import type { Database } from '../../database/tables.ts';
import type { VaultPlace } from '../vault/vault.ts';

/** The name of an area. No id contains a blank, so that no two areas have one name. */
export const areaOf = ({ integration, since, installationId }: StorageArea): string =>
  installationId === undefined ? `integration ${integration} ${since}` : `installation ${installationId}`;

export const storedValuePlace = (area: string, key: string): VaultPlace => [
  'storage_entries',
  'sealed_value',
  area,
  key,
];

export interface AreaRow {
  readonly area: string;
  readonly keys: number;
  readonly bytes: number;
  readonly version: number;
}

export interface EntryRow {
  readonly area: string;
  readonly key: string;
  readonly version: number;
  readonly kind: StoredKind;
  readonly sealed: string;
  readonly bytes: number;
  readonly expiresAt: number | null;
  readonly updatedAt: number;
}

const SELECT_AREAS = bulk`select area, keys, bytes, version from storage_areas where area = ${TEXT}`;

export const readAreas = (database: Database, areas: readonly string[]): Promise<AreaRow[]> =>
  runForEach<AreaRow>(
    database,
    SELECT_AREAS,
    areas.map((area) => [area]),
  );

/** Only if what it belongs to is there. */
const INSERT_OF_INSTALLATION = bulk`insert into storage_areas
  (area, integration, installation_id, level, place, keys, bytes, version)
  select ${TEXT}, targets.integration, targets.installation_id, targets.level, targets.place, 0, 0, 0
  from targets
  where targets.installation_id = ${TEXT} and targets.level = 'organization' and targets.place = ''
    and targets.integration = ${TEXT}
  on conflict (area) do nothing`;
const INSERT_OF_INTEGRATION = bulk`insert into storage_areas
  (area, integration, installation_id, level, place, keys, bytes, version)
  select ${TEXT}, integrations.name, null, null, null, 0, 0, 0
  from integrations
  where integrations.name = ${TEXT} and integrations.created_at = ${WHOLE}
  on conflict (area) do nothing`;

/** Makes rows of areas without one. */
export async function insertAreas(transaction: Database, areas: readonly StorageArea[]): Promise<void> {
  const ofInstallations: [area: string, installationId: string, integration: string][] = [];
  const ofIntegrations: [area: string, integration: string, since: number][] = [];
  for (const area of areas) {
    const { integration, since, installationId } = area;
    if (installationId === undefined) ofIntegrations.push([areaOf(area), integration, since]);
    else ofInstallations.push([areaOf(area), installationId, integration]);
  }
  await runForEach(transaction, INSERT_OF_INSTALLATION, ofInstallations);
  await runForEach(transaction, INSERT_OF_INTEGRATION, ofIntegrations);
}

const UPDATE_AREA = bulk`update storage_areas set keys = ${WHOLE}, bytes = ${WHOLE}, version = ${WHOLE}
  where storage_areas.area = ${TEXT}`;

export const updateAreas = (transaction: Database, areas: readonly AreaRow[]): Promise<never[]> =>
  runForEach(
    transaction,
    UPDATE_AREA,
    areas.map(({ area, keys, bytes, version }) => [keys, bytes, version, area]),
  );

const SELECT_ENTRIES = bulk`select area, key, version, kind, sealed_value as sealed, bytes,
    expires_at as "expiresAt", updated_at as "updatedAt"
  from storage_entries
  where area = ${TEXT} and key = ${TEXT}`;

export const readEntries = (
  database: Database,
  keys: readonly (readonly [area: string, key: string])[],
): Promise<EntryRow[]> => runForEach<EntryRow>(database, SELECT_ENTRIES, keys);

const PUT_ENTRY = bulk`insert into storage_entries
  (area, key, version, kind, sealed_value, bytes, expires_at, updated_at)
  values (${TEXT}, ${TEXT}, ${WHOLE}, ${TEXT}, ${TEXT}, ${WHOLE}, ${WHOLE}, ${WHOLE})
  on conflict (area, key) do update set version = excluded.version, kind = excluded.kind,
    sealed_value = excluded.sealed_value, bytes = excluded.bytes, expires_at = excluded.expires_at,
    updated_at = excluded.updated_at`;

export const putEntries = (transaction: Database, entries: readonly EntryRow[]): Promise<never[]> =>
  runForEach(
    transaction,
    PUT_ENTRY,
    entries.map((row) => [
      ...[row.area, row.key, row.version, row.kind, row.sealed],
      ...[row.bytes, row.expiresAt, row.updatedAt],
    ]),
  );

const DELETE_ENTRY = bulk`delete from storage_entries
  where storage_entries.area = ${TEXT} and storage_entries.key = ${TEXT}`;

export const deleteEntries = (
  transaction: Database,
  keys: readonly (readonly [area: string, key: string])[],
): Promise<never[]> => runForEach(transaction, DELETE_ENTRY, keys);

/** An entry as lists show it: without its value. */
export type ListedEntry = Omit<EntryRow, 'area' | 'sealed'>;

export interface EntriesAsked {
  readonly area: string;
  readonly prefix: string;
  /** The key behind which the page begins. */
  readonly after: string | undefined;
  readonly limit: number;
  readonly now: number;
}

/** Entries of an area, by key. */
export function listEntries(
  database: Database,
  { area, prefix, after, limit, now }: EntriesAsked,
): Promise<ListedEntry[]> {
  const end = prefix === '' ? undefined : endOfPrefix(prefix);
  let query = database
    .selectFrom('storage_entries')
    .select(['key', 'version', 'kind', 'bytes', 'expires_at as expiresAt', 'updated_at as updatedAt'])
    .where('area', '=', area)
    .where('key', '>=', prefix)
    .where((where) => where.or([where('expires_at', 'is', null), where('expires_at', '>', now)]));
  if (end !== undefined) query = query.where('key', '<', end);
  if (after !== undefined) query = query.where('key', '>', after);
  return query.orderBy('key').limit(limit).execute();
}

/** Areas with entries that have expired. */
export async function expiredAreas(database: Database, now: number, limit: number): Promise<string[]> {
  const rows = await database
    .selectFrom('storage_entries')
    .select('area')
    .where('expires_at', 'is not', null)
    .where('expires_at', '<=', now)
    .orderBy('expires_at')
    .limit(limit)
    .execute();
  return [...new Set(rows.map(({ area }) => area))];
}

/** Removes expired entries of an area. @param limit all, if absent @returns what was removed */
export function deleteExpired(
  transaction: Database,
  area: string,
  { now, limit = Number.MAX_SAFE_INTEGER }: { readonly now: number; readonly limit?: number },
): Promise<{ key: string; bytes: number }[]> {
  const some = transaction
    .selectFrom('storage_entries')
    .select('key')
    .where('area', '=', area)
    .where('expires_at', 'is not', null)
    .where('expires_at', '<=', now)
    .orderBy('expires_at')
    .limit(limit);
  return transaction
    .deleteFrom('storage_entries')
    .where('area', '=', area)
    .where('key', 'in', some)
    .returning(['key', 'bytes'])
    .execute();
}
