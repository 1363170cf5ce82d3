/**
 * Installations, and what lies below them in spaces and sites: their whole life (SPEC "States and transitions", REFERENCE
 * D11, D12).
 *
 * Each change is one transaction (`installation-changes.ts`): the row, the event that tells its integration and the entry
 * in the audit are all there after a crash, or none of them is. Who may ask for what is decided at the doors; what no
 * caller may break (one installation an organization, visibility, what the manifest allows) is held here, inside the
 * transaction.
 */

import type { Page } from '../../database/page.ts';
import type { Actor } from '../../model/actor.ts';
import type { ConfigurationProblem } from '../../model/configuration-check.ts';
import { CREDENTIALS_PROPERTY, type TargetName } from '../../model/installation.ts';
import { readActiveVersion } from '../integrations/integration-rows.ts';
import { ConfigurationChecks } from './configuration-checks.ts';
import { Changes, type InstallationsParts, unsealed } from './installation-changes.ts';
import {
  type EditedInstallation,
  edit,
  type InstallationEdit,
  type OnCondition,
  refuseUnstorable,
  setPaused,
} from './installation-edit.ts';
import { uninstall } from './installation-removal.ts';
import {
  type InstallBelowRequest,
  type InstallRequest,
  install,
  installBelow,
} from './installation-setup.ts';
import {
  type BelowQuery,
  type Installation,
  type InstallationQuery,
  listBelow,
  listInstallations,
  readTarget,
} from './target-rows.ts';

export class Installations {
  readonly #parts: InstallationsParts;
  readonly #changes: Changes;
  readonly #checks: ConfigurationChecks;

  constructor(parts: InstallationsParts) {
    this.#parts = parts;
    this.#changes = new Changes(parts);
    this.#checks = new ConfigurationChecks(parts.webhookUrlRefusal ?? (() => undefined));
  }

  /**
   * Installs the active version into an organization: status and configuration as REFERENCE D11 has them at first.
   *
   * @throws `INTEGRATION_UNKNOWN`, `INSTALLATION_FORBIDDEN` (REFERENCE D12), `INSTALLATION_EXISTS`, whose `extra` names
   *   the installation there is, `ORGANIZATION_FULL`, `INSTALLATION_BUSY`; `CALL_TOO_DEEP`, as every change here
   */
  install(request: InstallRequest, by: Actor): Promise<Installation> {
    return this.#changes.make(by, (change) => install(change, request));
  }

  /**
   * Installs what an organization has installed into a space or a site of it, with an endpoint and a signing secret of its
   * own.
   *
   * @throws `INSTALLATION_UNKNOWN`, `INSTALLATION_LEVEL` where the manifest's `target` does not ask for it,
   *   `INSTALLATION_EXISTS`, `INSTALLATION_FULL`, `INSTALLATION_BUSY`
   */
  installBelow(request: InstallBelowRequest, by: Actor): Promise<Installation> {
    return this.#changes.make(by, (change) => installBelow(change, request));
  }

  /** One target; undefined where there is none of that name. */
  async read(name: TargetName): Promise<Installation | undefined> {
    const target = await readTarget(this.#parts.database, name);
    return target && unsealed(target);
  }

  /**
   * What keeps a target's configuration from being valid by the manifest that rules now; empty where nothing does, and where
   * its integration is gone. It may be active all the same: a publish that asks for more leaves every status as it is.
   */
  async problemsOf(target: Installation): Promise<readonly ConfigurationProblem[]> {
    const active = await readActiveVersion(this.#parts.database, target.integration);
    if (active === undefined) return [];
    // That there are credentials is all that is asked of them, so they stay sealed.
    const credentials = target.hasCredentials && { [CREDENTIALS_PROPERTY]: {} };
    return this.#checks.problems(active.version.manifest, target.level, {
      ...target.configuration,
      ...credentials,
    });
  }

  /** Installations in organizations, by id. */
  list(query: InstallationQuery): Promise<Page<Installation>> {
    return listInstallations(this.#parts.database, query);
  }

  /** What of one installation is in spaces, or in sites: by the id of the place. */
  listBelow(query: BelowQuery): Promise<Page<Installation>> {
    return listBelow(this.#parts.database, query);
  }

  /**
   * Changes the members that are given. What is stored need not be valid: the whole configuration that comes of it decides
   * whether a pending target becomes active, and the problems say why (REFERENCE D11). One that is paused stays so; one that
   * is active is not made invalid.
   *
   * @throws `CONFIGURATION_INVALID`, `INSTALLATION_UNKNOWN`, `INSTALLATION_CHANGED`, `INSTALLATION_BUSY`; `REQUEST_TOO_LARGE` over
   *   `configurationBytes`; `REQUEST_INVALID` for more external ids than there may be, and for JSON that cannot be stored.
   *   Nothing is changed then.
   */
  async edit(
    name: TargetName,
    asked: InstallationEdit,
    on: OnCondition,
    by: Actor,
  ): Promise<EditedInstallation> {
    refuseUnstorable(asked);
    return this.#changes.make(by, (change) => edit(change, this.#checks, name, { ...asked, ...on }));
  }

  /** From now on no event reaches it, and its endpoint answers 503. @throws `INSTALLATION_UNKNOWN`, `INSTALLATION_CHANGED` */
  pause(name: TargetName, by: Actor, on: OnCondition = {}): Promise<Installation> {
    return this.#changes.make(by, (change) => setPaused(change, this.#checks, name, { ...on, paused: true }));
  }

  /** Active again, or pending, as its configuration is valid. @throws `INSTALLATION_UNKNOWN`, `INSTALLATION_CHANGED` */
  resume(name: TargetName, by: Actor, on: OnCondition = {}): Promise<Installation> {
    return this.#changes.make(by, (change) =>
      setPaused(change, this.#checks, name, { ...on, paused: false }),
    );
  }

  /**
   * Removes a target with all that belonged to it; an installation with everything below it. Its integration hears of each
   * target that is gone; of earlier changes that it has not heard of, it hears no more.
   *
   * @throws `INSTALLATION_UNKNOWN`, `INSTALLATION_CHANGED`
   */
  uninstall(name: TargetName, by: Actor, on: OnCondition = {}): Promise<void> {
    return this.#changes.make(by, (change) => uninstall(change, name, on));
  }
}
