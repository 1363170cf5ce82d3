/**
 * `annex backup`, `annex copy`, `annex vault` and `annex token recover`: commands of the operator
 * about a data folder, which take the settings of its service. They load what opens a store when
 * they run.
 */
import { resolve } from 'node:path';
import Type from 'typebox';
import type { CommandContext } from '../../cli/command.ts';
import { type Command, type CommandGroup, defineCommand, kebab } from '../../cli/command.ts';
import { Failure, UsageError } from '../../cli/terminal/failure.ts';

const SHOW_EVERY_MS = 1_000;
const FOLDER_OPTIONS = {
  data: { value: 'folder', help: 'data folder of the service (./data; ANNEX_DATA)' },
  vaultKeyFile: {
    value: 'file',
    help: "file of the vault's keys (vault.key in the data folder; ANNEX_VAULT_KEY_FILE)",
  },
} as const;

/** The settings of the service: what the options say, else what its variables do. */
async function settingsOf(
  { env, cwd }: CommandContext,
  paths: Readonly<Partial<Record<keyof typeof FOLDER_OPTIONS, string | undefined>>>,
) {
  const { readConfig } = await import('../../host/config.ts');
  const flags = Object.entries(paths).flatMap(([key, path]) =>
    path === undefined ? [] : [`--${kebab(key)}=${path && resolve(cwd, path)}`],
  );
  return readConfig(flags, { ...env });
}

export const backup: Command = defineCommand({
  name: 'backup',
  summary: 'copy the database of a service into one checked file',
  description: [
    'Copies the SQLite database of a data folder into one file, while the service runs or not, and checks the copy. What was acknowledged before is in it.',
    "The vault's keys are not copied, because they would open every secret in the file. The command says which keys a restore needs.",
  ],
  options: {
    to: {
      value: 'file',
      required: true,
      repeatable: true,
      help: 'the file to make; one that exists is never replaced',
    },
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
  async run(context, { to: [to = '', ...others], ...paths }) {
    const { output, cwd, signal } = context;
    if (others.length > 0) throw new UsageError('--to is given twice: name one file.');
    const { backUpFolder, mib } = await import('./folder-backup.ts');
    const file = resolve(cwd, to);
    const interrupted = Promise.withResolvers<never>();
    const backingUp = backUpFolder(await settingsOf(context, paths), {
      to: file,
      progress: (step) =>
        output.talk(
          step.step === 'checking' ? 'checking the copy' : `copied ${mib(step.bytes)} of ${mib(step.of)}`,
        ),
      // A partial copy is as large as the database, and as secret.
      abandonable: (remove) => {
        const end = () =>
          interrupted.reject(new Failure('The backup was broken off; nothing of it is left.'));
        const abandon = () => void remove().then(end, interrupted.reject);
        signal.addEventListener('abort', abandon);
        process.once('SIGHUP', abandon);
      },
    });
    backingUp.catch(() => undefined);
    const { bytes, keys, aboutKeys } = await Promise.race([backingUp, interrupted.promise]);
    output.result({ file, bytes, keys }, () => output.line(`${file}: ${mib(bytes)}, checked.`));
    output.talk(aboutKeys.trimEnd());
  },
});

export const copy: Command = defineCommand({
  name: 'copy',
  summary: 'copy the store of a stopped service to PostgreSQL',
  description: [
    'Copies the store of a data folder to the PostgreSQL database that ANNEX_DATABASE_URL names, and compares every row. Stop the service first. The database must be new, or hold an interrupted copy of the same store, which goes on where it was. The folder stays as it is.',
  ],
  options: { data: FOLDER_OPTIONS.data },
  examples: [
    {
      line: 'ANNEX_DATABASE_URL=postgres://annex@db/annex annex copy --data ./data',
      does: 'move to PostgreSQL',
    },
  ],
  json: Type.Object({
    tables: Type.Array(Type.Object({ table: Type.String(), rows: Type.Integer(), checksum: Type.String() }), {
      description: 'The same on both sides.',
    }),
  }),
  async run(context, paths) {
    const { output } = context;
    const { copyFolder } = await import('./folder-copy.ts');
    let shownAt = Number.NEGATIVE_INFINITY;
    const { copied, summary, next } = await copyFolder(await settingsOf(context, paths), {
      note: (message) => output.talk(message),
      // Begin and end of each table, and a line a second.
      progress: ({ step, table, rows, of }) => {
        const now = performance.now();
        if (rows > 0 && rows < of && now - shownAt < SHOW_EVERY_MS) return;
        shownAt = now;
        output.talk(`${step} ${table}: ${rows} of ${of} rows`);
      },
    });
    const tables = copied.map(({ table, rows, checksum }) => ({ table, rows, checksum }));
    output.result({ tables }, () => output.line(summary.trimEnd()));
    output.talk(next.trimEnd());
  },
});

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
  async run(context, paths) {
    const { vaultKeys } = await settingsOf(context, paths);
    if (!('file' in vaultKeys))
      throw new Error(
        'The keys are in ANNEX_VAULT_KEYS. Put a new one before them there (openssl rand -base64 32), and start the service again.',
      );
    const { file } = vaultKeys;
    const { randomBytes } = await import('node:crypto');
    const { addKeyTo } = await import('../../host/store/vault/vault-key.ts');
    const key = await addKeyTo(file, randomBytes);
    const done = `${file} begins with a new key, ${key}. Put the file into your backup, and start the service again:`;
    const next =
      'it seals everything anew in the background, and its log says when the keys after the first are no longer needed.';
    context.output.result({ file, key }, () => context.output.line(`${done}\n${next}`));
  },
});

export const recoverToken: Command = defineCommand({
  name: 'recover',
  summary: 'make an admin token at the machine of the service, without another token',
  description: [
    "Makes an admin token in the database of a service, which may run, and prints it. Needs the data folder, or ANNEX_DATABASE_URL, and the vault's keys with which the database was sealed.",
    'It is for the operator who has lost the admin token. The audit has an entry. Revoke the lost token afterwards.',
  ],
  options: FOLDER_OPTIONS,
  examples: [
    {
      line: 'annex token recover --data ./data',
      does: 'make an admin token for the service of this folder',
    },
  ],
  json: Type.Object({ id: Type.String(), token: Type.String() }),
  async run(context, paths) {
    const { output } = context;
    const { recoverFolderToken } = await import('./token-recovery.ts');
    const { id, token } = await recoverFolderToken(await settingsOf(context, paths));
    output.result({ id, token }, () => {
      output.line(token);
      output.talk(
        `${id}, of kind admin. It is shown only now; \`annex token list\` shows which ones to revoke.`,
      );
    });
  },
});

export const vault: CommandGroup = {
  name: 'vault',
  summary: 'change the keys that seal secrets',
  examples: [{ line: 'annex vault rotate', does: 'make a new key for the service of this folder' }],
  commands: [rotate],
};
