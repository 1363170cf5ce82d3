/**
 * The rows of targets: installations, and what of them is in spaces and sites. SQL, and nothing that caches or decides.
 *
 * Each function runs in whatever it is given, the database or a transaction; `installations.ts` draws the transactions.
 */
import type { Selectable } from 'kysely';
import { type Page, type PageRequest, page } from '../../database/page.ts';
import type { Database, Tables } from '../../database/tables.ts';
import type { InstallationStatus, Level, Selection, TargetName } from '../../model/installation.ts';
import type { VaultPlace } from '../vault/vault.ts';

/** An integration in one organization, or in one space or site of it. */
export interface Installation extends TargetName {
  readonly integration: string;
  readonly organization: string;
  readonly endpointKey: string;
  readonly status: InstallationStatus;
  /** Without `oauth_credentials`, which are sealed. */
  readonly configuration: Readonly<Record<string, unknown>>;
  /** Whether `oauth_credentials` are set. */
  readonly hasCredentials: boolean;
  readonly externalIds: readonly string[];
  /** Of meaning at the level of the organization alone. */
  readonly spaceSelection: Selection;
  readonly siteSelection: Selection;
  /** Counts changes, from 1. */
  readonly revision: number;
  /** When it was paused last, resumed since or not; milliseconds since 1970, as all times here. */
  readonly pausedAt: number | null;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** With what is sealed, for those who open it. */
export interface SealedInstallation extends Installation {
  readonly sealedSigningSecret: string;
  readonly sealedCredentials: string | null;
}

/** Where a target's signing secret is sealed. */
export const signingSecretPlace = (name: TargetName): VaultPlace => place('sealed_signing_secret', name);

/** Where a target's `oauth_credentials` are sealed. */
export const credentialsPlace = (name: TargetName): VaultPlace => place('sealed_credentials', name);

/** An installation's is the place it has had since before there were levels. */
const place = (column: string, { installationId, level, place: at }: TargetName): VaultPlace =>
  level === 'organization'
    ? ['installations', column, installationId]
    : ['targets', column, installationId, level, at];

/** The columns that name a target, in each table that has them. */
export const targetKey = ({ installationId, level, place }: TargetName) => ({
  installation_id: installationId,
  level,
  place,
});

/** @returns false, with nothing changed, where the integration is already installed there. */
export async function insertTarget(
  database: Database,
  target: Omit<SealedInstallation, 'hasCredentials'>,
): Promise<boolean> {
  const inserted = await database
    .insertInto('targets')
    .values({
      ...targetKey(target),
      integration: target.integration,
      organization: target.organization,
      endpoint_key: target.endpointKey,
      status: target.status,
      configuration: JSON.stringify(target.configuration),
      sealed_credentials: target.sealedCredentials,
      external_ids: JSON.stringify(target.externalIds),
      space_selection: target.spaceSelection,
      site_selection: target.siteSelection,
      sealed_signing_secret: target.sealedSigningSecret,
      revision: target.revision,
      paused_at: target.pausedAt,
      created_at: target.createdAt,
      updated_at: target.updatedAt,
    })
    .onConflict((conflict) => conflict.columns(['integration', 'organization', 'level', 'place']).doNothing())
    .returning('installation_id')
    .executeTakeFirst();
  if (inserted === undefined) return false;
  await insertExternalIds(database, target, target.integration, target.externalIds);
  return true;
}

async function insertExternalIds(
  database: Database,
  name: TargetName,
  integration: string,
  externalIds: readonly string[],
): Promise<void> {
  if (externalIds.length === 0) return;
  const target = { integration, ...targetKey(name) };
  const rows = externalIds.map((externalId) => ({ ...target, external_id: externalId }));
  await database.insertInto('external_ids').values(rows).execute();
}

/** Writes what of a target can change; its external ids have rows of their own, too. */
export async function updateTarget(
  database: Database,
  target: Omit<SealedInstallation, 'hasCredentials'>,
): Promise<void> {
  await database
    .updateTable('targets')
    .set({
      status: target.status,
      configuration: JSON.stringify(target.configuration),
      sealed_credentials: target.sealedCredentials,
      external_ids: JSON.stringify(target.externalIds),
      space_selection: target.spaceSelection,
      site_selection: target.siteSelection,
      revision: target.revision,
      paused_at: target.pausedAt,
      updated_at: target.updatedAt,
    })
    .where((row) => row.and(targetKey(target)))
    .execute();
}

/** Gives a target the external ids it has, in place of those it had. */
export async function replaceExternalIds(
  database: Database,
  target: Pick<Installation, keyof TargetName | 'integration' | 'externalIds'>,
): Promise<void> {
  await database
    .deleteFrom('external_ids')
    .where((row) => row.and(targetKey(target)))
    .execute();
  await insertExternalIds(database, target, target.integration, target.externalIds);
}

/** Its external ids go with it, by their foreign key. */
export async function deleteTarget(database: Database, name: TargetName): Promise<void> {
  await database
    .deleteFrom('targets')
    .where((row) => row.and(targetKey(name)))
    .execute();
}

/**
 * Has others that would hold the same installation wait for the end of this transaction. An update that changes nothing does
 * this on every engine; `select … for update` does not.
 *
 * @returns whether there is such an installation
 */
export async function holdInstallation(transaction: Database, installationId: string): Promise<boolean> {
  const held = await transaction
    .updateTable('targets')
    .set((row) => ({ revision: row.ref('revision') }))
    .where('installation_id', '=', installationId)
    .where('level', '=', 'organization')
    .returning('installation_id')
    .executeTakeFirst();
  return held !== undefined;
}

/** The installation that a target of the same integration at the same place belongs to. */
export async function findTarget(
  database: Database,
  {
    integration,
    organization,
    level,
    place,
  }: Omit<TargetName, 'installationId'> & Pick<Installation, 'integration' | 'organization'>,
): Promise<string | undefined> {
  const row = await database
    .selectFrom('targets')
    .select('installation_id')
    .where('integration', '=', integration)
    .where('organization', '=', organization)
    .where('level', '=', level)
    .where('place', '=', place)
    .executeTakeFirst();
  return row?.installation_id;
}

/** How many integrations an organization has installed: an index alone is read. */
export async function countInstallations(database: Database, organization: string): Promise<number> {
  const { count } = await database
    .selectFrom('targets')
    .select(({ fn }) => fn.countAll().as('count'))
    .where('organization', '=', organization)
    .where('level', '=', 'organization')
    .executeTakeFirstOrThrow();
  return Number(count);
}

/** In how many places of a level an installation is. */
export async function countTargets(
  database: Database,
  { installationId, level }: Pick<TargetName, 'installationId' | 'level'>,
): Promise<number> {
  const { count } = await database
    .selectFrom('targets')
    .select(({ fn }) => fn.countAll().as('count'))
    .where('installation_id', '=', installationId)
    .where('level', '=', level)
    .executeTakeFirstOrThrow();
  return Number(count);
}

/** What of an installation is in spaces and sites: some, in no order. */
export async function readSomeBelow(
  database: Database,
  installationId: string,
  limit: number,
): Promise<readonly SealedInstallation[]> {
  const rows = await database
    .selectFrom('targets')
    .selectAll()
    .where('installation_id', '=', installationId)
    .where('level', '!=', 'organization')
    .limit(limit)
    .execute();
  return rows.map(sealedInstallationOf);
}

export async function readTarget(
  database: Database,
  name: TargetName,
): Promise<SealedInstallation | undefined> {
  const row = await database
    .selectFrom('targets')
    .selectAll()
    .where((row) => row.and(targetKey(name)))
    .executeTakeFirst();
  return row && sealedInstallationOf(row);
}

/** The target behind a public endpoint. */
export async function readTargetByEndpoint(
  database: Database,
  endpointKey: string,
): Promise<SealedInstallation | undefined> {
  const row = await database
    .selectFrom('targets')
    .selectAll()
    .where('endpoint_key', '=', endpointKey)
    .executeTakeFirst();
  return row && sealedInstallationOf(row);
}

export interface InstallationQuery extends PageRequest {
  readonly integration: string;
  /** Only this organization's. */
  readonly organization?: string | undefined;
  /** Only this installation. */
  readonly installationId?: string | undefined;
  /** Only those that carry this external id. */
  readonly externalId?: string | undefined;
}

/** Installations in organizations, in the order of their ids. */
export async function listInstallations(
  database: Database,
  query: InstallationQuery,
): Promise<Page<Installation>> {
  const { integration, organization, installationId, externalId, cursor, limit } = query;
  let select = database
    .selectFrom('targets')
    .selectAll()
    .where('integration', '=', integration)
    .where('level', '=', 'organization');
  if (organization !== undefined) select = select.where('organization', '=', organization);
  if (installationId !== undefined) select = select.where('installation_id', '=', installationId);
  if (externalId !== undefined) {
    const carriers = database
      .selectFrom('external_ids')
      .select('installation_id')
      .where('integration', '=', integration)
      .where('level', '=', 'organization')
      .where('external_id', '=', externalId);
    select = select.where('installation_id', 'in', carriers);
  }
  if (cursor !== undefined) select = select.where('installation_id', '>', cursor);
  // An organization has one at most. The attack: by their order, one is looked for among those of all organizations.
  if (organization === undefined) select = select.orderBy('installation_id');
  const rows = await select.limit(limit + 1).execute();
  return page(rows, limit, (row) => row.installation_id, installationOf);
}

export interface BelowQuery extends PageRequest {
  readonly installationId: string;
  readonly level: Exclude<Level, 'organization'>;
  /** Only those that carry this external id. */
  readonly externalId?: string | undefined;
}

/** What of one installation is in spaces, or in sites, in the order of the ids of those. */
export async function listBelow(database: Database, query: BelowQuery): Promise<Page<Installation>> {
  const { installationId, level, externalId, cursor, limit } = query;
  let select = database
    .selectFrom('targets')
    .selectAll()
    .where('installation_id', '=', installationId)
    .where('level', '=', level);
  if (externalId !== undefined) {
    const carriers = database
      .selectFrom('external_ids')
      .select('place')
      .where('installation_id', '=', installationId)
      .where('level', '=', level)
      .where('external_id', '=', externalId);
    select = select.where('place', 'in', carriers);
  }
  if (cursor !== undefined) select = select.where('place', '>', cursor);
  const rows = await select
    .orderBy('place')
    .limit(limit + 1)
    .execute();
  return page(rows, limit, (row) => row.place, installationOf);
}

const installationOf = (row: Selectable<Tables['targets']>): Installation => ({
  installationId: row.installation_id,
  level: row.level,
  place: row.place,
  integration: row.integration,
  organization: row.organization,
  endpointKey: row.endpoint_key,
  status: row.status,
  configuration: JSON.parse(row.configuration),
  hasCredentials: row.sealed_credentials !== null,
  externalIds: JSON.parse(row.external_ids),
  spaceSelection: row.space_selection,
  siteSelection: row.site_selection,
  revision: row.revision,
  pausedAt: row.paused_at,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
});

const sealedInstallationOf = (row: Selectable<Tables['targets']>): SealedInstallation => ({
  ...installationOf(row),
  sealedSigningSecret: row.sealed_signing_secret,
  sealedCredentials: row.sealed_credentials,
});
