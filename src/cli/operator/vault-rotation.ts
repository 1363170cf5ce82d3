/**
 * Puts a new key before the others of a vault's key file: what `annex vault rotate` and `npm run
 * vault:rotate` have in common. It prints nothing and never shows a key.
 */
import { randomBytes } from 'node:crypto';
import { readConfig } from '../../config.ts';
import { addKeyTo } from '../../store/vault/vault-key.ts';

export interface RotatedVault {
  readonly file: string;
  /** Id of the new key. */
  readonly key: string;
  /** What was done, and what to do next. */
  readonly text: string;
}

/** @param flags settings of the service */
export async function rotateVault(flags: readonly string[], env: NodeJS.ProcessEnv): Promise<RotatedVault> {
  const { vaultKeys } = readConfig(flags, env);
  if (!('file' in vaultKeys)) {
    throw new Error(
      'The keys are in ANNEX_VAULT_KEYS. Put a new one before them there (openssl rand -base64 32), and start the service again.',
    );
  }
  const { file } = vaultKeys;
  const key = await addKeyTo(file, randomBytes);
  const text =
    `${file} begins with a new key, ${key}. Put the file into your backup, and start the service again:\n` +
    'it seals everything anew in the background, and its log says when the keys after the first are no longer needed.\n';
  return { file, key, text };
}
