/**
 * `annex login`: stores the URL and the token of a service as a profile, after the service has
 * accepted the token. `annex profile`: the services that this user has logged in to; no command of
 * it talks to a service or prints a token.
 */

import { join, resolve } from 'node:path';
import Type from 'typebox';
import { AnnexError } from '../../../packages/client/src/index.ts';
import { type Command, type CommandContext, type CommandGroup, defineCommand } from '../command.ts';
import {
  ADMIN_TOKEN_FILE,
  DEFAULT_URL,
  findConnection,
  isLoopback,
  serviceUrl,
  tokenOf,
} from '../profile/connection.ts';
import { ProfileFile, profileName, profileNamed, readPrivate } from '../profile/profile-file.ts';
import { Failure, UsageError } from '../terminal/failure.ts';
import { paint } from '../terminal/output.ts';
import { askSecret, secretOf } from '../terminal/secret-input.ts';

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

const FROM_STDIN = '-';
/** It is no runtime token: the answer to it says only whether the token of the request is good. */
const NO_TOKEN = { token: 'none' };

interface Sources {
  readonly token: string | undefined;
  readonly tokenStdin: boolean;
  readonly data: string | undefined;
}

export const login: Command = defineCommand({
  name: 'login',
  summary: 'store the URL and the token of a service as a profile',
  description: [
    'Stores the URL and the token of a service as a profile, and uses it from now on. The service must accept the token first.',
    'The token is taken from --token or standard input, else from the data folder that --data names, else from ANNEX_TOKEN, else from ./data/admin-token for a service on this machine; on a terminal you are asked for it. It is kept in a file that only you can read, below XDG_CONFIG_HOME. --profile names the profile ("default").',
  ],
  arguments: {
    url: { help: `the control listener of the service (ANNEX_URL, else ${DEFAULT_URL})`, optional: true },
  },
  options: {
    token: { value: 'token', help: 'the token; "-" reads it from standard input, which `ps` does not show' },
    tokenStdin: { help: 'read the token from standard input' },
    data: { value: 'folder', help: 'data folder of a service on this machine: its admin token is used' },
  },
  examples: [
    { line: 'annex login --data ./data', does: 'use the service of this folder from everywhere' },
    {
      line: 'annex login https://annex.example.com --profile staging --token -',
      does: 'store a token that comes on standard input',
    },
  ],
  json: Type.Object({
    profile: Type.String(),
    url: Type.String(),
    kind: Type.Union([Type.String(), Type.Null()], {
      description: 'Kind of the token, if its form says so.',
    }),
  }),
  async run(context, { url: typed, ...sources }) {
    const { output, env, profile, signal } = context;
    const name = profileName(profile ?? (env['ANNEX_PROFILE'] || 'default'));
    const url = serviceUrl(typed ?? (env['ANNEX_URL'] || DEFAULT_URL), typed ? 'The URL' : 'ANNEX_URL');
    const file = ProfileFile.of(env);
    // A file that cannot be used is reported before a token is asked for.
    await file.read();
    const token = await givenToken(context, url, sources);
    await verify(context, { url, token, signal });
    await file.change(({ profiles }) => ({
      current: name,
      profiles: { ...profiles, [name]: { url, token } },
    }));
    const kind = /^annex_(admin|platform|organization)_/.exec(token)?.[1] ?? null;
    output.result({ profile: name, url, kind }, () =>
      output.line(`Logged in to ${url} as profile "${name}"${kind ? ` with a token of kind ${kind}` : ''}.`),
    );
  },
});

async function givenToken(context: CommandContext, url: string, sources: Sources): Promise<string> {
  const { env, cwd, stdin, isTerminal, output } = context;
  const { token, tokenStdin, data } = sources;
  if ([token !== undefined, tokenStdin, data !== undefined].filter(Boolean).length > 1)
    throw new UsageError('Give one of --token, --token-stdin and --data.');
  if (tokenStdin || token === FROM_STDIN) return tokenOf(await secretOf(stdin), 'Standard input');
  if (token !== undefined) return tokenOf(token, '--token');
  const fileIn = (folder: string) => resolve(cwd, join(folder, ADMIN_TOKEN_FILE));
  if (data !== undefined) {
    const stored = await readPrivate(fileIn(data));
    if (stored !== undefined) return tokenOf(stored, fileIn(data));
    throw new Failure(`There is no ${fileIn(data)}.`, {
      code: 'TOKEN_MISSING',
      hint: 'The first start of a service writes it into its data folder (annex serve --data).',
    });
  }
  if (env['ANNEX_TOKEN']) return tokenOf(env['ANNEX_TOKEN'], 'ANNEX_TOKEN');
  const local = isLoopback(url) ? await readPrivate(fileIn(env['ANNEX_DATA'] || 'data')) : undefined;
  if (local !== undefined) return tokenOf(local, 'data/admin-token');
  if (isTerminal.stdin && isTerminal.stderr)
    return tokenOf(await askSecret(stdin, (text) => output.ask(text), `Token for ${url}: `), 'The answer');
  throw new UsageError('There is no token, and no terminal to ask for it.', {
    hint: 'Pipe it in (--token -), name the data folder (--data), or set ANNEX_TOKEN.',
  });
}

/** The route of introspection is open to each token, and refuses those of organizations by kind. */
async function verify(
  { clientOf }: CommandContext,
  { url, token, signal }: { url: string; token: string; signal: AbortSignal },
): Promise<void> {
  try {
    await clientOf(url, token, 'the login').tokens.introspect(NO_TOKEN, { signal });
  } catch (error) {
    if (!(error instanceof AnnexError && error.code === 'TOKEN_FORBIDDEN')) throw error;
  }
}
