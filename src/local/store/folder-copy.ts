/**
 * The copy of a data folder to PostgreSQL with the settings of its service. It prints nothing.
 */

import { UsageError } from '../../cli/terminal/failure.ts';
import type { Config } from '../../host/config.ts';
import { SourceStore } from '../../host/database/copy/source-store.ts';
import { type CopiedSummary, type CopyNote, copyStore } from '../../host/database/copy/store-copy.ts';
import { openMigrated, unusable } from '../../host/database/postgres/postgres-engine.ts';
import { databaseFile } from '../../host/database/sqlite/files/data-folder.ts';
import { DatabaseUnavailable } from '../../host/database/unavailable.ts';
import { VERSION } from '../../version.ts';

export interface FolderCopy {
  readonly copied: readonly CopiedSummary[];
  /** What was copied, table by table. */
  readonly summary: string;
  /** What to do next. */
  readonly next: string;
}

export interface CopyReports {
  /** About the source, for people. */
  note(message: string): void;
  progress(note: CopyNote): void;
}

/** @throws UsageError, or what keeps the copy from being made */
export async function copyFolder(
  { dataFolder: folder, databaseUrl: url }: Config,
  reports: CopyReports,
): Promise<FolderCopy> {
  if (url === undefined)
    throw new UsageError('ANNEX_DATABASE_URL must name the PostgreSQL database to copy to.');
  reports.note('reading the source');
  const note = ({ message }: { readonly message: string }) => reports.note(message);
  const source = await SourceStore.open(databaseFile(folder), { version: VERSION, note });
  try {
    const copied = await copyTo(url, source, reports);
    return { copied, summary: summary(copied), next: next(folder) };
  } finally {
    source.close();
  }
}

async function copyTo(
  url: string,
  source: SourceStore,
  { progress }: CopyReports,
): Promise<readonly CopiedSummary[]> {
  const target = await openMigrated(url, 'copy').catch((cause: unknown) => {
    throw unusable(cause);
  });
  try {
    return await copyStore({ source, target, progress });
  } catch (cause) {
    if (!(cause instanceof DatabaseUnavailable)) throw cause;
    throw new Error(`${unusable(cause).message}. Run the command again: it goes on where it was.`, { cause });
  } finally {
    await target.destroy().catch(() => undefined);
  }
}

function summary(copied: readonly CopiedSummary[]): string {
  const lines = copied.map(({ table, rows, checksum, changed, firstChanged }) => {
    const line = `${table}: ${rows} rows, the same on both sides (sha256 ${checksum})\n`;
    if (changed === 0) return line;
    return `${line}  U+0000, which PostgreSQL cannot hold, is U+FFFD in ${changed} of them: first in ${firstChanged}\n`;
  });
  const rows = copied.reduce((all, table) => all + table.rows, 0);
  return `${lines.join('')}Copied and compared: ${rows} rows of ${copied.length} tables.\n`;
}

const next = (
  folder: string,
): string => `The copy is complete and verified. ${folder} has not changed: keep it as a backup.

Next:
  1. Set ANNEX_DATABASE_URL for every node, and start no service on ${folder} any more: it would deliver a second time.
  2. Give every node the vault's keys of this store, by --vault-key-file or ANNEX_VAULT_KEYS. A node without them does not start.
  3. Start the nodes. They deliver what was waiting; leases of the stopped service are ended, nothing is to be cleared.
docs/operating/upgrade.md#moving-to-postgresql has the details.
`;
