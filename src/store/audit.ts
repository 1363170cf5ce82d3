/**
 * The audit: who changed what, when and from where, to be read.
 *
 * Entries are made where the changes are (`audit-rows.ts`), in their transactions. Here they are listed, and forgotten by
 * age; nothing changes one, and nothing takes a single one away.
 */
import { expressionBuilder, type Selectable } from 'kysely';
import { inBatches, ROWS_PER_BATCH } from '../database/batches.ts';
import { type Page, type PageRequest, page } from '../database/page.ts';
import { Sequence } from '../database/sequence.ts';
import type { Database, Tables } from '../database/tables.ts';
import { DAY_MS, type Limits } from '../limits.ts';
import type { Level } from '../model/installation.ts';
import type { AuditAction } from './audit-rows.ts';

/** Rows that one page looks at: a statement holds up the event loop for as long as it runs. */
export const ROWS_LOOKED_AT = 5_000;

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

  /**
   * Newest first. A page may be short, and is the last if it has no cursor.
   *
   * The attack: pages of an action that never was, each of which would read all there is. One member of the query is found by
   * an index. The others are looked for in so many rows of it, in a subquery, so that no other index is used instead.
   */
  async list(query: AuditQuery): Promise<Page<AuditRecord>> {
    const { cursor, limit } = query;
    const { database } = this.#parts;
    const { range, meant } = conditions(query);
    let inRange = database.selectFrom('audit').orderBy('id', 'desc');
    if (range !== undefined) inRange = inRange.where(range);
    if (cursor !== undefined) inRange = inRange.where('id', '<', cursor);
    if (meant.length === 0) {
      const rows = await inRange
        .selectAll()
        .limit(limit + 1)
        .execute();
      return page(rows, limit, (row) => row.id, recordOf);
    }
    const last = await inRange
      .select('id')
      .offset(ROWS_LOOKED_AT - 1)
      .limit(1)
      .executeTakeFirst();
    const rows = await database
      .selectFrom(inRange.selectAll().limit(ROWS_LOOKED_AT).as('looked_at'))
      .selectAll()
      .where(eb.and(meant))
      .orderBy('id', 'desc')
      .limit(limit + 1)
      .execute();
    const found = page(rows, limit, (row) => row.id, recordOf);
    return found.next === undefined && last !== undefined ? { ...found, next: last.id } : found;
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

const eb = expressionBuilder<Tables, 'audit'>();

/** What an index finds: the member of which there are fewest entries as a rule. And what is looked for in that. */
function conditions({ organization, integration, installationId, action }: AuditQuery) {
  const [range, ...others] = [
    ...(installationId === undefined ? [] : [eb('installation_id', '=', installationId)]),
    ...(organization === undefined ? [] : [eb('organization', '=', organization)]),
    ...(integration === undefined ? [] : [eb('integration', '=', integration)]),
  ];
  return { range, meant: action === undefined ? others : [...others, eb('action', '=', action)] };
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
