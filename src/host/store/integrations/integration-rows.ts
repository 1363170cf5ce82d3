/**
 * Rows of integrations and their versions: SQL only, no caches and no decisions.
 *
 * Each function runs in the given database or transaction.
 */
import type { Selectable } from 'kysely';
import type { PublishedManifest } from '../../../model/manifest/manifest.ts';
import { storedManifest } from '../../../model/manifest/stored-manifest.ts';
import type { Visibility } from '../../../model/manifest/visibility.ts';
import type { Placement, Review, ReviewState } from '../../../model/review.ts';
import { announce } from '../../database/notices.ts';
import { type Page, type PageRequest, page } from '../../database/page.ts';
import type { Database, Tables } from '../../database/tables.ts';
import type { VaultPlace } from '../vault/vault.ts';
import { lastVersionBefore } from './removal-rows.ts';

/** An integration as it is listed; its texts are those of the active version. */
export interface Integration {
  readonly name: string;
  /** The organization that owns it. */
  readonly organization: string;
  readonly visibility: Visibility;
  readonly title: string;
  readonly description: string;
  readonly activeVersion: number;
  readonly latestVersion: number;
  /** The newest version that waits for the operator's approval, if one does. */
  readonly waitingVersion: number | undefined;
  readonly isUnderReview: boolean;
  readonly hasInstallLink: boolean;
  /** Key of its own endpoint. */
  readonly endpointKey: string;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** One published version, immutable. */
export interface Version {
  readonly number: number;
  readonly manifest: PublishedManifest;
  readonly createdAt: number;
  /** Absent if it never had to be reviewed. */
  readonly review?: Review;
}

/** Where an integration's signing secret is sealed. */
export const integrationSecretPlace = (name: string): VaultPlace => [
  'integrations',
  'sealed_signing_secret',
  name,
];

/**
 * Changes of an integration run one after the other. Names that differ only in capitals share the
 * lock, because only one owner may have them.
 */
export const integrationLock = (name: string): string => `integration ${name.toLowerCase()}`;

/** Announces another active version, or a deletion, to the other nodes. */
export async function announceVersion(transaction: Database, name: string): Promise<void> {
  await announce(transaction, 'integration', name);
  await announce(transaction, 'version', name);
}

export async function readIntegration(database: Database, name: string): Promise<Integration | undefined> {
  const row = await database
    .selectFrom('integrations')
    .selectAll()
    .where('name', '=', name)
    .executeTakeFirst();
  return row && integrationOf(row);
}

export interface IntegrationsQuery extends PageRequest {
  readonly visibleTo?: string | undefined;
  readonly isWaiting?: boolean | undefined;
}

/**
 * Sorted by name. With `visibleTo`, only integrations that belong to that organization or are
 * public. With `isWaiting`, only those with a version that waits for approval, and of them only
 * those that belong to it.
 */
export async function listIntegrations(
  database: Database,
  { visibleTo, isWaiting = false, cursor, limit }: IntegrationsQuery,
): Promise<Page<Integration>> {
  let query = database.selectFrom('integrations').selectAll();
  if (visibleTo !== undefined) {
    query = query.where((where) => {
      const own = where('organization', '=', visibleTo);
      return isWaiting ? own : where.or([own, where('visibility', '=', 'public')]);
    });
  }
  if (isWaiting) query = query.where('waiting_version', 'is not', null);
  if (cursor !== undefined) query = query.where('name', '>', cursor);
  const rows = await query
    .orderBy('name')
    .limit(limit + 1)
    .execute();
  return page(rows, limit, (row) => row.name, integrationOf);
}

/** What a new integration gets beside the members of its manifest. */
export interface NewIntegration {
  readonly sealedSigningSecret: string;
  readonly endpointKey: string;
}

/**
 * Takes the integration's next version number and places it; creates the integration if the name is
 * free. One statement takes the number, so concurrent publishes get consecutive
 * ones. Under the name of a deleted integration the numbers continue. Attack: to take over a
 * deleted name and be run with the former owner's code, which cells cache by name and number.
 *
 * @returns undefined, with nothing changed, if the name belongs to another organization
 */
export async function takeNextVersion(
  database: Database,
  manifest: PublishedManifest,
  now: number,
  { sealedSigningSecret, endpointKey, ...placement }: NewIntegration & Placement,
): Promise<number | undefined> {
  const { name, organization } = manifest;
  const texts = textsOf(manifest, placement);
  if (await isNearlyTaken(database, name, organization)) return undefined;
  const latest_version = await lastVersionBefore(database, name);
  await database
    .insertInto('integrations')
    .values({
      name,
      organization,
      ...texts,
      active_version: latest_version,
      latest_version,
      sealed_signing_secret: sealedSigningSecret,
      endpoint_key: endpointKey,
      created_at: now,
      updated_at: now,
    })
    .onConflict((conflict) => conflict.column('name').doNothing())
    .execute();
  // Attack: to publish over another organization's integration. The owner is part of the condition.
  const taken = await database
    .updateTable('integrations')
    .set((row) => ({ latest_version: row('latest_version', '+', 1) }))
    .$if(placement.isActive, (update) =>
      update.set((row) => ({ ...texts, active_version: row('latest_version', '+', 1), updated_at: now })),
    )
    .where('name', '=', name)
    .where('organization', '=', organization)
    .returning('latest_version')
    .executeTakeFirst();
  return taken?.latest_version;
}

/**
 * Attack: `GitHub` beside the `github` of another organization, to be installed in its place.
 *
 * @returns whether another organization has a name that differs only in capitals
 */
async function isNearlyTaken(database: Database, name: string, organization: string): Promise<boolean> {
  const row = await database
    .selectFrom('integrations')
    .select('name')
    .where((row) => row(row.fn<string>('lower', ['name']), '=', name.toLowerCase()))
    .where('name', '!=', name)
    .where('organization', '!=', organization)
    .executeTakeFirst();
  return row !== undefined;
}

/** The code of a version, and what the publish probe found out about it. */
export interface VersionCode {
  /** The bundle that cells run. */
  readonly script: string;
  /** JSON text. */
  readonly sourceMap: string;
  /**
   * Event types that the version handles; absent if not known, then each event is offered to the
   * code.
   */
  readonly handles?: readonly string[];
}

export async function insertVersion(database: Database, version: Version & VersionCode): Promise<void> {
  await database
    .insertInto('versions')
    .values({
      integration: version.manifest.name,
      number: version.number,
      manifest: JSON.stringify(version.manifest),
      script: version.script,
      source_map: version.sourceMap,
      handled_events: version.handles === undefined ? null : JSON.stringify(version.handles),
      ...reviewColumns(version.review),
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
    .select(['number', 'manifest', 'created_at', ...REVIEW_COLUMNS])
    .where('integration', '=', integration)
    .where('number', '=', number)
    .executeTakeFirst();
  return row && { ...versionIn(integration, { ...row, createdAt: row.created_at }), ...reviewOf(row) };
}

/**
 * Attack: a row that was altered in the database, so that the manifest of a version names another
 * integration. The secrets of that one would be opened for this one's code.
 *
 * @throws if the manifest names another integration than the row
 */
function versionIn(
  integration: string,
  {
    number,
    manifest: json,
    createdAt,
  }: Pick<Version, 'number' | 'createdAt'> & { readonly manifest: string },
): Version {
  const manifest = storedManifest(json);
  if (manifest.name !== integration)
    throw new Error(
      `The manifest of version ${number} of "${integration}" was altered: it has another name.`,
    );
  return { number, manifest, createdAt };
}

/**
 * The active version, with what calls need of its integration. One statement: between two, the
 * version could be pruned or the integration deleted.
 */
export async function readActiveVersion(database: Database, integration: string) {
  const row = await database
    .selectFrom('integrations')
    .innerJoin('versions', (join) =>
      join
        .onRef('versions.integration', '=', 'integrations.name')
        .onRef('versions.number', '=', 'integrations.active_version'),
    )
    .select(['integrations.sealed_signing_secret', 'integrations.lowered_limits', 'integrations.created_at'])
    .select('integrations.endpoint_key')
    .select(['versions.number', 'versions.manifest', 'versions.created_at as published_at'])
    .select('versions.handled_events')
    .where('integrations.name', '=', integration)
    .executeTakeFirst();
  if (row === undefined) return undefined;
  const { number, manifest, published_at: createdAt, handled_events, ...rest } = row;
  const version = versionIn(integration, { number, manifest, createdAt });
  const handles = handled_events === null ? undefined : (JSON.parse(handled_events) as readonly string[]);
  return { ...rest, version, handles };
}

/** Name of the integration with this endpoint; undefined if there is none. */
export async function readNameByEndpoint(
  database: Database,
  endpointKey: string,
): Promise<string | undefined> {
  const row = await database
    .selectFrom('integrations')
    .select('name')
    .where('endpoint_key', '=', endpointKey)
    .executeTakeFirst();
  return row?.name;
}

/** Newest first. */
export async function listVersions(
  database: Database,
  { integration, cursor, limit }: PageRequest & { readonly integration: string },
): Promise<Page<Omit<Version, 'manifest'>>> {
  let query = database
    .selectFrom('versions')
    .select(['number', 'created_at', ...REVIEW_COLUMNS])
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
    (row) => ({ number: row.number, createdAt: row.created_at, ...reviewOf(row) }),
  );
}

/** Makes an existing version the active one. */
export async function activateVersion(
  database: Database,
  { manifest, number }: Version,
  placement: Omit<Placement, 'isActive'>,
  now: number,
): Promise<void> {
  await database
    .updateTable('integrations')
    .set({ ...textsOf(manifest, placement), active_version: number, updated_at: now })
    .where('name', '=', manifest.name)
    .execute();
}

const REVIEW_COLUMNS = ['review', 'reviewed_at', 'refusal'] as const;
type ReviewColumns = Pick<Selectable<Tables['versions']>, (typeof REVIEW_COLUMNS)[number]>;

const reviewColumns = (review: Review | undefined): ReviewColumns => ({
  ...{ review: review?.state ?? null, reviewed_at: review?.at ?? null, refusal: review?.reason ?? null },
});

const reviewOf = ({ review: state, reviewed_at: at, refusal }: ReviewColumns): Pick<Version, 'review'> =>
  state === null ? {} : { review: { state, at: at ?? 0, ...(refusal !== null && { reason: refusal }) } };

/** Says of a version what the operator did. */
export async function writeReview(
  database: Database,
  { number, manifest }: Version,
  review: Review,
): Promise<void> {
  await database
    .updateTable('versions')
    .set(reviewColumns(review))
    .where('integration', '=', manifest.name)
    .where('number', '=', number)
    .execute();
}

/**
 * Versions are passed over that a version which was approved has overtaken: earlier ones that wait,
 * and where the integration becomes public with it, those that never had to be reviewed, too.
 * Attack: a private version that nobody looked at is activated when other organizations have
 * installed the approved one.
 */
export async function passOver(
  database: Database,
  integration: string,
  { number, becomesPublic, now }: { number: number; becomesPublic: boolean; now: number },
): Promise<void> {
  await database
    .updateTable('versions')
    .set(reviewColumns({ state: 'unreviewed' satisfies ReviewState, at: now }))
    .where('integration', '=', integration)
    .where('number', '<>', number)
    .where((where) =>
      where.or([
        where.and([where('review', '=', 'waiting'), where('number', '<', number)]),
        ...(becomesPublic ? [where('review', 'is', null)] : []),
      ]),
    )
    .execute();
}

/** Notes at the integration which of its versions waits, so that lists read no versions. */
export async function noteWaiting(database: Database, integration: string): Promise<void> {
  await database
    .updateTable('integrations')
    .set(({ selectFrom }) => ({
      waiting_version: selectFrom('versions')
        .select(({ fn }) => fn.max('number').as('newest'))
        .where('integration', '=', integration)
        .where('review', '=', 'waiting'),
    }))
    .where('name', '=', integration)
    .execute();
}

/** The bundle of one version, or its source map. */
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

const textsOf = (
  { title, description }: PublishedManifest,
  { visibility, isUnderReview }: Omit<Placement, 'isActive'>,
) => ({ visibility, title, description, under_review: isUnderReview ? 1 : 0 });

const integrationOf = (row: Selectable<Tables['integrations']>): Integration => ({
  name: row.name,
  organization: row.organization,
  visibility: row.visibility,
  title: row.title,
  description: row.description,
  activeVersion: row.active_version,
  latestVersion: row.latest_version,
  waitingVersion: row.waiting_version ?? undefined,
  isUnderReview: row.under_review === 1,
  hasInstallLink: row.install_link_hash !== null,
  endpointKey: row.endpoint_key,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
});

/** A file of a version: an image, or a static file. */
export interface StoredImage {
  /** From the folder of the manifest; of a static file its path in the URL, with a slash first. */
  readonly path: string;
  readonly content: Uint8Array;
}

/**
 * Rows of images: icons and previews of a version, as its manifest names them, and its assets.
 *
 * Written with their version, never changed, and removed with it.
 *
 * Stores the images of a stored version.
 */
export async function insertImages(
  database: Database,
  version: { readonly integration: string; readonly number: number },
  images: readonly StoredImage[],
): Promise<void> {
  // One by one: a statement with all of them would be as large as the upload.
  for (const { path, content } of images) {
    const base64 = Buffer.from(content.buffer, content.byteOffset, content.byteLength).toString('base64');
    const { integration, number } = version;
    await database.insertInto('images').values({ integration, number, path, content: base64 }).execute();
  }
}

export async function readImageRow(
  database: Database,
  version: { readonly integration: string; readonly number: number },
  path: string,
): Promise<Buffer | undefined> {
  const row = await database
    .selectFrom('images')
    .select('content')
    .where('integration', '=', version.integration)
    .where('number', '=', version.number)
    .where('path', '=', path)
    .executeTakeFirst();
  return row && Buffer.from(row.content, 'base64');
}

/** Paths of the static files of a version. */
export async function readStaticPaths(
  database: Database,
  version: { readonly integration: string; readonly number: number },
): Promise<readonly string[]> {
  const rows = await database
    .selectFrom('images')
    .select('path')
    .where('integration', '=', version.integration)
    .where('number', '=', version.number)
    .where('path', 'like', '/%')
    .execute();
  return rows.map(({ path }) => path);
}
