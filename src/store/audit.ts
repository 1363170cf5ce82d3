/**
 * The audit: who changed what, when and from where, to be read.
 *
 * Entries are made where the changes are (`audit-rows.ts`), in their transactions. Here they are listed, and forgotten by
 * age; nothing changes one, and nothing takes a single one away.
 */
import type { Selectable } from 'kysely';
import { DAY_MS, type Limits } from '../limits.ts';
import type { Level } from '../model/installation.ts';
import type { AuditAction } from './audit-rows.ts';
import { inBatches, ROWS_PER_BATCH } from './batches.ts';
import { type Page, type PageRequest, page } from './page.ts';
import { Sequence } from './sequence.ts';
import type { Database, Tables } from './tables.ts';

/** An entry as it is read; `id` sorts in the order of changes. */
export interface AuditRecord {
  readonly id: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly action: string;
  /** Kind of the token that it was done with. */
  readonly actor: string;
  /** Whose token it was; absent where it was of no organization. */
  readonly actorOrganization?: string;
  /** Absent where it was a runtime token. */
  readonly tokenId?: string;
  /** Absent where an integration's own code did it, which comes in process. */
  readonly address?: string;
  readonly requestId: string;
  readonly organization?: string;
  readonly integration?: string;
  readonly installationId?: string;
  readonly level?: Level;
  readonly place?: string;
  /** Names of what was changed, never values. */
  readonly details: Readonly<Record<string, unknown>>;
}

/** Each member leaves out the entries of others. */
export interface AuditQuery extends PageRequest {
  readonly organization?: string | undefined;
  readonly integration?: string | undefined;
  readonly installationId?: string | undefined;
  readonly action?: AuditAction | undefined;
}

export interface AuditParts {
  readonly database: Database;
  readonly limits: Pick<Limits, 'auditDays'>;
  readonly clock: () => number;
}

export class Audit {
  readonly #parts: AuditParts;

  constructor(parts: AuditParts) {
    this.#parts = parts;
  }

  /** Newest first. */
  async list(query: AuditQuery): Promise<Page<AuditRecord>> {
    const { organization, integration, installationId, action, cursor, limit } = query;
    let select = this.#parts.database.selectFrom('audit').selectAll();
    if (organization !== undefined) select = select.where('organization', '=', organization);
    if (integration !== undefined) select = select.where('integration', '=', integration);
    if (installationId !== undefined) select = select.where('installation_id', '=', installationId);
    if (action !== undefined) select = select.where('action', '=', action);
    if (cursor !== undefined) select = select.where('id', '<', cursor);
    const rows = await select
      .orderBy('id', 'desc')
      .limit(limit + 1)
      .execute();
    return page(rows, limit, (row) => row.id, recordOf);
  }

  /** Forgets the entries that are older than `auditDays`. */
  async prune(): Promise<void> {
    const { database, limits, clock } = this.#parts;
    const kept = Sequence.first(clock() - limits.auditDays * DAY_MS);
    await inBatches(async () => {
      const oldest = database
        .selectFrom('audit')
        .select('id')
        .where('id', '<', kept)
        .orderBy('id')
        .limit(ROWS_PER_BATCH);
      const result = await database.deleteFrom('audit').where('id', 'in', oldest).executeTakeFirst();
      return Number(result.numDeletedRows);
    });
  }
}

function recordOf(row: Selectable<Tables['audit']>): AuditRecord {
  const { token_id: tokenId, installation_id: installationId, request_id: requestId, details, ...rest } = row;
  const { id, at, action, actor, actor_organization: actorOrganization } = rest;
  const { address, organization, integration, level, place } = rest;
  return {
    ...{ id, at, action, actor, requestId },
    ...(actorOrganization !== null && { actorOrganization }),
    ...(tokenId !== null && { tokenId }),
    ...(address !== null && { address }),
    ...(organization !== null && { organization }),
    ...(integration !== null && { integration }),
    ...(installationId !== null && { installationId }),
    ...(level !== null && { level }),
    ...(place !== null && { place }),
    details: JSON.parse(details),
  };
}
