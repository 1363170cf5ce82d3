/**
 * `npm run backup`: copies the database into one checked file, while the service runs or after it
 * has stopped.
 *
 * It takes the same settings as the service. It copies no key: stored beside the backup, the key
 * would open every sealed value in it. It prints which keys a restore needs, and whether the key
 * ring holds them.
 */
import { readFile } from 'node:fs/promises';
import { constants } from 'node:os';
import { resolve } from 'node:path';
import { ConfigError, readConfig } from '../config.ts';
import { databaseFile } from '../database/sqlite/files/data-folder.ts';
import { type BackupStep, backUp } from '../store/backup.ts';
import { vaultKeyId } from '../store/vault/vault.ts';
import { type KeySource, type KeyUse, parseKeyRing } from '../store/vault/vault-key.ts';

const EXIT_USAGE = 2;
/** Added to the signal number for the exit code, as shells do. */
const SIGNAL_EXIT = 128;
const MIB = 2 ** 20;

const HELP = `usage: npm run backup -- --to <file> [--data <folder>] [--vault-key-file <file>]

Copies the database into one file, while the service runs, and checks the copy. What was acknowledged before is in it.
  --to               the file to make; one that exists is never replaced
  --data             data folder of the service (./data)
  --vault-key-file   file of the vault's keys, which are not copied (vault.key in the data folder)
  --help             print this
`;

const ON_POSTGRES =
  'ANNEX_DATABASE_URL is set: this command copies the SQLite file of a data folder. Back up PostgreSQL with pg_dump, ' +
  'or with the continuous archiving of its server, and keep the keys of the vault elsewhere (docs/operating.md).';

class UsageError extends Error {}

async function main(flags: readonly string[]): Promise<void> {
  if (flags.includes('--help') || flags.includes('-h')) {
    process.stdout.write(HELP);
    return;
  }
  const { to, rest } = targetIn(flags);
  const { dataFolder, vaultKeys, databaseUrl } = readConfig(rest, process.env);
  if (databaseUrl !== undefined) throw new UsageError(ON_POSTGRES);
  const database = databaseFile(dataFolder);
  const { bytes, keys } = await backUp({
    database,
    to: resolve(to),
    progress: reportProgress,
    abandonable: onSignal,
  });
  process.stdout.write(`${resolve(to)}: ${mib(bytes)}, checked.\n`);
  process.stdout.write(await aboutKeys(keys, vaultKeys));
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
  if (flags.findLastIndex(names) !== at) throw new UsageError('--to is there twice; a backup is one file.');
  const flag = flags[at];
  if (flag === undefined) throw new UsageError('--to must name the file to make.');
  const hasEqualsSign = flag.startsWith('--to=');
  const to = hasEqualsSign ? flag.slice('--to='.length) : flags[at + 1];
  if (to === undefined || to === '' || to.startsWith('--'))
    throw new UsageError('--to must name the file to make.');
  return { to, rest: flags.filter((_, index) => index !== at && (hasEqualsSign || index !== at + 1)) };
}

function reportProgress(step: BackupStep): void {
  if (step.step === 'checking') process.stdout.write('checking the copy\n');
  else if (step.bytes === 0) process.stdout.write(`copying ${mib(step.of)}\n`);
  else process.stdout.write(`copied ${mib(step.bytes)} of ${mib(step.of)}\n`);
}

/** The sentences about the keys that a restore needs. They show no key and no part of one. */
async function aboutKeys(keys: readonly KeyUse[], source: KeySource): Promise<string> {
  if (keys.length === 0) return 'Nothing in it is sealed, so it needs no key.\n';
  const where = 'ring' in source ? 'ANNEX_VAULT_KEYS' : source.file;
  const keyList = keys
    .map(({ keyId, values }) => `${keyId} (${values} ${values === 1 ? 'value' : 'values'})`)
    .join(', ');
  const notice =
    `The vault's keys are not in it. Secrets and credentials in it are sealed with ${keyList}; without these keys they cannot be ` +
    `opened again. Keep ${where} as well, in another place than the backup.\n`;
  const heldIds = await heldKeys(source);
  if (heldIds === undefined)
    return `${notice}${where} could not be read, so this command cannot say whether they are there.\n`;
  const missing = keys.filter(({ keyId }) => !heldIds.includes(keyId));
  if (missing.length === 0) return notice;
  return `${notice}WARNING: ${where} does not hold ${missing.map(({ keyId }) => keyId).join(', ')}.\n`;
}

/** Ids of the keys in the ring; undefined if the ring cannot be read. */
async function heldKeys(source: KeySource): Promise<readonly string[] | undefined> {
  if ('ring' in source) return source.ring.map(vaultKeyId);
  const text = await readFile(source.file, 'utf8').catch(() => undefined);
  const parsed = text === undefined ? undefined : parseKeyRing(text);
  return parsed?.ok === true ? parsed.ring.map(vaultKeyId) : undefined;
}

const mib = (bytes: number): string => `${(bytes / MIB).toFixed(1)} MiB`;

main(process.argv.slice(2)).catch((cause: unknown) => {
  if (isInterrupted) return;
  process.stderr.write(`${cause instanceof Error ? cause.message : String(cause)}\n`);
  const isUsage = cause instanceof ConfigError || cause instanceof UsageError;
  if (isUsage) process.stderr.write(`\n${HELP}`);
  process.exit(isUsage ? EXIT_USAGE : 1);
});
