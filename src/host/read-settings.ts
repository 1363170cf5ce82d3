/**
 * What a node was started with: the text of each setting, of a flag before a variable before the
 * default, and which of them it is. `config.ts` makes values of the texts.
 */
import { parseArgs } from 'node:util';
import type { SettingInForce } from '../model/setting-in-force.ts';
import { SETTINGS } from './settings.ts';

/** The variable of a setting. */
export const variable = (flag: string): string => `ANNEX_${flag.replaceAll('-', '_').toUpperCase()}`;

/** The option in all its forms, which no service has. */
const INSPECT = /^--inspect(?:[-=]|$)/;

/** Attack: a password in a URL of a setting, which others than those who set it would read. */
const PASSWORD = /\/\/[^/@\s]{1,400}@/g;

interface ReadSettings {
  readonly text: (flag: string) => string;
  readonly inForce: () => SettingInForce[];
}

/** @param problems gets a sentence for what is no flag */
export function readSettings(
  flags: readonly string[],
  env: NodeJS.ProcessEnv,
  problems: string[],
): ReadSettings {
  const open = SETTINGS.filter(({ isSecret }) => !isSecret);
  const options = Object.fromEntries(
    open.map(({ flag, isSwitch }) => [flag, { type: isSwitch ? ('boolean' as const) : ('string' as const) }]),
  );
  let given: Record<string, string | boolean | undefined> = {};
  const secret = SETTINGS.find(
    ({ flag, isSecret }) => isSecret && flags.some((word) => word.split('=', 1)[0] === `--${flag}`),
  );
  try {
    // Attack: a deployment whose debugger port is open to any process that finds it.
    if (flags.some((word) => INSPECT.test(word)))
      throw new Error(
        '--inspect is an option of `annex dev` alone: a debugger reads every secret and runs any code',
      );
    // Checked before the parser runs: its message could quote the secret.
    if (secret !== undefined)
      throw new Error(
        `--${secret.flag} is not a flag, because \`ps\` shows flags to every user: set ${variable(secret.flag)}`,
      );
    given = parseArgs({ args: [...flags], options, allowPositionals: false }).values;
  } catch (cause) {
    problems.push(`${(cause as Error).message.replace(/\.$/, '')}. \`--help\` lists the flags.`);
  }
  const fromVariable = (flag: string) =>
    SETTINGS.find((candidate) => candidate.flag === flag)?.isSwitch ? undefined : env[variable(flag)];
  const text = (flag: string) => {
    const setting = SETTINGS.find((candidate) => candidate.flag === flag);
    return String(given[flag] ?? fromVariable(flag) ?? setting?.value ?? '');
  };
  const originOf = (flag: string): SettingInForce['origin'] => {
    if (given[flag] !== undefined) return 'flag';
    return fromVariable(flag) === undefined ? 'default' : 'variable';
  };
  const inForce = (): SettingInForce[] =>
    SETTINGS.filter(({ isSwitch }) => isSwitch !== true).map(({ flag, isSecret = false, help }) => ({
      ...{ flag, origin: originOf(flag), isSecret, help },
      ...(!isSecret && text(flag) !== '' && { value: text(flag).replaceAll(PASSWORD, '//…@') }),
    }));
  return { text, inForce };
}
