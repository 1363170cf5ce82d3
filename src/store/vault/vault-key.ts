/**
 * The vault's key ring: from a setting, or from a file that is made at the first start (see `vault.ts`).
 *
 * A ring is text, one key a line in base64, the first one seals. The file is readable by its owner alone. Without its keys
 * everything sealed is lost, so a store that holds sealed values never gets a fresh key in place of a missing one: it
 * refuses to open, and names the keys that it needs. No message holds a key or a part of one.
 */
import { chmod, type FileHandle, open, readFile, rename, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { base64url, type RandomBytes } from '../../model/identifiers.ts';
import { VAULT_KEY_BYTES, Vault, vaultKeyId } from './vault.ts';

/** A ring longer than this is a wrong file. */
const KEYS_MAX = 64;
/** 32 bytes in base64 of either alphabet: `openssl rand -base64 32` writes the one with `+` and `/`. */
const KEY = /^[A-Za-z0-9+/_-]{43}=?$/;

export type KeyRing = readonly [Uint8Array, ...Uint8Array[]];

/** Where the ring is: in a file, or given as it is. */
export type KeySource = { readonly file: string } | { readonly ring: KeyRing };

/** How many values of the store are sealed with a key. */
export interface KeyUse {
  readonly keyId: string;
  readonly values: number;
}

export interface VaultKeyOptions {
  readonly source: KeySource;
  readonly randomBytes: RandomBytes;
  /** The keys that the store was sealed with; none where it holds nothing sealed. */
  readonly inUse: readonly KeyUse[];
}

/**
 * Opens the vault, making its key file where the store is new.
 *
 * @throws where the key file is missing, readable by others or malformed, or a key that is in use is not in the ring.
 */
export async function openVault({ source, randomBytes, inUse }: VaultKeyOptions): Promise<Vault> {
  const ring = 'ring' in source ? source.ring : await ringOfFile(source.file, randomBytes, inUse);
  const vault = new Vault(ring, randomBytes);
  const missing = inUse.filter(({ keyId }) => !vault.keys.includes(keyId));
  if (missing.length > 0) {
    const where = 'ring' in source ? 'ANNEX_VAULT_KEYS' : source.file;
    throw new Error(
      `The key ring in ${where} lacks what this store was sealed with: ${told(missing)}. ` +
        `Add ${missing.length === 1 ? 'that key' : 'those keys'} behind the first one, from a backup, or use the ring that belongs to this store.`,
    );
  }
  return vault;
}

/** The keys of a ring's text, separated by line breaks or commas, or what is wrong with them. */
export function parseKeyRing(
  text: string,
): { readonly ok: true; readonly ring: KeyRing } | { readonly ok: false; readonly problem: string } {
  const entries = text.split(/[\s,]+/).filter((entry) => entry !== '');
  const refused = (problem: string) => ({ ok: false, problem }) as const;
  if (entries.length > KEYS_MAX) return refused(`holds more than ${KEYS_MAX} keys`);
  const seen = new Map<string, number>();
  const keys: Uint8Array[] = [];
  for (const [index, entry] of entries.entries()) {
    // Not the entry itself: a mistyped key is a key but for one character.
    if (!KEY.test(entry)) return refused(`key ${index + 1} is not ${VAULT_KEY_BYTES} bytes in base64url`);
    const key = Buffer.from(entry, 'base64');
    const id = vaultKeyId(key);
    const before = seen.get(id);
    if (before !== undefined) return refused(`key ${before} and key ${index + 1} are the same`);
    seen.set(id, index + 1);
    keys.push(key);
  }
  const [first, ...rest] = keys;
  return first === undefined ? refused('holds no key') : { ok: true, ring: [first, ...rest] };
}

/**
 * Puts a fresh key before those of the file, for the next start to seal with. The new file takes the place of the old one
 * at once and whole: a crash leaves one or the other.
 *
 * @returns id of the new key
 * @throws where there is no file to rotate, or it is not a good one
 */
export async function addKeyTo(file: string, randomBytes: RandomBytes): Promise<string> {
  const text = await readKeyFile(file);
  if (text === undefined) throw new Error(`${file} does not exist; the first start makes it.`);
  const before = ringIn(file, text);
  if (before.length >= KEYS_MAX)
    throw new Error(`${file} holds ${KEYS_MAX} keys already; take out those that are no longer needed.`);
  const key = randomBytes(VAULT_KEY_BYTES);
  const next = `${file}.next`;
  if (await exists(next)) throw new Error(`${next} is left from a rotation that was broken off; remove it.`);
  const { uid, gid } = await stat(file);
  await writeWhole(next, `${base64url(key)}\n${text}`, async (handle) => {
    // Root may do this for a service that is not root, which has to be able to read it.
    if (process.getuid?.() === 0) await handle.chown(uid, gid);
  });
  await rename(next, file);
  await syncFolder(file);
  return vaultKeyId(key);
}

const told = (uses: readonly KeyUse[]): string =>
  uses.map(({ keyId, values }) => `key ${keyId} (${values} ${values === 1 ? 'value' : 'values'})`).join(', ');

const EMPTY = (file: string): string =>
  `${file} is empty. Where a first start was broken off, remove it, and the next one makes it.`;

async function ringOfFile(
  file: string,
  randomBytes: RandomBytes,
  inUse: readonly KeyUse[],
): Promise<KeyRing> {
  const text = await readKeyFile(file);
  // Never filled: an empty file may stand where the real one was to be mounted, and what is put there may not last.
  if (text === '' && inUse.length === 0) throw new Error(EMPTY(file));
  if (text !== undefined) return ringIn(file, text);
  if (inUse.length > 0) {
    throw new Error(
      `${file} is missing, and the store holds values sealed with it: ${told(inUse)}. Restore it from a backup.`,
    );
  }
  const made = `${base64url(randomBytes(VAULT_KEY_BYTES))}\n`;
  await writeWhole(file, made);
  // The key must outlive a power cut that a row sealed with it outlives: its directory entry has to be on disk too.
  await syncFolder(file);
  return ringIn(file, made);
}

function ringIn(file: string, text: string): KeyRing {
  const parsed = parseKeyRing(text);
  if (parsed.ok) return parsed.ring;
  throw new Error(
    `${file} must hold one key a line, each ${VAULT_KEY_BYTES} bytes in base64url: ${parsed.problem}.`,
  );
}

async function readKeyFile(file: string): Promise<string | undefined> {
  try {
    const found = await stat(file);
    // Before the advice below: to take the rights of others from /tmp, or /dev/null, breaks the machine.
    if (found.isDirectory()) throw Object.assign(new Error('a folder'), { code: 'EISDIR' });
    if (!found.isFile() && !found.isFIFO())
      throw new Error(`${file} is no file; name the file of the vault's keys (--vault-key-file).`);
    const { mode } = found;
    // Windows has no such bits.
    if (process.platform !== 'win32' && (mode & 0o077) !== 0) {
      throw new Error(`${file} is open to other users. Run: chmod 600 ${file}`);
    }
    return await readFile(file, 'utf8');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'ENOENT') return undefined;
    throw unreadable(file, code, error);
  }
}

function unreadable(file: string, code: unknown, cause: unknown): unknown {
  if (code === 'EISDIR')
    return new Error(`${file} is a folder; it has to be the file of the vault's keys (--vault-key-file).`, {
      cause,
    });
  if (code !== 'EACCES' && code !== 'EPERM') return cause;
  return new Error(
    `${file}, the file of the vault's keys, may not be read by this user. Give it to the user that the service runs as ` +
      '(chown), readable by that user alone (chmod 600), or name another file (--vault-key-file).',
    { cause },
  );
}

/** Makes a file that was not there, on disk before this returns. */
async function writeWhole(
  file: string,
  text: string,
  prepare: (handle: FileHandle) => Promise<void> = async () => {},
): Promise<void> {
  const handle = await open(file, 'wx', 0o600).catch((cause) => {
    const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
    if (code === 'EACCES' || code === 'EPERM' || code === 'EROFS')
      throw new Error(
        `${file} cannot be made: this user may not write in ${dirname(file)}. Let it, or name another file (--vault-key-file).`,
        { cause },
      );
    if (code !== 'ENOENT' && code !== 'ENOTDIR') throw cause;
    const message = `${file} cannot be made: ${dirname(file)} is no folder. Make it, or name another file (--vault-key-file).`;
    throw new Error(message, { cause });
  });
  try {
    await prepare(handle);
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
  // The process' umask may have taken bits away that the owner needs.
  await chmod(file, 0o600);
}

const exists = (file: string): Promise<boolean> =>
  stat(file).then(
    () => true,
    () => false,
  );

async function syncFolder(file: string): Promise<void> {
  const folder = await open(dirname(file), 'r');
  await folder.sync().finally(() => folder.close());
}
