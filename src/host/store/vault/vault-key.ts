/**
 * The vault's key ring: from a setting, or from a file that the first start creates (see
 * `vault.ts`).
 *
 * A ring is text, one base64 key a line; the first key seals. The file is readable only by its
 * owner. Without its keys all sealed values are lost, so a store with sealed values never gets a
 * new key in place of a missing one: it refuses to open, and names the missing keys. No message
 * contains a key or a part of one.
 */
import { chmod, type FileHandle, open, readFile, rename, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { base64url, type RandomBytes } from '../../../model/identifiers.ts';
import { VAULT_KEY_BYTES, Vault, vaultKeyId } from './vault.ts';

/** A longer ring is the wrong file. */
const KEYS_MAX = 64;
/**
 * 32 bytes in base64 of either alphabet: `openssl rand -base64 32` writes the one with `+` and `/`.
 */
const KEY = /^[A-Za-z0-9+/_-]{43}=?$/;

export type KeyRing = readonly [Uint8Array, ...Uint8Array[]];

/** The ring: in a file, or given directly. */
export type KeySource = { readonly file: string } | { readonly ring: KeyRing };

/** A key and the number of values that are sealed with it. */
export interface KeyUse {
  readonly keyId: string;
  readonly values: number;
}

export interface VaultKeyOptions {
  readonly source: KeySource;
  readonly randomBytes: RandomBytes;
  /** Keys with which values of the store are sealed; empty for a store without sealed values. */
  readonly inUse: readonly KeyUse[];
}

/**
 * Opens the vault; creates the key file for a store without sealed values.
 *
 * @throws if the key file is missing, readable by others or malformed, or the ring lacks a key that
 * is in use
 */
export async function openVault({ source, randomBytes, inUse }: VaultKeyOptions): Promise<Vault> {
  const ring = 'ring' in source ? source.ring : await ringOfFile(source.file, randomBytes, inUse);
  const vault = new Vault(ring, randomBytes);
  const missing = inUse.filter(({ keyId }) => !vault.keys.includes(keyId));
  if (missing.length > 0) {
    const where = 'ring' in source ? 'ANNEX_VAULT_KEYS' : source.file;
    throw new Error(
      `The key ring in ${where} lacks keys with which this store was sealed: ${listed(missing)}. ` +
        `Add ${missing.length === 1 ? 'that key' : 'those keys'} behind the first one, from a backup, or use the ring that belongs to this store.`,
    );
  }
  return vault;
}

/** Parses a ring's text, with keys separated by line breaks or commas. */
export function parseKeyRing(
  text: string,
): { readonly ok: true; readonly ring: KeyRing } | { readonly ok: false; readonly problem: string } {
  const entries = text.split(/[\s,]+/).filter((entry) => entry !== '');
  const refused = (problem: string) => ({ ok: false, problem }) as const;
  if (entries.length > KEYS_MAX) return refused(`holds more than ${KEYS_MAX} keys`);
  const seen = new Map<string, number>();
  const keys: Uint8Array[] = [];
  for (const [index, entry] of entries.entries()) {
    // Never the entry itself: a mistyped key differs from the key by one character.
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
 * Adds a new first key to the key file; the next start seals with it. The file is replaced
 * atomically: a crash leaves the old one or the new one.
 *
 * @returns id of the new key
 * @throws if the file does not exist or is invalid
 */
export async function addKeyTo(file: string, randomBytes: RandomBytes): Promise<string> {
  const text = await readKeyFile(file);
  if (text === undefined) throw new Error(`${file} does not exist; the first start makes it.`);
  const before = ringIn(file, text);
  if (before.length >= KEYS_MAX)
    throw new Error(`${file} holds ${KEYS_MAX} keys already; take out those that are no longer needed.`);
  const key = randomBytes(VAULT_KEY_BYTES);
  const next = `${file}.next`;
  if (await exists(next)) throw new Error(`${next} is left from an interrupted rotation; remove it.`);
  const { uid, gid } = await stat(file);
  await writeWhole(next, `${base64url(key)}\n${text}`, async (handle) => {
    // Root may rotate the keys of a service that runs as another user, which must be able to read
    // the file.
    if (process.getuid?.() === 0) await handle.chown(uid, gid);
  });
  await rename(next, file);
  await syncFolder(file);
  return vaultKeyId(key);
}

const listed = (uses: readonly KeyUse[]): string =>
  uses.map(({ keyId, values }) => `key ${keyId} (${values} ${values === 1 ? 'value' : 'values'})`).join(', ');

const EMPTY = (file: string): string =>
  `${file} is empty. If a first start was interrupted, remove it, and the next start makes it.`;

async function ringOfFile(
  file: string,
  randomBytes: RandomBytes,
  inUse: readonly KeyUse[],
): Promise<KeyRing> {
  const text = await readKeyFile(file);
  // Never filled: an empty file may be a placeholder for a mount, and a key written there may not
  // last.
  if (text === '' && inUse.length === 0) throw new Error(EMPTY(file));
  if (text !== undefined) return ringIn(file, text);
  if (inUse.length > 0) {
    throw new Error(
      `${file} is missing, and the store holds values sealed with it: ${listed(inUse)}. Restore it from a backup.`,
    );
  }
  const made = `${base64url(randomBytes(VAULT_KEY_BYTES))}\n`;
  await writeWhole(file, made);
  // The key must survive a power cut if a row sealed with it does: its directory entry has to be on
  // disk, too.
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
    // Before the advice below: chmod 600 on /tmp or /dev/null would break the machine.
    if (found.isDirectory()) throw Object.assign(new Error('a folder'), { code: 'EISDIR' });
    if (!found.isFile() && !found.isFIFO())
      throw new Error(`${file} is not a file; name the file of the vault's keys (--vault-key-file).`);
    const { mode } = found;
    // Windows has no permission bits.
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

/** Creates a file; its content is on disk before this resolves. @throws if it exists */
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
    const message = `${file} cannot be made: ${dirname(file)} is not a folder. Make it, or name another file (--vault-key-file).`;
    throw new Error(message, { cause });
  });
  try {
    await prepare(handle);
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
  // The umask may have removed permissions that the owner needs.
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
