/**
 * The vault's key file: one key a line in base64url, the first one seals (see `vault.ts`).
 *
 * Made at the first start, readable by its owner alone. Without it everything sealed is lost, so a store that holds
 * sealed values never gets a fresh key in place of a missing one: it refuses to open.
 */
import { chmod, open, readFile, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { base64url, type RandomBytes } from '../model/identifiers.ts';
import { VAULT_KEY_BYTES, Vault } from './vault.ts';

/** A ring longer than this is a wrong file. */
const KEYS_MAX = 64;

export interface VaultKeyOptions {
  readonly file: string;
  readonly randomBytes: RandomBytes;
  /** Any sealed value of the store, undefined where it holds none. */
  readonly sample: string | undefined;
}

/**
 * Opens the vault, making its key where the store is new.
 *
 * @throws where the key file is missing, readable by others, malformed, or not the one the store was sealed with.
 */
export async function openVault({ file, randomBytes, sample }: VaultKeyOptions): Promise<Vault> {
  const text = (await readKeyFile(file)) ?? (await makeKeyFile(file, randomBytes, sample));
  const vault = new Vault(parseKeys(file, text), randomBytes);
  if (sample !== undefined && !vault.holdsKeyOf(sample)) {
    throw new Error(
      `${file} is not the key this store was sealed with. Restore the key file that belongs to it.`,
    );
  }
  return vault;
}

async function readKeyFile(file: string): Promise<string | undefined> {
  try {
    const { mode } = await stat(file);
    // Windows has no such bits.
    if (process.platform !== 'win32' && (mode & 0o077) !== 0) {
      throw new Error(`${file} is open to other users. Run: chmod 600 ${file}`);
    }
    return await readFile(file, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

async function makeKeyFile(
  file: string,
  randomBytes: RandomBytes,
  sample: string | undefined,
): Promise<string> {
  if (sample !== undefined) {
    throw new Error(
      `${file} is missing, and the store holds values sealed with it. Restore it from a backup.`,
    );
  }
  const text = `${base64url(randomBytes(VAULT_KEY_BYTES))}\n`;
  const handle = await open(file, 'wx', 0o600);
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await chmod(file, 0o600);
  // The key must outlive a power cut that a row sealed with it outlives: its directory entry has to be on disk too.
  const folder = await open(dirname(file), 'r');
  await folder.sync().finally(() => folder.close());
  return text;
}

function parseKeys(file: string, text: string): [Uint8Array, ...Uint8Array[]] {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  const keys = lines.slice(0, KEYS_MAX).map((line) => Buffer.from(line.trim(), 'base64url'));
  const [first, ...rest] = keys;
  if (first === undefined || keys.some((key) => key.length !== VAULT_KEY_BYTES)) {
    throw new Error(`${file} must hold one key a line, each ${VAULT_KEY_BYTES} bytes in base64url.`);
  }
  return [first, ...rest];
}
