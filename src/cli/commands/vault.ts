/** `annex vault`: the keys with which a service seals secrets. */
import { resolve } from 'node:path';
import Type from 'typebox';
import { type Command, type CommandGroup, defineCommand } from '../command.ts';
import { FOLDER_OPTIONS, flagsOf } from '../operator/service-flags.ts';

const rotate: Command = defineCommand({
  name: 'rotate',
  summary: "put a new key before those of the vault's key file",
  description: [
    "Puts a new key before the others of the vault's key file. The service seals everything with it in the background after its next start. No key is shown. Keys in ANNEX_VAULT_KEYS are changed where they are kept.",
  ],
  options: FOLDER_OPTIONS,
  examples: [
    { line: 'annex vault rotate --data ./data', does: 'make a new key for the service of this folder' },
  ],
  json: Type.Object({ file: Type.String(), key: Type.String({ description: 'Id of the new key.' }) }),
  async run({ output, env, cwd }, { data, vaultKeyFile }) {
    const { rotateVault } = await import('../operator/vault-rotation.ts');
    const flags = flagsOf({
      data: data && resolve(cwd, data),
      vaultKeyFile: vaultKeyFile && resolve(cwd, vaultKeyFile),
    });
    const { file, key, text } = await rotateVault(flags, { ...env });
    output.result({ file, key }, () => output.line(text.trimEnd()));
    return undefined;
  },
});

export const vault: CommandGroup = {
  name: 'vault',
  summary: 'change the keys that seal secrets',
  examples: [{ line: 'annex vault rotate', does: 'make a new key for the service of this folder' }],
  commands: [rotate],
};
