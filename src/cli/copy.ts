/**
 * `npm run copy`: copies the store of a stopped service from SQLite to PostgreSQL, and verifies it.
 *
 * It takes the same settings as the service. A copy that was interrupted goes on where it was. The
 * SQLite file is not changed.
 */
import { ConfigError, readConfig } from '../config.ts';
import { SourceStore } from '../database/copy/source-store.ts';
import { type CopiedSummary, type CopyNote, copyStore } from '../database/copy/store-copy.ts';
import { openMigrated, unusable } from '../database/postgres/postgres-engine.ts';
import { databaseFile } from '../database/sqlite/files/data-folder.ts';
import { DatabaseUnavailable } from '../database/unavailable.ts';
import { VERSION } from '../version.ts';

const EXIT_USAGE = 2;
const SHOW_EVERY_MS = 1_000;

const HELP = `usage: ANNEX_DATABASE_URL=postgres://… npm run copy -- [--data <folder>]

Copies the store of a data folder to PostgreSQL, and compares every row. Stop the service first. The database must be
new, or hold an interrupted copy of the same store, which goes on where it was. The folder stays as it is.
  --data   data folder of the service (./data)
  --help   print this
`;

class UsageError extends Error {}

async function main(flags: readonly string[]): Promise<void> {
  if (flags.includes('--help') || flags.includes('-h')) {
    process.stdout.write(HELP);
    return;
  }
  const { dataFolder: folder, databaseUrl: url } = readConfig([...flags], process.env);
  if (url === undefined)
    throw new UsageError('ANNEX_DATABASE_URL must name the PostgreSQL database to copy to.');
  process.stdout.write('reading the source\n');
  const note = ({ message }: { readonly message: string }) => void process.stderr.write(`${message}\n`);
  const source = await SourceStore.open(databaseFile(folder), { version: VERSION, note });
  try {
    process.stdout.write(summary(await copyTo(url, source)));
    process.stdout.write(next(folder));
  } finally {
    source.close();
  }
}

async function copyTo(url: string, source: SourceStore): Promise<readonly CopiedSummary[]> {
  const target = await openMigrated(url, 'copy').catch((cause: unknown) => {
    throw unusable(cause);
  });
  try {
    return await copyStore({ source, target, progress: report });
  } catch (cause) {
    if (!(cause instanceof DatabaseUnavailable)) throw cause;
    throw new Error(`${unusable(cause).message}. Run the command again: it goes on where it was.`, { cause });
  } finally {
    await target.destroy().catch(() => undefined);
  }
}

const summary = (copied: readonly CopiedSummary[]): string =>
  copied
    .map(({ table, rows, checksum, changed, firstChanged }) => {
      const line = `${table}: ${rows} rows, the same on both sides (sha256 ${checksum})\n`;
      if (changed === 0) return line;
      return `${line}  U+0000, which PostgreSQL cannot hold, is U+FFFD in ${changed} of them: first in ${firstChanged}\n`;
    })
    .join('');

const next = (
  folder: string,
): string => `The copy is complete and verified. ${folder} has not changed: keep it as a backup.

Next:
  1. Set ANNEX_DATABASE_URL for every node, and start no service on ${folder} any more: it would deliver a second time.
  2. Give every node the vault's keys of this store, by --vault-key-file or ANNEX_VAULT_KEYS. A node without them does not start.
  3. Start the nodes. They deliver what was waiting; leases of the stopped service are ended, nothing is to be cleared.
docs/operating.md#moving-to-postgresql has the details.
`;

let shownAt = Number.NEGATIVE_INFINITY;

/** Begin and end of each table, and a line a second. */
function report({ step, table, rows, of }: CopyNote): void {
  const now = performance.now();
  if (rows > 0 && rows < of && now - shownAt < SHOW_EVERY_MS) return;
  shownAt = now;
  process.stdout.write(`${step} ${table}: ${rows} of ${of} rows\n`);
}

main(process.argv.slice(2)).catch((cause: unknown) => {
  process.stderr.write(`${cause instanceof Error ? cause.message : String(cause)}\n`);
  const isUsage = cause instanceof ConfigError || cause instanceof UsageError;
  if (isUsage) process.stderr.write(`\n${HELP}`);
  process.exit(isUsage ? EXIT_USAGE : 1);
});
