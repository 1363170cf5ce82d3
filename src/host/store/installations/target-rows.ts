/**
 * Rows of targets: installations, and their targets in spaces and sites. SQL only, no caches and no
 * decisions.
 *
 * Each function runs in the given database or transaction.
 */
import { type Selectable, type SelectQueryBuilder, sql } from 'kysely';
import type { InstallationStatus, Selection, TargetName } from '../../../model/installation.ts';
import type { Level } from '../../../model/level.ts';
import { type Page, type PageRequest, page } from '../../database/page.ts';
import type { Database, Tables } from '../../database/tables.ts';
import type { VaultPlace } from '../vault/vault.ts';

/**
 * A target: an installation, or its part in one space or site. Times are milliseconds since 1970.
 */
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
  /** Used only at organization level. */
  readonly spaceSelection: Selection;
  readonly siteSelection: Selection;
  /** Number of changes, from 1. */
  readonly revision: number;
  /** Time of the latest pause, also if resumed since. */
  readonly pausedAt: number | null;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** With the sealed values. */
export interface SealedInstallation extends Installation {
  readonly sealedSigningSecret: string;
  readonly sealedCredentials: string | null;
}

/** The place of a target's signing secret, for the vault. */
export const signingSecretPlace = (name: TargetName): VaultPlace => place('sealed_signing_secret', name);

/** The place of a target's `oauth_credentials`, for the vault. */
export const credentialsPlace = (name: TargetName): VaultPlace => place('sealed_credentials', name);

/**
 * An installation keeps the place that it had before there were levels; a change would make its
 * sealed values unreadable.
 */
const place = (column: string, { installationId, level, place: at }: TargetName): VaultPlace =>
  level === 'organization'
    ? ['installations', column, installationId]
    : ['targets', column, installationId, level, at];

/** The columns that name a target, in all tables that have them. */
export const targetKey = ({ installationId, level, place }: TargetName) => ({
  installation_id: installationId,
  level,
  place,
});

/** @returns false, with nothing changed, if the integration is already installed there */
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

/** Writes the columns of a target that can change; its external ids have rows of their own, too. */
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

/** Replaces the external ids of a target. */
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

/** Its external ids are removed by the foreign key. */
export async function deleteTarget(database: Database, name: TargetName): Promise<void> {
  await database
    .deleteFrom('targets')
    .where((row) => row.and(targetKey(name)))
    .execute();
}

/**
 * Locks an installation: other transactions that lock it wait for the end of this one. An update
 * that changes nothing locks on every engine; `select … for update` does not.
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

/** Id of the installation of this integration at this place, if there is one. */
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

/** Number of integrations that an organization has installed; reads only an index. */
export async function countInstallations(database: Database, organization: string): Promise<number> {
  const { count } = await database
    .selectFrom('targets')
    .select(({ fn }) => fn.countAll().as('count'))
    .where('organization', '=', organization)
    .where('level', '=', 'organization')
    .executeTakeFirstOrThrow();
  return Number(count);
}

/** Number of an installation's targets at a level. */
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

/** Some of an installation's targets in spaces and sites, in no order, to be removed. */
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
  return rows.map(removableOf);
}

/** @throws if its row is damaged, unless it is read `toRemove` it */
export async function readTarget(
  database: Database,
  name: TargetName,
  use?: 'toRemove',
): Promise<SealedInstallation | undefined> {
  const row = await database
    .selectFrom('targets')
    .selectAll()
    .where((row) => row.and(targetKey(name)))
    .executeTakeFirst();
  return row && (use === 'toRemove' ? removableOf(row) : sealedInstallationOf(row));
}

/** The target of a public endpoint. */
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
  /** Only of this integration. */
  readonly integration?: string | undefined;
  /** Only this organization's. */
  readonly organization?: string | undefined;
  /** Only this installation. */
  readonly installationId?: string | undefined;
  /** Only those in this state. */
  readonly status?: InstallationStatus | undefined;
  /** Only those with this external id. */
  readonly externalId?: string | undefined;
}

/** As the partial indexes have it: with a value that is bound, SQLite would not use them. */
const WHOLE = sql.lit<Level>('organization');

/** Installations in organizations, sorted by id. */
export async function listInstallations(
  database: Database,
  query: InstallationQuery,
): Promise<Page<Installation>> {
  const { integration, organization, installationId, status, externalId, cursor, limit } = query;
  let select = (externalId === undefined ? database.selectFrom('targets') : ofExternalId(database, query))
    .selectAll('targets')
    .where('targets.level', '=', WHOLE);
  if (integration !== undefined) select = select.where('targets.integration', '=', integration);
  if (organization !== undefined) select = select.where('targets.organization', '=', organization);
  if (installationId !== undefined) select = select.where('targets.installation_id', '=', installationId);
  // An expression: the few of an organization or an external id are read, not all in this state.
  const isFew = organization !== undefined || externalId !== undefined;
  if (status !== undefined)
    select = select.where(isFew ? sql`targets.status || ''` : sql.ref('targets.status'), '=', status);
  // In the table that is read first.
  const id = sql.ref<string>(
    `${isFew && organization === undefined ? 'external_ids' : 'targets'}.installation_id`,
  );
  if (cursor !== undefined) select = select.where(id, '>', cursor);
  // An organization has one at most. Attack: with an order, SQLite would search for it through
  // those of all organizations.
  if (organization === undefined || integration === undefined) select = select.orderBy(id);
  const rows = await select.limit(limit + 1).execute();
  return page(rows, limit, (row) => row.installation_id, installationOf);
}

/**
 * Targets with an external id. Attack: an id that an integration gave to all its installations.
 * Those of one organization are few, so they are read first. SQLite keeps the order of the join,
 * and searches the second table by an id that stands on the left.
 */
function ofExternalId(
  database: Database,
  { integration, organization, externalId = '' }: InstallationQuery,
): SelectQueryBuilder<Tables, 'targets', {}> {
  const [carrier, target] = ['external_ids.installation_id', 'targets.installation_id'] as const;
  const both =
    organization === undefined
      ? database.selectFrom('external_ids').crossJoin('targets').whereRef(target, '=', carrier)
      : database.selectFrom('targets').crossJoin('external_ids').whereRef(carrier, '=', target);
  const carriers = both
    .where('external_ids.level', '=', WHOLE)
    .where('external_ids.external_id', '=', externalId);
  return integration === undefined ? carriers : carriers.where('external_ids.integration', '=', integration);
}

export interface BelowQuery extends PageRequest {
  readonly installationId: string;
  readonly level: Exclude<Level, 'organization'>;
  /** Only those with this external id. */
  readonly externalId?: string | undefined;
}

/** Targets of one installation in spaces, or in sites, sorted by the id of the place. */
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

/** A row without its sealed values. */
export const installationOf = (row: Selectable<Tables['targets']>): Installation => ({
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

/**
 * A row that is about to be removed: what cannot be read counts as empty, so that a damaged target
 * does not stay for ever.
 */
const removableOf = (row: Selectable<Tables['targets']>): SealedInstallation =>
  sealedInstallationOf({
    ...row,
    configuration: isJson(row.configuration) ? row.configuration : '{}',
    external_ids: isJson(row.external_ids) ? row.external_ids : '[]',
  });

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

const sealedInstallationOf = (row: Selectable<Tables['targets']>): SealedInstallation => ({
  ...installationOf(row),
  sealedSigningSecret: row.sealed_signing_secret,
  sealedCredentials: row.sealed_credentials,
});
