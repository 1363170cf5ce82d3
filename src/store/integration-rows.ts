/**
 * The rows of integrations, their versions and their secrets: SQL, and nothing that caches or decides.
 *
 * Each function runs in whatever it is given, the database or a transaction; `registry.ts` draws the transactions.
 */
import type { Selectable } from 'kysely';
import type { PublishedManifest } from '../model/manifest.ts';
import type { Visibility } from '../model/visibility.ts';
import { type Page, type PageRequest, page } from './page.ts';
import type { Database, Tables } from './tables.ts';
import type { Vault, VaultPlace } from './vault.ts';

/** An integration as its lists show it; texts are those of the active version. */
export interface Integration {
  readonly name: string;
  /** The organization that owns it. */
  readonly organization: string;
  readonly visibility: Visibility;
  readonly title: string;
  readonly description: string;
  readonly activeVersion: number;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** One published version, immutable. */
export interface Version {
  readonly number: number;
  readonly manifest: PublishedManifest;
  readonly createdAt: number;
}

/** Where an integration's signing secret is sealed. */
export const integrationSecretPlace = (name: string): VaultPlace => [
  'integrations',
  'sealed_signing_secret',
  name,
];

const secretPlace = (integration: string, name: string): VaultPlace => [
  'secrets',
  'sealed_value',
  integration,
  name,
];

export async function readIntegration(database: Database, name: string): Promise<Integration | undefined> {
  const row = await database
    .selectFrom('integrations')
    .selectAll()
    .where('name', '=', name)
    .executeTakeFirst();
  return row && integrationOf(row);
}

/** By name. `visibleTo` leaves out what neither belongs to that organization nor is public. */
export async function listIntegrations(
  database: Database,
  { visibleTo, cursor, limit }: PageRequest & { readonly visibleTo?: string | undefined },
): Promise<Page<Integration>> {
  let query = database.selectFrom('integrations').selectAll();
  if (visibleTo !== undefined) {
    query = query.where((where) =>
      where.or([where('organization', '=', visibleTo), where('visibility', '=', 'public')]),
    );
  }
  if (cursor !== undefined) query = query.where('name', '>', cursor);
  const rows = await query
    .orderBy('name')
    .limit(limit + 1)
    .execute();
  return page(rows, limit, (row) => row.name, integrationOf);
}

/**
 * Takes the integration's next version number and makes it the active one, creating the integration where the name is
 * free. The number is taken by one statement, so that publishes at the same moment get consecutive ones.
 *
 * @returns undefined, with nothing changed, where the name belongs to another organization.
 */
export async function takeNextVersion(
  database: Database,
  manifest: PublishedManifest,
  now: number,
  sealedSigningSecret: string,
): Promise<number | undefined> {
  const { name, organization } = manifest;
  const texts = textsOf(manifest);
  await database
    .insertInto('integrations')
    .values({
      name,
      organization,
      ...texts,
      active_version: 0,
      latest_version: 0,
      sealed_signing_secret: sealedSigningSecret,
      created_at: now,
      updated_at: now,
    })
    .onConflict((conflict) => conflict.column('name').doNothing())
    .execute();
  // Naming the owner here is what keeps one organization from publishing over another's integration.
  const taken = await database
    .updateTable('integrations')
    .set((row) => ({
      ...texts,
      latest_version: row('latest_version', '+', 1),
      active_version: row('latest_version', '+', 1),
      updated_at: now,
    }))
    .where('name', '=', name)
    .where('organization', '=', organization)
    .returning('latest_version')
    .executeTakeFirst();
  return taken?.latest_version;
}

export async function insertVersion(
  database: Database,
  version: Version & { readonly script: string; readonly sourceMap: string },
): Promise<void> {
  await database
    .insertInto('versions')
    .values({
      integration: version.manifest.name,
      number: version.number,
      manifest: JSON.stringify(version.manifest),
      script: version.script,
      source_map: version.sourceMap,
      created_at: version.createdAt,
    })
    .execute();
}

export async function readVersion(
  database: Database,
  integration: string,
  number: number,
): Promise<Version | undefined> {
  const row = await database
    .selectFrom('versions')
    .select(['number', 'manifest', 'created_at'])
    .where('integration', '=', integration)
    .where('number', '=', number)
    .executeTakeFirst();
  return row && { number: row.number, manifest: JSON.parse(row.manifest), createdAt: row.created_at };
}

/** Newest first. */
export async function listVersions(
  database: Database,
  { integration, cursor, limit }: PageRequest & { readonly integration: string },
): Promise<Page<Omit<Version, 'manifest'>>> {
  let query = database
    .selectFrom('versions')
    .select(['number', 'created_at'])
    .where('integration', '=', integration);
  if (cursor !== undefined) query = query.where('number', '<', Number(cursor));
  const rows = await query
    .orderBy('number', 'desc')
    .limit(limit + 1)
    .execute();
  return page(
    rows,
    limit,
    (row) => String(row.number),
    (row) => ({ number: row.number, createdAt: row.created_at }),
  );
}

/** Makes a version that exists the active one. */
export async function activateVersion(database: Database, version: Version, now: number): Promise<void> {
  await database
    .updateTable('integrations')
    .set({ ...textsOf(version.manifest), active_version: version.number, updated_at: now })
    .where('name', '=', version.manifest.name)
    .execute();
}

/** The code of one version, or its source map. */
export async function readCode(
  database: Database,
  column: 'script' | 'source_map',
  integration: string,
  number: number,
): Promise<string | undefined> {
  const row = await database
    .selectFrom('versions')
    .select(column)
    .where('integration', '=', integration)
    .where('number', '=', number)
    .executeTakeFirst();
  return row?.[column];
}

/**
 * Sets the values of the secrets named. Others stay: an older version that is activated again may need them, and finds
 * today's values, so that rolling back never brings back a key that was rotated away.
 */
export async function upsertSecrets(
  database: Database,
  vault: Vault,
  integration: string,
  secrets: ReadonlyMap<string, string>,
): Promise<void> {
  if (secrets.size === 0) return;
  const rows = [...secrets].map(([name, value]) => ({
    integration,
    name,
    sealed_value: vault.seal(secretPlace(integration, name), value),
  }));
  await database
    .insertInto('secrets')
    .values(rows)
    .onConflict((conflict) =>
      conflict
        .columns(['integration', 'name'])
        .doUpdateSet((row) => ({ sealed_value: row.ref('excluded.sealed_value') })),
    )
    .execute();
}

/** Opens the secrets of these names. */
export async function openSecrets(
  database: Database,
  vault: Vault,
  integration: string,
  names: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  if (names.length === 0) return new Map();
  const rows = await database
    .selectFrom('secrets')
    .select(['name', 'sealed_value'])
    .where('integration', '=', integration)
    .where('name', 'in', names)
    .execute();
  return new Map(
    rows.map((row) => [row.name, vault.open(secretPlace(integration, row.name), row.sealed_value)]),
  );
}

const textsOf = ({ visibility, title, description }: PublishedManifest) => ({
  visibility,
  title,
  description,
});

const integrationOf = (row: Selectable<Tables['integrations']>): Integration => ({
  name: row.name,
  organization: row.organization,
  visibility: row.visibility,
  title: row.title,
  description: row.description,
  activeVersion: row.active_version,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
});
