/**
 * The rows of the audit: who changed what, when and from where. Written in the transaction of the change itself, so that
 * there is no change without its row and no row without its change. Rows hold names of what was changed, never values.
 */

import type { Database } from '../database/tables.ts';
import type { Actor } from '../model/actor.ts';
import type { TargetName } from '../model/installation.ts';
import { isRuntime } from '../model/principal.ts';

/** What can be done to what: `noun.verb`. */
export const AUDIT_ACTIONS = [
  ...(['integration.publish', 'integration.activate', 'integration.delete', 'integration.limits'] as const),
  ...(['integration.secrets', 'install-link.create', 'install-link.delete'] as const),
  ...(['installation.create', 'installation.edit', 'installation.pause', 'installation.resume'] as const),
  ...(['installation.delete', 'token.create', 'token.revoke'] as const),
  ...(['delivery.redeliver', 'delivery.replay', 'delivery.cancel'] as const),
  ...(['webhook.reveal', 'webhook.rotate', 'webhook.test'] as const),
] as const;
export type AuditAction = (typeof AUDIT_ACTIONS)[number];

export interface AuditEntry {
  readonly action: AuditAction;
  /** The organization that it concerns: the owner of an integration, whoever installed an installation. */
  readonly organization?: string;
  readonly integration?: string;
  readonly target?: TargetName;
  /** Names of what was changed, never values. */
  readonly details?: Readonly<Record<string, unknown>>;
}

/** Notes a change, in its transaction. @param id sorts in the order of changes */
export async function insertAudit(
  transaction: Database,
  {
    id,
    at,
    by,
    entry,
  }: { readonly id: string; readonly at: number; readonly by: Actor; readonly entry: AuditEntry },
): Promise<void> {
  const { principal } = by;
  await transaction
    .insertInto('audit')
    .values({
      id,
      at,
      action: entry.action,
      actor: principal.kind,
      actor_organization: (principal.kind === 'organization' && principal.organization) || null,
      token_id: isRuntime(principal) ? null : principal.tokenId,
      address: by.address ?? null,
      request_id: by.requestId,
      organization: entry.organization ?? null,
      integration: entry.integration ?? null,
      installation_id: entry.target?.installationId ?? null,
      level: entry.target?.level ?? null,
      place: entry.target?.place ?? null,
      details: JSON.stringify(entry.details ?? {}),
    })
    .execute();
}
