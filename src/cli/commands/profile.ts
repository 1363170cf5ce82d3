/**
 * `annex profile`: the services that this user has logged in to. No command of it talks to a
 * service or prints a token.
 */
import Type from 'typebox';
import { type Command, type CommandGroup, defineCommand } from '../command.ts';
import { findConnection } from '../profile/connection.ts';
import { ProfileFile, profileNamed } from '../profile/profile-file.ts';
import { paint } from '../terminal/output.ts';

const list: Command = defineCommand({
  name: 'list',
  summary: 'list the profiles',
  examples: [{ line: 'annex profile list', does: 'see which services this user has logged in to' }],
  json: Type.Object({
    current: Type.Union([Type.String(), Type.Null()], { description: 'The profile in use.' }),
    file: Type.String({ description: 'Where they are kept.' }),
    profiles: Type.Array(Type.Object({ name: Type.String(), url: Type.String(), hasToken: Type.Boolean() })),
  }),
  async run({ output, env }) {
    const file = ProfileFile.of(env);
    const { current, profiles } = await file.read();
    const rows = Object.entries(profiles).map(([name, { url, token }]) => ({
      name,
      url,
      hasToken: token !== undefined,
    }));
    output.result({ current: current ?? null, file: file.path, profiles: rows }, () => {
      output.table(
        ['', 'PROFILE', 'URL', 'TOKEN'],
        rows.map(({ name, url, hasToken }) => [
          name === current ? paint('green', '*') : '',
          name,
          url,
          hasToken ? 'yes' : 'no',
        ]),
      );
      if (rows.length === 0) output.talk('There is no profile yet: `annex login` makes one.');
    });
  },
});

const show: Command = defineCommand({
  name: 'show',
  summary: 'show which service a command would use, and why',
  examples: [{ line: 'annex profile show', does: 'see the URL and where the token is from' }],
  json: Type.Object({
    url: Type.String(),
    urlFrom: Type.String(),
    profile: Type.Union([Type.String(), Type.Null()]),
    tokenFrom: Type.Union([Type.String(), Type.Null()], { description: 'Null if there is no token.' }),
  }),
  async run({ output, env, cwd, profile }) {
    const { url, urlFrom, tokenFrom, profile: name } = await findConnection({ env, cwd, profile });
    const value = { url, urlFrom, profile: name ?? null, tokenFrom: tokenFrom ?? null };
    output.result(value, () => {
      output.line('service  ', paint('bold', url), ` (${urlFrom})`);
      output.line(
        'token    ',
        tokenFrom === undefined ? 'none: `annex login` stores one' : `from ${tokenFrom}`,
      );
    });
  },
});

const CHANGED = Type.Object({ profile: Type.String(), current: Type.Union([Type.String(), Type.Null()]) });
const NAME = { help: 'name of the profile' } as const;

const use: Command = defineCommand({
  name: 'use',
  summary: 'use another profile from now on',
  arguments: { name: NAME },
  examples: [{ line: 'annex profile use staging', does: 'let commands talk to the service "staging"' }],
  json: CHANGED,
  async run({ output, env }, { name }) {
    let url = '';
    await ProfileFile.of(env).change((profiles) => {
      url = profileNamed(profiles, name).url;
      return { ...profiles, current: name };
    });
    output.result({ profile: name, current: name }, () => output.line(`Commands now talk to ${url}.`));
  },
});

const remove: Command = defineCommand({
  name: 'remove',
  summary: 'forget a profile and its token',
  description: [
    'Forgets a profile and its token.',
    'The token itself stays valid: `annex token revoke` ends it.',
  ],
  arguments: { name: NAME },
  examples: [{ line: 'annex profile remove staging', does: 'forget the service "staging"' }],
  json: CHANGED,
  async run({ output, env }, { name }) {
    let current: string | undefined;
    await ProfileFile.of(env).change((profiles) => {
      profileNamed(profiles, name);
      const { [name]: _removed, ...others } = profiles.profiles;
      current = profiles.current === name ? undefined : profiles.current;
      return { profiles: others, ...(current !== undefined && { current }) };
    });
    output.result({ profile: name, current: current ?? null }, () => output.line(`"${name}" is forgotten.`));
  },
});

export const profile: CommandGroup = {
  name: 'profile',
  summary: 'list, show, use and remove profiles',
  description: [
    'Profiles are names for services, each with a URL and a token. `annex login` makes them.',
    'ANNEX_URL and ANNEX_TOKEN win over the profile in use; --profile wins over them.',
  ],
  examples: [{ line: 'annex profile list', does: 'see which services this user has logged in to' }],
  commands: [list, show, use, remove],
};
