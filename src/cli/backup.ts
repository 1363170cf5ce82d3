/**
 * `npm run backup`: copies the database into one checked file, while the service runs or after it
 * has stopped.
 *
 * It takes the same settings as the service. It copies no key: stored beside the backup, the key
 * would open every sealed value in it. It prints which keys a restore needs, and whether the key
 * ring holds them.
 */
import { constants } from 'node:os';
import { resolve } from 'node:path';
import { ConfigError } from '../config.ts';
import { plainText } from '../model/plain-text.ts';
import { standardOutput } from '../service-log.ts';
import type { BackupStep } from '../store/backup.ts';
import { backUpFolder, mib } from './operator/folder-backup.ts';
import { UsageError } from './terminal/failure.ts';

const EXIT_USAGE = 2;
/** Added to the signal number for the exit code, as shells do. */
const SIGNAL_EXIT = 128;

const HELP = `usage: npm run backup -- --to <file> [--data <folder>] [--vault-key-file <file>]

Copies the database into one file, while the service runs, and checks the copy. What was acknowledged before is in it.
  --to               the file to make; one that exists is never replaced
  --data             data folder of the service (./data)
  --vault-key-file   file of the vault's keys, which are not copied (vault.key in the data folder)
  --help             print this
`;

async function main(flags: readonly string[]): Promise<void> {
  if (flags.includes('--help') || flags.includes('-h')) {
    standardOutput.write(HELP);
    return;
  }
  const { to, rest } = targetIn(flags);
  const { bytes, aboutKeys } = await backUpFolder(rest, process.env, {
    to: resolve(to),
    progress: reportProgress,
    abandonable: onSignal,
  });
  standardOutput.write(`${resolve(to)}: ${mib(bytes)}, checked.\n`);
  standardOutput.write(aboutKeys);
}

/** Set when a signal arrives; later errors are its consequence and are not printed. */
let isInterrupted = false;

/** On a signal, removes the partial copy: it is as large as the database, and as secret. */
function onSignal(remove: () => Promise<void>): void {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.once(signal, async () => {
      isInterrupted = true;
      await remove();
      process.stderr.write('The backup was broken off; nothing of it is left.\n');
      process.exit(SIGNAL_EXIT + constants.signals[signal]);
    });
}

/** Splits the flags into the file to make and the settings of the service. */
function targetIn(flags: readonly string[]): { to: string; rest: string[] } {
  const names = (flag: string) => flag === '--to' || flag.startsWith('--to=');
  const at = flags.findIndex(names);
  if (flags.findLastIndex(names) !== at) throw new UsageError('--to is given twice: name one file.');
  const flag = flags[at];
  if (flag === undefined) throw new UsageError('--to must name the file to make.');
  const hasEqualsSign = flag.startsWith('--to=');
  const to = hasEqualsSign ? flag.slice('--to='.length) : flags[at + 1];
  if (to === undefined || to === '' || to.startsWith('--'))
    throw new UsageError('--to must name the file to make.');
  return { to, rest: flags.filter((_, index) => index !== at && (hasEqualsSign || index !== at + 1)) };
}

function reportProgress(step: BackupStep): void {
  if (step.step === 'checking') standardOutput.write('checking the copy\n');
  else if (step.bytes === 0) standardOutput.write(`copying ${mib(step.of)}\n`);
  else standardOutput.write(`copied ${mib(step.bytes)} of ${mib(step.of)}\n`);
}

main(process.argv.slice(2)).catch((cause: unknown) => {
  if (isInterrupted) return;
  process.stderr.write(`${plainText(cause instanceof Error ? cause.message : String(cause))}\n`);
  const isUsage = cause instanceof ConfigError || cause instanceof UsageError;
  if (isUsage) process.stderr.write(`\n${HELP}`);
  process.exit(isUsage ? EXIT_USAGE : 1);
});
