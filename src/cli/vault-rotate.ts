/**
 * `npm run vault:rotate`: inserts a new key before the others of the vault's key file, and prints
 * what to do next.
 *
 * It takes the same settings as the service. It seals nothing again: the service does that in the
 * background after its next start. It cannot change a key ring that is set by a variable, and it
 * never shows a key.
 */
import { randomBytes } from 'node:crypto';
import { ConfigError, readConfig } from '../config.ts';
import { addKeyTo } from '../store/vault/vault-key.ts';

const EXIT_USAGE = 2;

const HELP = `usage: npm run vault:rotate -- [--data <folder>] [--vault-key-file <file>]

Puts a fresh key before those of the vault's key file. Give it the settings of the service, as flags or as variables:
  --data             its data folder, whose vault.key is the file unless the other flag names one (./data)
  --vault-key-file   the file of the keys
  --help             print this
`;

async function main(flags: readonly string[]): Promise<void> {
  if (flags.includes('--help') || flags.includes('-h')) {
    process.stdout.write(HELP);
    return;
  }
  const { vaultKeys } = readConfig(flags, process.env);
  if (!('file' in vaultKeys)) {
    throw new Error(
      'The keys are in ANNEX_VAULT_KEYS. Put a new one before them there (openssl rand -base64 32), and start the service again.',
    );
  }
  const key = await addKeyTo(vaultKeys.file, randomBytes);
  process.stdout.write(
    `${vaultKeys.file} begins with a new key, ${key}. Put the file into your backup, and start the service again:\n` +
      'it seals everything anew in the background, and its log says when the keys after the first are no longer needed.\n',
  );
}

main(process.argv.slice(2)).catch((cause: unknown) => {
  process.stderr.write(`${cause instanceof Error ? cause.message : String(cause)}\n`);
  if (cause instanceof ConfigError) process.stderr.write(`\n${HELP}`);
  process.exit(cause instanceof ConfigError ? EXIT_USAGE : 1);
});
