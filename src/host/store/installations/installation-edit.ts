/**
 * Changes of an installation: its configuration, which makes it active or pending, its external ids
 * and selections, and its pause (docs/contract/configuration.md#edits,
 * docs/contract/configuration.md#states).
 */
import { isDeepStrictEqual } from 'node:util';
import { AnnexError } from '../../../errors.ts';
import { type ConfigurationProblem, configurationFault } from '../../../model/configuration-check.ts';
import type { InstallationStatus, Selection, TargetName } from '../../../model/installation.ts';
import { limitError } from '../../../model/limit-met.ts';
import { CREDENTIALS_PROPERTY } from '../../../model/manifest/configuration.ts';
import { changeInstallation } from '../integrations/schedule-changes.ts';
import { restSchedules } from '../schedule-rows.ts';
import type { ConfigurationChecks } from './configuration-checks.ts';
import { type Change, type OpenConfiguration, unsealed } from './installation-changes.ts';
import { externalIdSet } from './installation-setup.ts';
import { renewHeldEdit } from './lifecycle-event-rows.ts';
import {
  credentialsPlace,
  type Installation,
  replaceExternalIds,
  type SealedInstallation,
  targetKey,
  updateTarget,
} from './target-rows.ts';

/**
 * What an edit does to the properties that it does not name. `remove but credentials` is for
 * callers that cannot read `oauth_credentials`: they cannot send them back, and must not remove
 * them by accident (docs/contract/configuration.md#edits).
 */
export type OtherProperties = 'stay' | 'remove' | 'remove but credentials';

/** Members that are present are changed; others stay. */
export interface InstallationEdit {
  /** Properties to set; `null` removes one. */
  readonly configuration?: Readonly<Record<string, unknown>> | undefined;
  /** What happens to properties that `configuration` does not name; they stay if it is absent. */
  readonly others?: OtherProperties | undefined;
  /** What follows where the edit adds a problem to an active target; it is refused if absent. */
  readonly ifInvalid?: 'refuse' | 'become pending' | undefined;
  readonly externalIds?: readonly string[] | undefined;
  readonly spaceSelection?: Selection | undefined;
  readonly siteSelection?: Selection | undefined;
}

/** Preconditions of a change (docs/contract/api.md#conditions). */
export interface OnCondition {
  /** The target must have this revision. */
  readonly ifRevision?: number | undefined;
  /**
   * The target must have this endpoint: after removal and a new install, revisions start again from
   * 1.
   */
  readonly ifEndpointKey?: string | undefined;
}

export interface EditedInstallation {
  readonly installation: Installation;
  /** Problems of the configuration; empty if it is valid. */
  readonly problems: readonly ConfigurationProblem[];
}

/**
 * Property names in one audit entry at most. Attack: to have 64 KiB of names stored at each edit,
 * for a year.
 */
const NAMES_AUDITED = 32;
const NAME_CHARS_AUDITED = 64;

/** @throws `REQUEST_INVALID` if it cannot be stored, independent of the manifest */
export function refuseUnstorable({ configuration, externalIds }: InstallationEdit): void {
  const fault = configuration && configurationFault(configuration);
  if (fault !== undefined) throw new AnnexError('REQUEST_INVALID', fault);
  externalIdSet(externalIds ?? []);
}

/** Edits a target in a transaction. `refuseUnstorable` runs before it, outside the transaction. */
export async function edit(
  change: Change,
  checks: ConfigurationChecks,
  name: TargetName,
  request: InstallationEdit & OnCondition,
): Promise<EditedInstallation> {
  const before = await change.hold(name);
  refuseStale(before, request);
  await change.refuseWhileBusy(before);
  // Damaged credentials can be replaced.
  const replaces = Object.hasOwn(request.configuration ?? {}, CREDENTIALS_PROPERTY);
  const previous = replaces ? change.readableConfigurationOf(before) : change.configurationOf(before);
  const patch = patchOf(previous, request);
  const configuration = patched(previous, patch);
  refuseTooLarge(change, configuration);
  const manifest = await change.manifest(before.integration);
  const problemsOf = (whole: OpenConfiguration) => checks.problems(manifest, before.level, whole);
  const problems = problemsOf(configuration);
  const isBroken = before.status === 'active' && addsProblem(problems, () => problemsOf(previous));
  if (isBroken && request.ifInvalid !== 'become pending') throw invalidError(problems);
  const status = before.status === 'pending' || isBroken ? statusOf(problems) : before.status;
  const hasEvent = status !== before.status || !isDeepStrictEqual(configuration, previous);
  // Clients save forms without a change, and code may store the same state at each call.
  if (!hasEvent && isSame(before, request)) return { installation: unsealed(before), problems };
  const after: SealedInstallation = {
    ...before,
    ...stored(change, before, configuration, patch),
    status,
    externalIds: externalIdSet(request.externalIds ?? before.externalIds),
    spaceSelection: request.spaceSelection ?? before.spaceSelection,
    siteSelection: request.siteSelection ?? before.siteSelection,
    revision: before.revision + 1,
    updatedAt: change.now,
  };
  await updateTarget(change.transaction, after);
  if (status !== before.status) await changeInstallation(change.transaction, manifest, after, change.now);
  if (request.externalIds !== undefined) await replaceExternalIds(change.transaction, after);
  if (status === 'pending' && before.status !== 'pending') change.tell('installation.pending', after);
  if (after.hasCredentials && Object.hasOwn(patch, CREDENTIALS_PROPERTY) && (await restores(change, after)))
    change.tell('connection.restored', after);
  if (hasEvent) await change.writeEditEvent(after, { status: before.status, configuration: previous });
  await change.audit('installation.edit', after, { changed: namesOf({ ...request, configuration: patch }) });
  return { installation: unsealed(after), problems };
}

/** Whether new credentials of a target restore a connection that was lost. */
async function restores({ transaction }: Change, target: Installation): Promise<boolean> {
  const row = await transaction
    .deleteFrom('lost_connections')
    .where((row) => row.and(targetKey(target)))
    .returning('since')
    .executeTakeFirst();
  return row !== undefined;
}

/** Whether external ids and selections stay what they are. */
const isSame = (
  before: SealedInstallation,
  {
    externalIds = before.externalIds,
    spaceSelection = before.spaceSelection,
    siteSelection = before.siteSelection,
  }: InstallationEdit,
): boolean =>
  isDeepStrictEqual(new Set(externalIds), new Set(before.externalIds)) &&
  isDeepStrictEqual([spaceSelection, siteSelection], [before.spaceSelection, before.siteSelection]);

/** Pauses or resumes a target; does nothing if it is in that state already. */
export async function setPaused(
  change: Change,
  checks: ConfigurationChecks,
  name: TargetName,
  { paused, ...condition }: { readonly paused: boolean } & OnCondition,
): Promise<Installation> {
  const before = await change.hold(name);
  refuseStale(before, condition);
  if ((before.status === 'paused') === paused) return unsealed(before);
  // It is paused whatever is damaged.
  const manifest = paused ? undefined : await change.manifest(before.integration);
  const status =
    manifest === undefined
      ? 'paused'
      : statusOf(checks.problems(manifest, before.level, change.configurationOf(before)));
  const revision = before.revision + 1;
  // Always later than the last pause, also if the clock was set back: deliveries armed between the
  // two belong before this one.
  const pausedAt = paused ? Math.max(change.now, (before.pausedAt ?? -1) + 1) : before.pausedAt;
  const after = { ...before, status, revision, pausedAt, updatedAt: change.now } as const;
  await updateTarget(change.transaction, after);
  if (status === 'pending') change.tell('installation.pending', after);
  if (manifest !== undefined) await changeInstallation(change.transaction, manifest, after, change.now);
  else if (after.level === 'organization') await restSchedules(change.transaction, after.endpointKey);
  if (!paused) await renewHeldEdit(change.transaction, change.deps.vault, after);
  await change.audit(paused ? 'installation.pause' : 'installation.resume', after);
  return unsealed(after);
}

/**
 * Whether an edit would make an active target invalid: one wrong property stops its events and
 * webhooks. It is refused, except where code replaces the configuration: that is a fresh start,
 * such as a new connection of an account that sends the credentials alone.
 *
 * A target may be invalid already, because a newer version has more requirements. Then an edit is
 * accepted as long as it adds no problem: code that renews its credentials cannot fill in a form.
 *
 * @param problemsBefore problems of the stored configuration
 */
function addsProblem(
  problems: readonly ConfigurationProblem[],
  problemsBefore: () => readonly ConfigurationProblem[],
): boolean {
  if (problems.length === 0) return false;
  const known = new Set(problemsBefore().map(({ property, message }) => `${property} ${message}`));
  return !problems.every(({ property, message }) => known.has(`${property} ${message}`));
}

function invalidError(problems: readonly ConfigurationProblem[]): AnnexError {
  // Problems go into `extra`, not into the message: messages are logged, and names of undeclared
  // properties are the sender's text.
  const message =
    'The installation is active, and this edit would make its configuration invalid, so nothing has changed: ' +
    `"problems" says what is wrong in ${problems.length === 1 ? 'one property' : `${problems.length} properties`}.`;
  const extra = { problems: problems.map((problem) => ({ severity: 'error', ...problem })) };
  return new AnnexError('CONFIGURATION_INVALID', message, { extra });
}

const statusOf = (problems: readonly ConfigurationProblem[]): InstallationStatus =>
  problems.length === 0 ? 'active' : 'pending';

/** @throws `INSTALLATION_CHANGED` */
export function refuseStale(
  { installationId, revision, endpointKey }: Installation,
  { ifRevision = revision, ifEndpointKey = endpointKey }: OnCondition,
): void {
  if (ifRevision === revision && ifEndpointKey === endpointKey) return;
  const now =
    ifRevision === revision
      ? 'was removed, and installed again'
      : `is at revision ${revision}, not ${ifRevision}`;
  const message = `Installation "${installationId}" ${now}: read it again, and change that.`;
  throw new AnnexError('INSTALLATION_CHANGED', message);
}

/** @throws `REQUEST_TOO_LARGE` */
function refuseTooLarge({ deps }: Change, configuration: OpenConfiguration): void {
  const { configurationBytes: max } = deps.limits;
  const used = Buffer.byteLength(JSON.stringify(configuration));
  if (used > max) throw limitError('REQUEST_TOO_LARGE', { name: 'configurationBytes', max, used });
}

/** An edit as a patch: a property that it removes is `null`. */
function patchOf(
  before: OpenConfiguration,
  { configuration, others = 'stay' }: InstallationEdit,
): Readonly<Record<string, unknown>> {
  if (configuration === undefined || others === 'stay') return configuration ?? {};
  const removed = Object.keys(before).filter(
    (name) => name !== CREDENTIALS_PROPERTY || others !== 'remove but credentials',
  );
  const unset = removed.map((name): [string, unknown] => [name, null]);
  return Object.fromEntries([...unset, ...Object.entries(configuration)]);
}

/** Existing properties keep their order; new ones are appended. */
function patched(before: OpenConfiguration, patch: Readonly<Record<string, unknown>>): OpenConfiguration {
  const members = new Map(Object.entries(before));
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) members.delete(name);
    else members.set(name, value);
  }
  // `fromEntries` defines members; assigning one named `__proto__` would set the prototype instead.
  return Object.fromEntries(members);
}

/** A configuration as it is stored: with `oauth_credentials` sealed, apart from the rest. */
function stored(
  { deps }: Change,
  before: SealedInstallation,
  whole: OpenConfiguration,
  patch: Readonly<Record<string, unknown>>,
): Pick<SealedInstallation, 'configuration' | 'sealedCredentials' | 'hasCredentials'> {
  const { [CREDENTIALS_PROPERTY]: credentials, ...configuration } = whole;
  const hasCredentials = credentials !== undefined;
  if (!Object.hasOwn(patch, CREDENTIALS_PROPERTY))
    return { configuration, hasCredentials, sealedCredentials: before.sealedCredentials };
  const sealedCredentials = hasCredentials
    ? deps.vault.seal(credentialsPlace(before), JSON.stringify(credentials))
    : null;
  return { configuration, hasCredentials, sealedCredentials };
}

/** Names of the changed members, for the audit entry. */
function namesOf({ configuration, others: _, ...others }: InstallationEdit): readonly string[] {
  const { externalIds, spaceSelection, siteSelection } = others;
  const properties = Object.keys(configuration ?? {}).map(
    (name) => `configuration.${name.slice(0, NAME_CHARS_AUDITED)}`,
  );
  const rest = Object.entries({ externalIds, spaceSelection, siteSelection });
  const more = properties.length > NAMES_AUDITED ? [`${properties.length - NAMES_AUDITED} more`] : [];
  return [
    ...properties.slice(0, NAMES_AUDITED),
    ...more,
    ...rest.flatMap(([name, value]) => (value === undefined ? [] : [name])),
  ];
}
