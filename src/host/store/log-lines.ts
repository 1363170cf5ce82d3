/** A line of a log, as code passes it on and as it is stored. */
import type { Selectable } from 'kysely';
import { LOG_LEVELS, type LogLevel } from '../../protocol/wire.ts';
import type { Tables } from '../database/tables.ts';

export interface LogLine {
  /** Id of the installation, or key of the tenant behind an integration's own endpoint. */
  readonly tenant: string;
  readonly version: number;
  /** `requestId` of the request to which the line belongs. */
  readonly requestId: string;
  readonly level: LogLevel;
  readonly text: string;
  /** Milliseconds since 1970. */
  readonly at: number;
}

/** A line as it is listed; `id` sorts in the order of arrival. */
export type StoredLine = LogLine & { readonly id: string };

export const lineOf = (row: Selectable<Tables['log_lines']>): StoredLine => ({
  id: row.id,
  tenant: row.installation_id,
  version: row.version,
  requestId: row.request_id,
  level: LOG_LEVELS[row.level] ?? 'info',
  text: row.text,
  at: row.at,
});
