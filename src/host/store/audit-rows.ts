/**
 * Writes audit entries: what was changed, when, by which principal and from which address. Each
 * entry is written in the transaction of its change, so there is no change without its entry and no
 * entry without its change.
 */

import type { Actor } from '../../model/actor.ts';
import type { TargetName } from '../../model/installation.ts';
import { isRuntime } from '../../model/principal.ts';
import type { Database } from '../database/tables.ts';

/** The kinds of change: `noun.verb`. */
export const AUDIT_ACTIONS = [
  ...(['integration.publish', 'integration.activate', 'integration.delete', 'integration.limits'] as const),
  ...(['integration.approve', 'integration.refuse'] as const),
  ...(['integration.secrets', 'install-link.create', 'install-link.delete'] as const),
  ...(['installation.create', 'installation.edit', 'installation.pause', 'installation.resume'] as const),
  ...(['installation.delete', 'token.create', 'token.revoke', 'token.recover'] as const),
  ...(['delivery.redeliver', 'delivery.replay', 'delivery.cancel'] as const),
  ...(['webhook.disable', 'webhook.enable', 'webhook.headers'] as const),
  ...(['event-type.declare', 'event-type.change', 'event-type.delete'] as const),
  ...(['webhook.reveal', 'webhook.rotate', 'webhook.test', 'statement-keys.rotate'] as const),
  ...(['organization.declare', 'organization.change', 'organization.delete'] as const),
  ...(['storage.delete', 'schedule.run', 'ui-token.create'] as const),
] as const;
export type AuditAction = (typeof AUDIT_ACTIONS)[number];

export interface AuditEntry {
  readonly action: AuditAction;
  /**
   * The organization concerned: the owner of an integration, or the one that installed an
   * installation.
   */
  readonly organization?: string;
  readonly integration?: string;
  readonly target?: TargetName;
  /** Names of what was changed, never values. */
  readonly details?: Readonly<Record<string, unknown>>;
}

/** Writes an entry in the transaction of its change. @param id sorts in the order of changes */
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
