/** Options of commands that take the settings of a service, for its data folder. */
import { kebab } from '../command.ts';

export const FOLDER_OPTIONS = {
  data: { value: 'folder', help: 'data folder of the service (./data; ANNEX_DATA)' },
  vaultKeyFile: {
    value: 'file',
    help: "file of the vault's keys (vault.key in the data folder; ANNEX_VAULT_KEY_FILE)",
  },
} as const;

/** The given ones as flags of the service. */
export const flagsOf = (given: Readonly<Record<string, string | undefined>>): string[] =>
  Object.entries(given).flatMap(([key, value]) => (value === undefined ? [] : [`--${kebab(key)}=${value}`]));
