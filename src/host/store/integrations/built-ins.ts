/**
 * Rows of built-in integrations: the content last published of each, and another name for one whose
 * name is taken. The version number is no substitute for the content: the operator may roll back a
 * built-in integration or delete it.
 */

import { movedBuiltIn } from '../../../model/identifiers.ts';
import type { Database } from '../../database/tables.ts';
import type { Vault } from '../vault/vault.ts';
import { integrationSecretPlace, type NewIntegration, readIntegration } from './integration-rows.ts';

export class BuiltIns {
  readonly #database: Database;

  constructor({ database }: { readonly database: Database }) {
    this.#database = database;
  }

  /** Hash of the content last published under this name; undefined if none was. */
  async contentOf(name: string): Promise<string | undefined> {
    const row = await this.#database
      .selectFrom('built_ins')
      .select('content_hash')
      .where('name', '=', name)
      .executeTakeFirst();
    return row?.content_hash;
  }

  /** Records that this content is published. */
  async published(name: string, contentHash: string): Promise<void> {
    await this.#database
      .insertInto('built_ins')
      .values({ name, content_hash: contentHash })
      .onConflict((conflict) => conflict.column('name').doUpdateSet({ content_hash: contentHash }))
      .execute();
  }
}

/** The integration that gets the name. */
interface Successor extends NewIntegration {
  readonly organization: string;
  readonly now: number;
}

/**
 * Gives a built-in integration its other name, with its versions and installations, and leaves the
 * row of the first name to another integration. That one has an endpoint and a signing secret of
 * its own, and goes on with the version numbers: nothing that is cached by the first name is its.
 *
 * Deliveries keep the name that they were made under: they find their target by its endpoint.
 *
 * @returns whether the other name was free
 */
export async function moveAside(
  transaction: Database,
  vault: Pick<Vault, 'open' | 'seal'>,
  name: string,
  { organization, endpointKey, sealedSigningSecret, now }: Successor,
): Promise<boolean> {
  const moved = movedBuiltIn(name);
  if ((await readIntegration(transaction, moved)) !== undefined) return false;
  const row = await transaction
    .selectFrom('integrations')
    .selectAll()
    .where('name', '=', name)
    .executeTakeFirstOrThrow();
  await transaction
    .updateTable('integrations')
    .set({ organization, endpoint_key: endpointKey, sealed_signing_secret: sealedSigningSecret })
    .set({ lowered_limits: '{}', install_link_hash: null, created_at: now })
    .set({ waiting_version: null, under_review: 0 })
    .where('name', '=', name)
    .execute();
  const secret = vault.open(integrationSecretPlace(name), row.sealed_signing_secret);
  const sealed = vault.seal(integrationSecretPlace(moved), secret);
  await transaction
    .insertInto('integrations')
    .values({ ...row, name: moved, sealed_signing_secret: sealed })
    .execute();
  await moveVersions(transaction, name, moved);
  for (const table of ['external_ids', 'life_events', 'schedules', 'schedule_changes'] as const)
    await transaction
      .updateTable(table)
      .set({ integration: moved })
      .where('integration', '=', name)
      .execute();
  await moveTargets(transaction, name, moved);
  return true;
}

/** Images refer to their version, so it is copied before they are moved. */
async function moveVersions(transaction: Database, name: string, moved: string): Promise<void> {
  const versions = await transaction
    .selectFrom('versions')
    .selectAll()
    .where('integration', '=', name)
    .execute();
  for (const version of versions) {
    const manifest = JSON.stringify({ ...JSON.parse(version.manifest), name: moved });
    await transaction
      .insertInto('versions')
      .values({ ...version, integration: moved, manifest })
      .execute();
  }
  await transaction
    .updateTable('images')
    .set({ integration: moved })
    .where('integration', '=', name)
    .execute();
  await transaction.deleteFrom('versions').where('integration', '=', name).execute();
}

/**
 * Until none is left: a statement of PostgreSQL that waited for a change of an installation does
 * not see the space or site that this change added.
 */
async function moveTargets(transaction: Database, name: string, moved: string): Promise<void> {
  const { numUpdatedRows } = await transaction
    .updateTable('targets')
    .set({ integration: moved })
    .where('integration', '=', name)
    .executeTakeFirst();
  if (numUpdatedRows > 0n) await moveTargets(transaction, name, moved);
}
