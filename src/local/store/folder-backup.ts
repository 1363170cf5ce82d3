/**
 * A backup of a data folder with the settings of its service. It prints nothing.
 */
import { readFile } from 'node:fs/promises';
import { UsageError } from '../../cli/terminal/failure.ts';
import type { Config } from '../../host/config.ts';
import { databaseFile } from '../../host/database/sqlite/files/data-folder.ts';
import { type Backup, type BackupOptions, backUp } from '../../host/store/backup.ts';
import { vaultKeyId } from '../../host/store/vault/vault.ts';
import { type KeySource, type KeyUse, parseKeyRing } from '../../host/store/vault/vault-key.ts';

const MIB = 2 ** 20;

const ON_POSTGRES =
  'ANNEX_DATABASE_URL is set: this command copies the SQLite file of a data folder. Back up PostgreSQL with pg_dump, ' +
  'or with the continuous archiving of its server, and keep the keys of the vault elsewhere (docs/operating/backup.md).';

export interface FolderBackup extends Backup {
  /** About the keys that a restore needs, and whether the key ring has them. */
  readonly aboutKeys: string;
}

/** @throws UsageError, or what keeps the backup from being made */
export async function backUpFolder(
  { dataFolder, vaultKeys, databaseUrl }: Config,
  options: Omit<BackupOptions, 'database'>,
): Promise<FolderBackup> {
  if (databaseUrl !== undefined) throw new UsageError(ON_POSTGRES);
  const made = await backUp({ ...options, database: databaseFile(dataFolder) });
  return { ...made, aboutKeys: await aboutKeys(made.keys, vaultKeys) };
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

export const mib = (bytes: number): string => `${(bytes / MIB).toFixed(1)} MiB`;
