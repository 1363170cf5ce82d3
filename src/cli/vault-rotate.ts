/**
 * `npm run vault:rotate`: inserts a new key before the others of the vault's key file, and prints
 * what to do next.
 *
 * It takes the same settings as the service. It seals nothing again: the service does that in the
 * background after its next start. It cannot change a key ring that is set by a variable, and it
 * never shows a key.
 */
import { ConfigError } from '../config.ts';
import { plainText } from '../model/plain-text.ts';
import { standardOutput } from '../service-log.ts';
import { rotateVault } from './operator/vault-rotation.ts';

const EXIT_USAGE = 2;

const HELP = `usage: npm run vault:rotate -- [--data <folder>] [--vault-key-file <file>]

Puts a fresh key before those of the vault's key file. Give it the settings of the service, as flags or as variables:
  --data             its data folder, whose vault.key is the file unless the other flag names one (./data)
  --vault-key-file   the file of the keys
  --help             print this
`;

async function main(flags: readonly string[]): Promise<void> {
  if (flags.includes('--help') || flags.includes('-h')) {
    standardOutput.write(HELP);
    return;
  }
  standardOutput.write((await rotateVault(flags, process.env)).text);
}

main(process.argv.slice(2)).catch((cause: unknown) => {
  process.stderr.write(`${plainText(cause instanceof Error ? cause.message : String(cause))}\n`);
  if (cause instanceof ConfigError) process.stderr.write(`\n${HELP}`);
  process.exit(cause instanceof ConfigError ? EXIT_USAGE : 1);
});
