/**
 * Creates installations in organizations, and then targets in their spaces and sites
 * (docs/contract/configuration.md#states, docs/contract/manifest.md#visibility).
 */

import { AnnexError } from '../../../errors.ts';
import { endpointKey, installationId, signingSecret } from '../../../model/identifiers.ts';
import {
  admitsLevel,
  EXTERNAL_IDS_MAX,
  initialInstallation,
  type Selection,
  type TargetName,
  wholeInstallation,
} from '../../../model/installation.ts';
import type { Level } from '../../../model/level.ts';
import { limitClause } from '../../../model/limit-met.ts';
import type { ManifestTarget, PublishedManifest } from '../../../model/manifest/manifest.ts';
import { mayInstall } from '../../../model/manifest/visibility.ts';
import { unknownIntegration } from '../../../model/unknown-name-errors.ts';
import { lock } from '../../database/locks.ts';
import { readIntegration } from '../integrations/integration-rows.ts';
import { changeInstallation } from '../integrations/schedule-changes.ts';
import { organizationLock, refuseSubdomain } from '../organizations.ts';
import { isInstallToken } from './install-links.ts';
import type { Change } from './installation-changes.ts';
import {
  countInstallations,
  countTargets,
  findTarget,
  type Installation,
  insertTarget,
  signingSecretPlace,
} from './target-rows.ts';

export interface InstallRequest {
  readonly integration: string;
  /** The organization in which it is installed. */
  readonly organization: string;
  readonly externalIds: readonly string[];
  /** Token of the integration's install link, if the caller has one. */
  readonly installToken?: string | undefined;
  /** `all` if absent. */
  readonly spaceSelection?: Selection | undefined;
  readonly siteSelection?: Selection | undefined;
}

export interface InstallBelowRequest {
  readonly installationId: string;
  readonly level: Exclude<Level, 'organization'>;
  /** Id of the space or the site. */
  readonly place: string;
  readonly externalIds: readonly string[];
}

export async function install(change: Change, request: InstallRequest): Promise<Installation> {
  const { integration: name, organization } = request;
  // Of two installs at once, the second counts the first.
  await lock(change.transaction, organizationLock(organization));
  await refuseSubdomain(change.transaction, organization);
  await refuseUninvited(change, request);
  await change.refuseWhileBusy({ integration: name, organization });
  const target = wholeInstallation(installationId(change.deps.randomBytes));
  const added = await addTarget(change, await change.manifest(name), {
    ...target,
    integration: name,
    organization,
    externalIds: request.externalIds,
    spaceSelection: request.spaceSelection ?? 'all',
    siteSelection: request.siteSelection ?? 'all',
  });
  await refuseTooManyInstallations(change, organization);
  return added;
}

export async function installBelow(change: Change, request: InstallBelowRequest): Promise<Installation> {
  const { installationId, level, place, externalIds } = request;
  const { integration, organization } = await change.hold(wholeInstallation(installationId));
  const manifest = await change.manifest(integration);
  if (!admitsLevel(manifestTarget(manifest), level)) {
    const message = `Integration "${integration}" is not for ${level}s: the \`target\` of its manifest is "${manifestTarget(manifest)}".`;
    throw new AnnexError('INSTALLATION_LEVEL', message);
  }
  await change.refuseWhileBusy({ installationId });
  const added = await addTarget(change, manifest, {
    ...{ installationId, level, place, integration, organization, externalIds },
    spaceSelection: 'all',
    siteSelection: 'all',
  });
  await refuseTooManyPlaces(change, added);
  return added;
}

/** `all` if absent, as in manifests of versions that are older than this member. */
const manifestTarget = ({ target }: Partial<PublishedManifest>): ManifestTarget => target ?? 'all';

/** @throws `INTEGRATION_UNKNOWN`, `INSTALLATION_FORBIDDEN` */
async function refuseUninvited(change: Change, request: InstallRequest): Promise<void> {
  const { integration: name, organization, installToken } = request;
  const integration = await readIntegration(change.transaction, name);
  if (integration === undefined) throw unknownIntegration(name);
  const byLink = installToken !== undefined && (await isInstallToken(change.transaction, name, installToken));
  if (mayInstall(integration.visibility, integration.organization, organization, byLink)) return;
  const { visibility } = integration;
  const rest = visibility === 'unlisted' ? ` ${linkHint(installToken)}` : '';
  const message = `Integration "${name}" is ${visibility}; "${organization}" may not install it.${rest}`;
  throw new AnnexError('INSTALLATION_FORBIDDEN', message);
}

/**
 * Only for callers that can see the integration; the route answers all others that it does not
 * exist.
 */
const linkHint = (installToken: string | undefined): string =>
  installToken === undefined
    ? 'Send the token of its install link as "installToken".'
    : 'The installToken is not that of its install link; it may have been replaced.';

type NewTarget = Pick<
  Installation,
  keyof TargetName | 'integration' | 'organization' | 'externalIds' | 'spaceSelection' | 'siteSelection'
>;

/** @throws `INSTALLATION_EXISTS` */
async function addTarget(
  change: Change,
  manifest: PublishedManifest,
  target: NewTarget,
): Promise<Installation> {
  const { deps, transaction, now } = change;
  const installation: Installation = {
    ...target,
    ...initialInstallation(manifest, target.level),
    hasCredentials: false,
    externalIds: externalIdSet(target.externalIds),
    endpointKey: endpointKey(deps.randomBytes),
    revision: 1,
    pausedAt: null,
    createdAt: now,
    updatedAt: now,
  };
  const sealedSigningSecret = deps.vault.seal(signingSecretPlace(target), signingSecret(deps.randomBytes));
  const added = await insertTarget(transaction, {
    ...installation,
    sealedSigningSecret,
    sealedCredentials: null,
  });
  if (!added) throw await alreadyInstalled(change, target);
  await changeInstallation(transaction, manifest, installation, now);
  await change.writeSetupEvent(installation);
  if (installation.status === 'pending') change.tell('installation.pending', installation);
  await change.audit('installation.create', installation);
  return installation;
}

async function alreadyInstalled(change: Change, target: NewTarget): Promise<AnnexError> {
  const there = await findTarget(change.transaction, target);
  const where = target.level === 'organization' ? '' : ` in ${target.level} "${target.place}"`;
  const message = `"${target.organization}" has already installed "${target.integration}"${where}.`;
  return new AnnexError('INSTALLATION_EXISTS', message, { extra: { installation: there } });
}

/**
 * Attack: an organization publishes and installs without end, so that each of its events becomes a
 * delivery for every installation, in one transaction for which all other writers wait.
 *
 * @throws `ORGANIZATION_FULL`
 */
async function refuseTooManyInstallations(change: Change, organization: string): Promise<void> {
  const { installationsPerOrganization: max } = change.deps.limits;
  const used = await countInstallations(change.transaction, organization);
  if (used <= max) return;
  const limit = { name: 'installationsPerOrganization', max, used } as const;
  const message = `"${organization}" would have ${used} integrations installed; ${limitClause(limit)}.`;
  throw new AnnexError('ORGANIZATION_FULL', message, { limit });
}

/** @throws `INSTALLATION_FULL` */
async function refuseTooManyPlaces(change: Change, added: TargetName): Promise<void> {
  const { placesPerInstallation: max } = change.deps.limits;
  const used = await countTargets(change.transaction, added);
  if (used <= max) return;
  const limit = { name: 'placesPerInstallation', max, used } as const;
  const message = `Installation "${added.installationId}" would be in ${used} ${added.level}s; ${limitClause(limit)}.`;
  throw new AnnexError('INSTALLATION_FULL', message, { limit });
}

/**
 * External ids without duplicates: each is a row. @throws `REQUEST_INVALID` if there are too many
 */
export function externalIdSet(externalIds: readonly string[]): readonly string[] {
  const set = [...new Set(externalIds)];
  if (set.length <= EXTERNAL_IDS_MAX) return set;
  const message = `externalIds: There are ${set.length}; at most ${EXTERNAL_IDS_MAX} are allowed.`;
  throw new AnnexError('REQUEST_INVALID', message);
}
