/**
 * Installations and their targets in spaces and sites, from install to deletion
 * (docs/contract/configuration.md#states).
 *
 * Each change is one transaction (`installation-changes.ts`): the row, the lifecycle event and the
 * audit entry are all there after a crash, or none is. Routes authorize the caller; the rules that
 * hold for every caller (one installation an organization, visibility, levels of the manifest) are
 * enforced here, inside the transaction.
 */

import { setImmediate } from 'node:timers/promises';
import type { Actor } from '../../../model/actor.ts';
import type { ConfigurationProblem } from '../../../model/configuration-check.ts';
import { NO_EVENT_TYPES } from '../../../model/event-type.ts';
import { type TargetName, wholeInstallation } from '../../../model/installation.ts';
import { CREDENTIALS_PROPERTY } from '../../../model/manifest/configuration.ts';
import type { Page } from '../../database/page.ts';
import { readActiveVersion } from '../integrations/integration-rows.ts';
import { endSchedules } from '../schedule-rows.ts';
import { ConfigurationChecks } from './configuration-checks.ts';
import { type Change, Changes, type InstallationsDeps, unsealed } from './installation-changes.ts';
import {
  type EditedInstallation,
  edit,
  type InstallationEdit,
  type OnCondition,
  refuseStale,
  refuseUnstorable,
  setPaused,
} from './installation-edit.ts';
import {
  type InstallBelowRequest,
  type InstallRequest,
  install,
  installBelow,
} from './installation-setup.ts';
import { cancelSetupEvents } from './lifecycle-event-rows.ts';
import { countSpaces, listPlaces, type PlacesQuery } from './place-rows.ts';
import {
  type BelowQuery,
  credentialsPlace,
  deleteTarget,
  type Installation,
  type InstallationQuery,
  listBelow,
  listInstallations,
  readSomeBelow,
  readTarget,
  type SealedInstallation,
} from './target-rows.ts';

export class Installations {
  readonly #deps: InstallationsDeps;
  readonly #changes: Changes;
  readonly #checks: ConfigurationChecks;

  constructor(deps: InstallationsDeps) {
    this.#deps = deps;
    this.#changes = new Changes(deps);
    this.#checks = new ConfigurationChecks(
      deps.webhookUrlRefusal ?? (() => undefined),
      deps.eventTypes ?? { latest: NO_EVENT_TYPES },
    );
  }

  /**
   * Installs the active version into an organization (docs/contract/configuration.md#installation).
   *
   * @throws `INTEGRATION_UNKNOWN`, `INSTALLATION_FORBIDDEN` (docs/contract/manifest.md#visibility),
   * `INSTALLATION_EXISTS`, whose `extra` names the existing installation, `ORGANIZATION_FULL`,
   * `INSTALLATION_BUSY`; `CALL_TOO_DEEP`, as every change
   */
  install(request: InstallRequest, by: Actor): Promise<Installation> {
    return this.#changes.make(by, (change) => install(change, request));
  }

  /**
   * Adds a target in a space or a site to an installation, with its own endpoint and signing
   * secret.
   *
   * @throws `INSTALLATION_UNKNOWN`, `INSTALLATION_LEVEL` if the manifest's `target` does not admit
   * the level,
   * `INSTALLATION_EXISTS`, `INSTALLATION_FULL`, `INSTALLATION_BUSY`
   */
  installBelow(request: InstallBelowRequest, by: Actor): Promise<Installation> {
    return this.#changes.make(by, (change) => installBelow(change, request));
  }

  /**
   * One target; undefined if there is none of that name.
   *
   * @throws if its row is damaged, unless it is read `toRemove` it: then what is damaged is empty
   */
  async read(name: TargetName, use?: 'toRemove'): Promise<Installation | undefined> {
    const target = await readTarget(this.#deps.database, name, use);
    return target && unsealed(target);
  }

  /**
   * Problems of a target's configuration under the active version's manifest; empty if it is valid,
   * or its integration is deleted. The target may be active all the same: a publish with more
   * requirements leaves every status as it is.
   */
  async problemsOf(target: Installation): Promise<readonly ConfigurationProblem[]> {
    const active = await readActiveVersion(this.#deps.database, target.integration);
    if (active === undefined) return [];
    // Only the presence of credentials is checked, so they stay sealed.
    const credentials = target.hasCredentials && { [CREDENTIALS_PROPERTY]: {} };
    return this.#checks.problems(active.version.manifest, target.level, {
      ...target.configuration,
      ...credentials,
    });
  }

  /** Installations in organizations, sorted by id. */
  list(query: InstallationQuery): Promise<Page<Installation>> {
    return listInstallations(this.#deps.database, query);
  }

  /** Targets of one installation in spaces, or in sites; sorted by the id of the place. */
  listBelow(query: BelowQuery): Promise<Page<Installation>> {
    return listBelow(this.#deps.database, query);
  }

  /** Targets of all installations of an integration in spaces, or in sites. */
  listPlaces(query: PlacesQuery): Promise<Page<Installation>> {
    return listPlaces(this.#deps.database, query);
  }

  /** Numbers of spaces of these installations; those without spaces are left out. */
  spaceCounts(installationIds: readonly string[]): Promise<ReadonlyMap<string, number>> {
    return countSpaces(this.#deps.database, installationIds);
  }

  /**
   * The `oauth_credentials` of a target.
   *
   * @returns a function that opens them; it throws if they were altered, and returns undefined if
   * there are none
   */
  async credentialsOf(name: TargetName): Promise<() => unknown> {
    const { database, vault } = this.#deps;
    const sealed = (await readTarget(database, name))?.sealedCredentials ?? null;
    return () => (sealed === null ? undefined : JSON.parse(vault.open(credentialsPlace(name), sealed)));
  }

  /**
   * Changes the members that are present. A stored configuration need not be valid: the resulting
   * whole decides whether a pending target becomes active, and `problems` says why not
   * (docs/contract/configuration.md#edits). A paused target stays paused; an active one is not made
   * invalid.
   *
   * @throws `CONFIGURATION_INVALID`, `INSTALLATION_UNKNOWN`, `INSTALLATION_CHANGED`,
   * `INSTALLATION_BUSY`; `REQUEST_TOO_LARGE` over `configurationBytes`; `REQUEST_INVALID` for too
   * many external ids, and for JSON that cannot be stored. Nothing is changed then.
   */
  async edit(
    name: TargetName,
    request: InstallationEdit,
    condition: OnCondition,
    by: Actor,
  ): Promise<EditedInstallation> {
    refuseUnstorable(request);
    return this.#changes.make(by, (change) => edit(change, this.#checks, name, { ...request, ...condition }));
  }

  /**
   * Afterwards it receives no events, and its endpoint answers 503. @throws `INSTALLATION_UNKNOWN`,
   * `INSTALLATION_CHANGED`
   */
  pause(name: TargetName, by: Actor, on: OnCondition = {}): Promise<Installation> {
    return this.#changes.make(by, (change) => setPaused(change, this.#checks, name, { ...on, paused: true }));
  }

  /**
   * Makes it active or pending, depending on its configuration. @throws `INSTALLATION_UNKNOWN`,
   * `INSTALLATION_CHANGED`
   */
  resume(name: TargetName, by: Actor, on: OnCondition = {}): Promise<Installation> {
    return this.#changes.make(by, (change) =>
      setPaused(change, this.#checks, name, { ...on, paused: false }),
    );
  }

  /**
   * Removes a target with everything that belongs to it; an installation with its targets in spaces
   * and sites. Each removed target has a lifecycle event for its integration; its pending earlier
   * events are canceled.
   *
   * @throws `INSTALLATION_UNKNOWN`, `INSTALLATION_CHANGED`
   */
  uninstall(name: TargetName, by: Actor, on: OnCondition = {}): Promise<void> {
    return this.#changes.make(by, (change) => uninstall(change, name, on));
  }
}

/**
 * Targets in memory at once: a configuration has up to 64 KiB, and there may be thousands of
 * targets.
 */
const TARGETS_AT_ONCE = 8;

/**
 * Removal of an installation with its targets in spaces and sites, its log and its pending
 * lifecycle events. What remains is the lifecycle event of the deletion.
 *
 * @throws `INSTALLATION_UNKNOWN`, `INSTALLATION_CHANGED`
 */
async function uninstall(change: Change, name: TargetName, condition: OnCondition = {}): Promise<void> {
  const target = await change.hold(name, 'toRemove');
  refuseStale(target, condition);
  await cancelSetupEvents(change.transaction, name, change.now);
  if (name.level !== 'organization') {
    const whole = wholeInstallation(name.installationId);
    const installation = await readTarget(change.transaction, whole, 'toRemove');
    await remove(change, target, installation);
    return change.audit('installation.delete', target);
  }
  const below = await removeBelow(change, target);
  await remove(change, target);
  change.removed.push(name.installationId);
  await change.transaction
    .deleteFrom('log_lines')
    .where('installation_id', '=', name.installationId)
    .execute();
  await change.audit('installation.delete', target, below > 0 ? { below } : undefined);
}

/** Targets first: the lifecycle event of the installation comes after those of its targets. */
async function removeBelow(change: Change, installation: SealedInstallation): Promise<number> {
  let removed = 0;
  for (;;) {
    const some = await readSomeBelow(change.transaction, installation.installationId, TARGETS_AT_ONCE);
    if (some.length === 0) return removed;
    for (const target of some) await remove(change, target, installation);
    removed += some.length;
    // Statements on SQLite are synchronous: thousands in a row would block every call of every
    // installation.
    await setImmediate();
  }
}

async function remove(
  change: Change,
  target: SealedInstallation,
  installation?: SealedInstallation,
): Promise<void> {
  const previous = { configuration: change.readableConfigurationOf(target) };
  await change.writeDeletedEvent(target, previous, { target, ...(installation && { installation }) });
  await deleteTarget(change.transaction, target);
  if (target.level === 'organization') await endSchedules(change.transaction, target.endpointKey);
}
