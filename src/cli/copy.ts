/**
 * `npm run copy`: copies the store of a stopped service from SQLite to PostgreSQL, and verifies it.
 *
 * It takes the same settings as the service. A copy that was interrupted goes on where it was. The
 * SQLite file is not changed.
 */
import { existsSync } from 'node:fs';
import { ConfigError, readConfig } from '../config.ts';
import { type CopyNote, copyStore } from '../database/copy/store-copy.ts';
import { openMigrated, unusable } from '../database/postgres/postgres-engine.ts';
import { databaseFile } from '../database/sqlite/files/data-folder.ts';
import { SqliteEngine } from '../database/sqlite/sqlite-engine.ts';

const EXIT_USAGE = 2;

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
  const file = databaseFile(folder);
  if (!existsSync(file))
    throw new Error(`${file} does not exist: --data names another folder, or there is no store.`);
  // Locks the folder, and brings an older schema up to date, as the next start would.
  const source = await new SqliteEngine({ folder, clock: () => Date.now() }).open();
  try {
    const target = await openMigrated(url, 'copy').catch((cause: unknown) => {
      throw unusable(cause);
    });
    try {
      const copied = await copyStore({ source, target, progress: report });
      for (const { table, rows, checksum } of copied)
        process.stdout.write(`${table}: ${rows} rows, the same on both sides (sha256 ${checksum})\n`);
    } finally {
      await target.destroy();
    }
  } finally {
    await source.destroy();
  }
  process.stdout.write(NEXT(folder));
}

const NEXT = (folder: string): string =>
  `The copy is complete and verified.
Start the nodes with ANNEX_DATABASE_URL and with the keys of the vault that this store uses (--vault-key-file or
ANNEX_VAULT_KEYS), the same for every node. Keep ${folder} until you are sure: nothing in it has changed.
`;

const SHOW_EVERY_MS = 1_000;
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
