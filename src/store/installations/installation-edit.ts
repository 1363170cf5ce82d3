/**
 * How an installation is changed: its configuration, by which it becomes active or pending, what it carries along, and
 * whether it is paused (SPEC "States and transitions", REFERENCE D11).
 */
import { isDeepStrictEqual } from 'node:util';
import { AnnexError } from '../../errors.ts';
import { type ConfigurationProblem, configurationFault } from '../../model/configuration-check.ts';
import {
  CREDENTIALS_PROPERTY,
  type InstallationStatus,
  type Selection,
  type TargetName,
} from '../../model/installation.ts';
import { limitError } from '../../model/limit-met.ts';
import type { ConfigurationChecks } from './configuration-checks.ts';
import { type Change, type OpenConfiguration, unsealed } from './installation-changes.ts';
import { externalIdSet } from './installation-setup.ts';
import { renewHeldEdit } from './lifecycle-event-rows.ts';
import {
  credentialsPlace,
  type Installation,
  replaceExternalIds,
  type SealedInstallation,
  updateTarget,
} from './target-rows.ts';

/** Members that are given change; others stay. */
export interface InstallationEdit {
  /** A patch: a property that is given replaces the one there was, `null` removes it, others stay. */
  readonly configuration?: Readonly<Record<string, unknown>> | undefined;
  readonly externalIds?: readonly string[] | undefined;
  readonly spaceSelection?: Selection | undefined;
  readonly siteSelection?: Selection | undefined;
}

/** What a change may ask of the target it finds. */
export interface OnCondition {
  /** The change is of this revision, and of no other. */
  readonly ifRevision?: number | undefined;
  /** And of the target that has this endpoint: one that is taken out and added again counts its revisions anew. */
  readonly ifEndpointKey?: string | undefined;
}

export interface EditedInstallation {
  readonly installation: Installation;
  /** What keeps it from being active; empty where its configuration is valid. */
  readonly problems: readonly ConfigurationProblem[];
}

/** Names of properties that an entry of the audit holds. The attack: 64 KiB of names an edit, kept for a year. */
const NAMES_NOTED = 32;
const NAME_CHARS_NOTED = 64;

/** @throws `REQUEST_INVALID` where it cannot be stored, whatever the manifest says */
export function refuseUnstorable({ configuration, externalIds }: InstallationEdit): void {
  const fault = configuration && configurationFault(configuration);
  if (fault !== undefined) throw new AnnexError('REQUEST_INVALID', fault);
  externalIdSet(externalIds ?? []);
}

/** Everything but `refuseUnstorable`, which needs no transaction. */
export async function edit(
  change: Change,
  checks: ConfigurationChecks,
  name: TargetName,
  asked: InstallationEdit & OnCondition,
): Promise<EditedInstallation> {
  const before = await change.hold(name);
  refuseStale(before, asked);
  await change.refuseWhileBusy(before);
  const previous = change.configurationOf(before);
  const configuration = patched(previous, asked.configuration ?? {});
  refuseTooLarge(change, configuration);
  const manifest = await change.manifest(before.integration);
  const problemsOf = (whole: OpenConfiguration) => checks.problems(manifest, before.level, whole);
  const problems = problemsOf(configuration);
  if (before.status === 'active') refuseInvalid(problems, () => problemsOf(previous));
  const after: SealedInstallation = {
    ...before,
    ...stored(change, before, configuration, asked.configuration),
    status: before.status === 'pending' ? statusOf(problems) : before.status,
    externalIds: externalIdSet(asked.externalIds ?? before.externalIds),
    spaceSelection: asked.spaceSelection ?? before.spaceSelection,
    siteSelection: asked.siteSelection ?? before.siteSelection,
    revision: before.revision + 1,
    updatedAt: change.now,
  };
  await updateTarget(change.transaction, after);
  if (asked.externalIds !== undefined) await replaceExternalIds(change.transaction, after);
  if (after.status !== before.status || !isDeepStrictEqual(configuration, previous))
    await change.tellEdit(after, { status: before.status, configuration: previous });
  await change.note('installation.edit', after, { changed: namesOf(asked) });
  return { installation: unsealed(after), problems };
}

/** Sets or clears `paused`; where it is so already, nothing changes. */
export async function setPaused(
  change: Change,
  checks: ConfigurationChecks,
  name: TargetName,
  { paused, ...on }: { readonly paused: boolean } & OnCondition,
): Promise<Installation> {
  const before = await change.hold(name);
  refuseStale(before, on);
  if ((before.status === 'paused') === paused) return unsealed(before);
  const status = paused
    ? 'paused'
    : statusOf(await check(change, checks, before, change.configurationOf(before)));
  const revision = before.revision + 1;
  // Grows, also by a clock that was set back: what was armed since the last pause comes before this one.
  const pausedAt = paused ? Math.max(change.now, (before.pausedAt ?? -1) + 1) : before.pausedAt;
  const after = { ...before, status, revision, pausedAt, updatedAt: change.now } as const;
  await updateTarget(change.transaction, after);
  if (!paused) await renewHeldEdit(change.transaction, change.parts.vault, after);
  await change.note(paused ? 'installation.pause' : 'installation.resume', after);
  return unsealed(after);
}

/**
 * Refuses what would take an active target down: a slip in one property would otherwise end its events and its webhooks.
 *
 * A target may be invalid already, since a version was published that asks for more. Then it is changed as long as the edit
 * adds no problem: code that renews its credentials cannot be asked to fill in a form.
 *
 * @param problemsBefore of the configuration that is there
 * @throws `CONFIGURATION_INVALID`
 */
function refuseInvalid(
  problems: readonly ConfigurationProblem[],
  problemsBefore: () => readonly ConfigurationProblem[],
): void {
  if (problems.length === 0) return;
  const known = new Set(problemsBefore().map(({ property, message }) => `${property} ${message}`));
  if (problems.every(({ property, message }) => known.has(`${property} ${message}`))) return;
  // Not the problems themselves: messages are logged, and a property that nothing declares is named as its sender pleases.
  const message =
    'The installation is active, and this edit would make its configuration invalid, so nothing has changed: ' +
    `"problems" says what is wrong in ${problems.length === 1 ? 'one property' : `${problems.length} properties`}.`;
  const extra = { problems: problems.map((problem) => ({ severity: 'error', ...problem })) };
  throw new AnnexError('CONFIGURATION_INVALID', message, { extra });
}

const statusOf = (problems: readonly ConfigurationProblem[]): InstallationStatus =>
  problems.length === 0 ? 'active' : 'pending';

async function check(
  change: Change,
  checks: ConfigurationChecks,
  { integration, level }: Installation,
  configuration: OpenConfiguration,
): Promise<readonly ConfigurationProblem[]> {
  return checks.problems(await change.manifest(integration), level, configuration);
}

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
function refuseTooLarge({ parts }: Change, configuration: OpenConfiguration): void {
  const { configurationBytes: max } = parts.limits;
  const used = Buffer.byteLength(JSON.stringify(configuration));
  if (used > max) throw limitError('REQUEST_TOO_LARGE', { name: 'configurationBytes', max, used });
}

/** Properties keep their order; new ones come last. */
function patched(before: OpenConfiguration, patch: Readonly<Record<string, unknown>>): OpenConfiguration {
  const members = new Map(Object.entries(before));
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) members.delete(name);
    else members.set(name, value);
  }
  // `fromEntries` defines members; assigning one named `__proto__` would set the prototype instead.
  return Object.fromEntries(members);
}

/** A configuration as it is kept: `oauth_credentials` apart, and sealed. */
function stored(
  { parts }: Change,
  before: SealedInstallation,
  whole: OpenConfiguration,
  patch: Readonly<Record<string, unknown>> = {},
): Pick<SealedInstallation, 'configuration' | 'sealedCredentials' | 'hasCredentials'> {
  const { [CREDENTIALS_PROPERTY]: credentials, ...configuration } = whole;
  const hasCredentials = credentials !== undefined;
  if (!Object.hasOwn(patch, CREDENTIALS_PROPERTY))
    return { configuration, hasCredentials, sealedCredentials: before.sealedCredentials };
  const sealedCredentials = hasCredentials
    ? parts.vault.seal(credentialsPlace(before), JSON.stringify(credentials))
    : null;
  return { configuration, hasCredentials, sealedCredentials };
}

/** What an edit names, for the audit. */
function namesOf({ configuration, ...others }: InstallationEdit): readonly string[] {
  const { externalIds, spaceSelection, siteSelection } = others;
  const properties = Object.keys(configuration ?? {}).map(
    (name) => `configuration.${name.slice(0, NAME_CHARS_NOTED)}`,
  );
  const rest = Object.entries({ externalIds, spaceSelection, siteSelection });
  const more = properties.length > NAMES_NOTED ? [`${properties.length - NAMES_NOTED} more`] : [];
  return [
    ...properties.slice(0, NAMES_NOTED),
    ...more,
    ...rest.flatMap(([name, value]) => (value === undefined ? [] : [name])),
  ];
}
