/**
 * `npm run backup`: copies the database into one checked file, beside a service that runs or of one that is stopped.
 *
 * It is given the same settings as the service. It copies no key: with the key in the same place as the backup, the seal of the
 * values in it would keep nothing from anybody. It says which keys a restore needs, and whether the key ring has them.
 */
import { readFile } from 'node:fs/promises';
import { constants } from 'node:os';
import { resolve } from 'node:path';
import { ConfigError, readConfig } from '../config.ts';
import { databaseFile } from '../database/files/data-folder.ts';
import { type BackupStep, backUp } from '../store/backup.ts';
import { vaultKeyId } from '../store/vault/vault.ts';
import { type KeySource, type KeyUse, parseKeyRing } from '../store/vault/vault-key.ts';

const EXIT_USAGE = 2;
/** As a shell tells the end by a signal. */
const SIGNAL_EXIT = 128;
const MIB = 2 ** 20;

const HELP = `usage: npm run backup -- --to <file> [--data <folder>] [--vault-key-file <file>]

Copies the database into one file, while the service runs, and checks the copy. What was acknowledged before is in it.
  --to               the file to make; one that exists is never replaced
  --data             data folder of the service (./data)
  --vault-key-file   file of the vault's keys, which are not copied (vault.key in the data folder)
  --help             print this
`;

class UsageError extends Error {}

async function main(flags: readonly string[]): Promise<void> {
  if (flags.includes('--help') || flags.includes('-h')) {
    process.stdout.write(HELP);
    return;
  }
  const { to, rest } = targetIn(flags);
  const { dataFolder, vaultKeys } = readConfig(rest, process.env);
  const database = databaseFile(dataFolder);
  const { bytes, keys } = await backUp({ database, to: resolve(to), progress: tell, abandonable: onSignal });
  process.stdout.write(`${resolve(to)}: ${mib(bytes)}, checked.\n`);
  process.stdout.write(await aboutKeys(keys, vaultKeys));
}

/** Whether a signal has come; what fails then fails of it. */
let isBrokenOff = false;

/** Broken off in the middle, it leaves nothing: what is there of the copy is as large as the database, and as secret. */
function onSignal(remove: () => Promise<void>): void {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.once(signal, async () => {
      isBrokenOff = true;
      await remove();
      process.stderr.write('The backup was broken off; nothing of it is left.\n');
      process.exit(SIGNAL_EXIT + constants.signals[signal]);
    });
}

/** The file to make, and the flags that are settings of the service. */
function targetIn(flags: readonly string[]): { to: string; rest: string[] } {
  const names = (flag: string) => flag === '--to' || flag.startsWith('--to=');
  const at = flags.findIndex(names);
  if (flags.findLastIndex(names) !== at) throw new UsageError('--to is there twice; a backup is one file.');
  const flag = flags[at];
  if (flag === undefined) throw new UsageError('--to must name the file to make.');
  const isOne = flag.startsWith('--to=');
  const to = isOne ? flag.slice('--to='.length) : flags[at + 1];
  if (to === undefined || to === '' || to.startsWith('--'))
    throw new UsageError('--to must name the file to make.');
  return { to, rest: flags.filter((_, index) => index !== at && (isOne || index !== at + 1)) };
}

function tell(step: BackupStep): void {
  if (step.step === 'checking') process.stdout.write('checking the copy\n');
  else if (step.bytes === 0) process.stdout.write(`copying ${mib(step.of)}\n`);
  else process.stdout.write(`copied ${mib(step.bytes)} of ${mib(step.of)}\n`);
}

/** What a restore needs beside the file. No key, and no part of one, is shown. */
async function aboutKeys(keys: readonly KeyUse[], source: KeySource): Promise<string> {
  if (keys.length === 0) return 'Nothing in it is sealed, so it needs no key.\n';
  const where = 'ring' in source ? 'ANNEX_VAULT_KEYS' : source.file;
  const named = keys
    .map(({ keyId, values }) => `${keyId} (${values} ${values === 1 ? 'value' : 'values'})`)
    .join(', ');
  const lacks =
    `The vault's keys are not in it. Secrets and credentials in it are sealed with ${named}; without these keys they cannot be ` +
    `opened again. Keep ${where} as well, in another place than the backup.\n`;
  const held = await heldKeys(source);
  if (held === undefined)
    return `${lacks}${where} could not be read, so this command cannot say whether they are there.\n`;
  const missing = keys.filter(({ keyId }) => !held.includes(keyId));
  if (missing.length === 0) return lacks;
  return `${lacks}WARNING: ${where} does not hold ${missing.map(({ keyId }) => keyId).join(', ')}.\n`;
}

/** Ids of the keys in the ring; undefined where it cannot be read. */
async function heldKeys(source: KeySource): Promise<readonly string[] | undefined> {
  if ('ring' in source) return source.ring.map(vaultKeyId);
  const text = await readFile(source.file, 'utf8').catch(() => undefined);
  const parsed = text === undefined ? undefined : parseKeyRing(text);
  return parsed?.ok === true ? parsed.ring.map(vaultKeyId) : undefined;
}

const mib = (bytes: number): string => `${(bytes / MIB).toFixed(1)} MiB`;

main(process.argv.slice(2)).catch((cause: unknown) => {
  if (isBrokenOff) return;
  process.stderr.write(`${cause instanceof Error ? cause.message : String(cause)}\n`);
  const isUsage = cause instanceof ConfigError || cause instanceof UsageError;
  if (isUsage) process.stderr.write(`\n${HELP}`);
  process.exit(isUsage ? EXIT_USAGE : 1);
});
