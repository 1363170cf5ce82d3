/**
 * Installations, and what lies below them in spaces and sites: their whole life (SPEC "States and transitions", REFERENCE
 * D11, D12).
 *
 * Draws the transactions around the rows. Each change is one: the row, the event that tells its integration and the entry
 * in the audit are all there after a crash, or none of them is. Who may ask for what is decided at the doors; what no
 * caller may break (one installation an organization, visibility, what the manifest allows) is held here, inside the
 * transaction.
 */
import { AnnexError } from '../errors.ts';
import type { Actor } from '../model/actor.ts';
import { endpointKey, installationId, type RandomBytes, signingSecret } from '../model/identifiers.ts';
import { initialInstallation, type TargetName, wholeInstallation } from '../model/installation.ts';
import { mayInstall } from '../model/visibility.ts';
import { insertAudit } from './audit-rows.ts';
import { readIntegration, readVersion } from './integration-rows.ts';
import type { Page } from './page.ts';
import type { Sequence } from './sequence.ts';
import type { Database } from './tables.ts';
import {
  type Installation,
  type InstallationQuery,
  insertTarget,
  listInstallations,
  readTarget,
  signingSecretPlace,
} from './target-rows.ts';
import type { Vault } from './vault.ts';

export interface InstallationsParts {
  readonly database: Database;
  readonly vault: Vault;
  readonly clock: () => number;
  readonly randomBytes: RandomBytes;
  /** Numbers the entries of the audit. */
  readonly auditIds: Sequence;
  /** Told after a commit, before its answer: targets of this installation are not what they were. */
  changed(installationId: string): void;
}

export class Installations {
  readonly #parts: InstallationsParts;

  constructor(parts: InstallationsParts) {
    this.#parts = parts;
  }

  /**
   * Installs the active version into an organization: status and configuration as REFERENCE D11 has them at first.
   *
   * @throws `INTEGRATION_UNKNOWN`, `INSTALLATION_FORBIDDEN` (REFERENCE D12), `INSTALLATION_EXISTS`
   */
  async install(
    request: {
      readonly integration: string;
      readonly organization: string;
      readonly externalIds: readonly string[];
    },
    by: Actor,
  ): Promise<Installation> {
    const { database, vault, clock, randomBytes, auditIds } = this.#parts;
    const { integration: name, organization } = request;
    return database.transaction().execute(async (transaction) => {
      const integration = await readIntegration(transaction, name);
      const version = integration && (await readVersion(transaction, name, integration.activeVersion));
      if (integration === undefined || version === undefined) {
        throw new AnnexError('INTEGRATION_UNKNOWN', `There is no integration "${name}".`);
      }
      if (!mayInstall(integration.visibility, integration.organization, organization)) {
        const message = `Integration "${name}" is ${integration.visibility}; "${organization}" may not install it.`;
        throw new AnnexError('INSTALLATION_FORBIDDEN', message);
      }
      const target = wholeInstallation(installationId(randomBytes));
      const now = clock();
      const installation: Installation = {
        ...target,
        ...request,
        ...initialInstallation(version.manifest, 'organization'),
        hasCredentials: false,
        // One row an id: the external ids are a set.
        externalIds: [...new Set(request.externalIds)],
        endpointKey: endpointKey(randomBytes),
        spaceSelection: 'all',
        siteSelection: 'all',
        revision: 1,
        createdAt: now,
        updatedAt: now,
      };
      const sealedSigningSecret = vault.seal(signingSecretPlace(target), signingSecret(randomBytes));
      const sealed = { ...installation, sealedSigningSecret, sealedCredentials: null };
      if (!(await insertTarget(transaction, sealed))) {
        throw new AnnexError('INSTALLATION_EXISTS', `"${organization}" has already installed "${name}".`);
      }
      const entry = { action: 'installation.create', organization, integration: name, target } as const;
      await insertAudit(transaction, { id: auditIds.next(now), at: now, by, entry });
      return installation;
    });
  }

  /** One target; undefined where there is none of that name. */
  read(name: TargetName): Promise<Installation | undefined> {
    return readTarget(this.#parts.database, name);
  }

  /** Installations in organizations, by id. */
  list(query: InstallationQuery): Promise<Page<Installation>> {
    return listInstallations(this.#parts.database, query);
  }
}
