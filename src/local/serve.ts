/**
 * `annex serve`: the service itself, with the settings that `src/host/settings.ts` lists as
 * options. Its log, one JSON object a line, is its data; texts for people are on standard error.
 */
import { join } from 'node:path';
import Type from 'typebox';
import { type Command, defineCommand, kebab, type OptionSpec } from '../cli/command.ts';
import { readPrivate } from '../cli/profile/profile-file.ts';
import { UsageError } from '../cli/terminal/failure.ts';
import { paint } from '../cli/terminal/output.ts';
import { TOKEN_FILE } from '../host/database/used-folder.ts';
import { SETTINGS, type Setting } from '../host/settings.ts';

const variable = (flag: string): string => `ANNEX_${flag.replaceAll('-', '_').toUpperCase()}`;

const camel = (flag: string): string => flag.replaceAll(/-[a-z]/g, (pair) => pair.charAt(1).toUpperCase());

function optionOf({ flag, help, value, isSecret, isSwitch }: Setting): OptionSpec {
  if (isSwitch) return { help };
  if (!isSecret)
    return { value: 'value', help: `${help} (${value === '' ? '' : `${value}; `}${variable(flag)})` };
  // `ps` shows options to every user. The value is in no message.
  const refuse = () => {
    throw new UsageError(
      `it is no option, because \`ps\` shows options to every user: set ${variable(flag)}.`,
    );
  };
  return { value: 'value', help, hidden: true, parse: refuse };
}

const options: Readonly<Record<string, OptionSpec>> = {
  ...Object.fromEntries(SETTINGS.map((setting) => [camel(setting.flag), optionOf(setting)])),
  // Refused by the settings, with a sentence.
  inspect: { help: 'an option of `annex dev` alone', hidden: true },
};

export const serve: Command = defineCommand({
  name: 'serve',
  summary: 'run a service until it is stopped',
  description: [
    'Runs a service until Ctrl-C or SIGTERM. It keeps everything in the data folder, and writes the first admin token to `admin-token` there, which only its owner can read. Commands that run beside that folder use it.',
    'Each option has a variable. Secrets have only variables: ANNEX_DATABASE_URL and ANNEX_VAULT_KEYS. So have limits, for instance ANNEX_LIMIT_CALL_CPU_MS=1000; docs/limits.md lists them.',
  ],
  options,
  examples: [
    { line: 'annex serve', does: 'keep the data in ./data, listen on ports 7700 and 7701' },
    {
      line: 'annex serve --data /var/lib/annex --public-url https://hooks.example.com',
      does: 'serve behind a proxy',
    },
  ],
  exits: { 1: 'it could not be started or stopped', 2: 'a setting is wrong' },
  json: Type.Object(
    { level: Type.Number(), time: Type.Number(), msg: Type.String() },
    { description: 'A line of the log of the service. Without `--json`, a terminal shows them as words.' },
  ),
  stream: true,
  async run({ output, env, signal, isTerminal, clientOf }, input) {
    const flags = Object.entries(input).flatMap(([key, value]) => {
      const flag = `--${kebab(key)}`;
      if (value === true) return [flag];
      return typeof value === 'string' ? [`${flag}=${value}`] : [];
    });
    const [{ serviceLog }, { serve: run }] = await Promise.all([
      import('../host/service-log.ts'),
      import('../host/serve.ts'),
    ]);
    await run({
      flags,
      env: { ...env },
      // The process writes its log at once, also where it ends at once.
      log: output.isGiven('stdout')
        ? serviceLog(false)
        : serviceLog(isTerminal.stdout && !output.isJson, (line) => output.logged(line)),
      signal,
      announce: (text) => output.talk(text.trimEnd()),
      ready: async ({ dataFolder, console }, urls) => {
        if (!isTerminal.stderr) return;
        output.talk(paint('bold', 'Annex is ready.'), ` API: ${urls.control}  endpoints: ${urls.public}`);
        output.talk('In another terminal, in this folder: annex new hello && annex publish hello');
        const file = join(dataFolder, TOKEN_FILE);
        const token = console ? await readPrivate(file).catch(() => undefined) : undefined;
        if (token === undefined) return;
        const annex = clientOf(urls.control, token.trim(), file);
        // A token of another store is no reason to stop.
        const link = await annex.consoleLinks.create().catch(() => undefined);
        if (link !== undefined) output.talk(`Console, once within ten minutes: ${urls.control}${link.url}`);
      },
    });
  },
});
