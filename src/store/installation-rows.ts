/**
 * The rows of installations: SQL, and nothing that caches or decides.
 *
 * Each function runs in whatever it is given, the database or a transaction; `registry.ts` draws the transactions.
 */
import type { InstallationStatus } from '../model/installation.ts';
import { type Page, type PageRequest, page } from './page.ts';
import type { Database, Tables } from './tables.ts';
import type { VaultPlace } from './vault.ts';

/** An integration in one organization. */
export interface Installation {
  readonly id: string;
  readonly integration: string;
  readonly organization: string;
  readonly endpointKey: string;
  readonly status: InstallationStatus;
  readonly configuration: Readonly<Record<string, unknown>>;
  readonly externalIds: readonly string[];
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** Where an installation's signing secret is sealed. */
export const installationSecretPlace = (id: string): VaultPlace => [
  'installations',
  'sealed_signing_secret',
  id,
];

/** @returns false, with nothing changed, where the organization has installed this integration already. */
export async function insertInstallation(
  database: Database,
  installation: Installation & { readonly sealedSigningSecret: string },
): Promise<boolean> {
  const { id, integration, externalIds } = installation;
  const inserted = await database
    .insertInto('installations')
    .values({
      id,
      integration,
      organization: installation.organization,
      endpoint_key: installation.endpointKey,
      status: installation.status,
      configuration: JSON.stringify(installation.configuration),
      external_ids: JSON.stringify(externalIds),
      sealed_signing_secret: installation.sealedSigningSecret,
      created_at: installation.createdAt,
      updated_at: installation.updatedAt,
    })
    .onConflict((conflict) => conflict.columns(['integration', 'organization']).doNothing())
    .returning('id')
    .executeTakeFirst();
  if (inserted === undefined) return false;
  if (externalIds.length > 0) {
    const rows = externalIds.map((externalId) => ({
      integration,
      external_id: externalId,
      installation_id: id,
    }));
    await database.insertInto('external_ids').values(rows).execute();
  }
  return true;
}

export async function readInstallation(database: Database, id: string): Promise<Installation | undefined> {
  const row = await database.selectFrom('installations').selectAll().where('id', '=', id).executeTakeFirst();
  return row && installationOf(row);
}

/** The installation behind a public endpoint, with its sealed signing secret. */
export async function readInstallationByEndpoint(
  database: Database,
  endpointKey: string,
): Promise<(Installation & { readonly sealedSigningSecret: string }) | undefined> {
  const row = await database
    .selectFrom('installations')
    .selectAll()
    .where('endpoint_key', '=', endpointKey)
    .executeTakeFirst();
  return row && { ...installationOf(row), sealedSigningSecret: row.sealed_signing_secret };
}

export interface InstallationQuery extends PageRequest {
  readonly integration: string;
  /** Only this organization's. */
  readonly organization?: string | undefined;
  /** Only those that carry this external id. */
  readonly externalId?: string | undefined;
}

/** In the order of their ids. */
export async function listInstallations(
  database: Database,
  query: InstallationQuery,
): Promise<Page<Installation>> {
  const { integration, organization, externalId, cursor, limit } = query;
  let select = database.selectFrom('installations').selectAll().where('integration', '=', integration);
  if (organization !== undefined) select = select.where('organization', '=', organization);
  if (externalId !== undefined) {
    const carriers = database
      .selectFrom('external_ids')
      .select('installation_id')
      .where('integration', '=', integration)
      .where('external_id', '=', externalId);
    select = select.where('id', 'in', carriers);
  }
  if (cursor !== undefined) select = select.where('id', '>', cursor);
  const rows = await select
    .orderBy('id')
    .limit(limit + 1)
    .execute();
  return page(rows, limit, (row) => row.id, installationOf);
}

const installationOf = (row: Tables['installations']): Installation => ({
  id: row.id,
  integration: row.integration,
  organization: row.organization,
  endpointKey: row.endpoint_key,
  status: row.status,
  configuration: JSON.parse(row.configuration),
  externalIds: JSON.parse(row.external_ids),
  createdAt: row.created_at,
  updatedAt: row.updated_at,
});
