/** `annex backup`: copies the database of a service into one checked file, while it runs or not. */
import { resolve } from 'node:path';
import Type from 'typebox';
import { type Command, defineCommand } from '../command.ts';
import { FOLDER_OPTIONS, flagsOf } from '../operator/service-flags.ts';
import { Failure } from '../terminal/failure.ts';

export const backup: Command = defineCommand({
  name: 'backup',
  summary: 'copy the database of a service into one checked file',
  description: [
    'Copies the SQLite database of a data folder into one file, while the service runs or not, and checks the copy. What was acknowledged before is in it.',
    "The vault's keys are not copied, because they would open every secret in the file. The command says which keys a restore needs.",
  ],
  options: {
    to: { value: 'file', required: true, help: 'the file to make; one that exists is never replaced' },
    ...FOLDER_OPTIONS,
  },
  examples: [
    { line: 'annex backup --to /backup/annex-monday.db', does: 'back up the service of this folder' },
  ],
  json: Type.Object({
    file: Type.String(),
    bytes: Type.Integer(),
    keys: Type.Array(Type.Object({ keyId: Type.String(), values: Type.Integer() }), {
      description: 'Keys that the sealed values in it need.',
    }),
  }),
  async run({ output, env, cwd, signal }, { to, data, vaultKeyFile }) {
    const { backUpFolder, mib } = await import('../operator/folder-backup.ts');
    const file = resolve(cwd, to);
    const interrupted = Promise.withResolvers<never>();
    const flags = flagsOf({
      data: data && resolve(cwd, data),
      vaultKeyFile: vaultKeyFile && resolve(cwd, vaultKeyFile),
    });
    const backingUp = backUpFolder(
      flags,
      { ...env },
      {
        to: file,
        progress: (step) =>
          output.talk(
            step.step === 'checking' ? 'checking the copy' : `copied ${mib(step.bytes)} of ${mib(step.of)}`,
          ),
        // A partial copy is as large as the database, and as secret.
        abandonable: (remove) =>
          signal.addEventListener('abort', () => {
            const end = () =>
              interrupted.reject(new Failure('The backup was broken off; nothing of it is left.'));
            void remove().then(end, interrupted.reject);
          }),
      },
    );
    backingUp.catch(() => undefined);
    const { bytes, keys, aboutKeys } = await Promise.race([backingUp, interrupted.promise]);
    output.result({ file, bytes, keys }, () => output.line(`${file}: ${mib(bytes)}, checked.`));
    output.talk(aboutKeys.trimEnd());
    return undefined;
  },
});
