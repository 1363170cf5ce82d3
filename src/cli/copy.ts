/**
 * `npm run copy`: copies the store of a stopped service from SQLite to PostgreSQL, and verifies it.
 *
 * It takes the same settings as the service. A copy that was interrupted goes on where it was. The
 * SQLite file is not changed.
 */
import { ConfigError } from '../config.ts';
import type { CopyNote } from '../database/copy/store-copy.ts';
import { plainText } from '../model/plain-text.ts';
import { standardOutput } from '../service-log.ts';
import { copyFolder } from './operator/folder-copy.ts';
import { UsageError } from './terminal/failure.ts';

const EXIT_USAGE = 2;
const SHOW_EVERY_MS = 1_000;

const HELP = `usage: ANNEX_DATABASE_URL=postgres://… npm run copy -- [--data <folder>]

Copies the store of a data folder to PostgreSQL, and compares every row. Stop the service first. The database must be
new, or hold an interrupted copy of the same store, which goes on where it was. The folder stays as it is.
  --data   data folder of the service (./data)
  --help   print this
`;

async function main(flags: readonly string[]): Promise<void> {
  if (flags.includes('--help') || flags.includes('-h')) {
    standardOutput.write(HELP);
    return;
  }
  const { summary, next } = await copyFolder(flags, process.env, {
    begun: () => standardOutput.write('reading the source\n'),
    note: (message) => void process.stderr.write(`${plainText(message)}\n`),
    progress: report,
  });
  standardOutput.write(summary);
  standardOutput.write(next);
}

let shownAt = Number.NEGATIVE_INFINITY;

/** Begin and end of each table, and a line a second. */
function report({ step, table, rows, of }: CopyNote): void {
  const now = performance.now();
  if (rows > 0 && rows < of && now - shownAt < SHOW_EVERY_MS) return;
  shownAt = now;
  standardOutput.write(`${step} ${table}: ${rows} of ${of} rows\n`);
}

main(process.argv.slice(2)).catch((cause: unknown) => {
  process.stderr.write(`${plainText(cause instanceof Error ? cause.message : String(cause))}\n`);
  const isUsage = cause instanceof ConfigError || cause instanceof UsageError;
  if (isUsage) process.stderr.write(`\n${HELP}`);
  process.exit(isUsage ? EXIT_USAGE : 1);
});
