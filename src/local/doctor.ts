/**
 * `annex doctor`: looks for what keeps a service from running here, and commands from reaching one.
 * It changes nothing.
 *
 * The checks of this machine start the same programs as a service does, and end them. Those of the
 * service are of profile, connection, version, token and health.
 */

import { access, constants, stat } from 'node:fs/promises';
import { createServer } from 'node:net';
import { dirname, join, resolve } from 'node:path';
import Type from 'typebox';
import { AnnexError } from '../../packages/client/src/index.ts';
import { type Command, type CommandContext, defineCommand } from '../cli/command.ts';
import { ADMIN_TOKEN_FILE, type Connection } from '../cli/profile/connection.ts';
import { EXIT, type Failure } from '../cli/terminal/failure.ts';
import { paint } from '../cli/terminal/output.ts';
import type { Config } from '../host/config.ts';

const SCOPES = ['all', 'machine', 'service'] as const;
const MARKS = {
  ok: paint('green', 'ok'),
  warning: paint('yellow', 'warning'),
  failed: paint('red', 'failed'),
};

export const doctor: Command = defineCommand({
  name: 'doctor',
  summary: 'find out what keeps Annex from working',
  description: [
    'Checks this machine (Node, settings, isolates, confinement, data folder, ports) and the service that commands would use (profile, connection, version, token), and says what to do about each problem. It changes nothing.',
    'A service that runs elsewhere needs only the second half: `annex doctor --only service`.',
  ],
  options: { only: { value: 'part', choices: SCOPES, default: 'all', help: 'what to check' } },
  examples: [
    { line: 'annex doctor', does: 'check everything' },
    { line: 'annex doctor --only service', does: 'check the connection to a service' },
  ],
  exits: { 0: 'nothing failed; there may be warnings', 1: 'a check failed' },
  json: Type.Object({
    ok: Type.Boolean(),
    findings: Type.Array(
      Type.Object({
        check: Type.String(),
        state: Type.Enum(['ok', 'warning', 'failed']),
        detail: Type.String(),
        fix: Type.Optional(Type.String()),
      }),
    ),
  }),
  async run(context, { only }) {
    const { output } = context;
    const service = only === 'machine' ? undefined : await checkService(context);
    const machine = only === 'service' ? [] : await checkMachine(context, service?.isServing ?? false);
    const findings = [...machine, ...(service?.findings ?? [])];
    const isOk = findings.every(({ state }) => state !== 'failed');
    output.result({ ok: isOk, findings }, () => {
      for (const { check, state, detail, fix } of findings) {
        output.line(MARKS[state], `  ${check}: ${detail}`);
        if (fix !== undefined) output.line('      ', paint('cyan', fix));
      }
    });
    return isOk ? EXIT.ok : EXIT.failed;
  },
});

async function checkMachine({ env, cwd }: CommandContext, isServing: boolean): Promise<Finding[]> {
  const { finding, config } = await checkSettings({ ...env }, cwd);
  if (config === undefined) return [checkNode(), finding];
  return [
    checkNode(),
    finding,
    ...(await checkConfinement(config)),
    await checkDataFolder(config),
    ...(await checkPorts(config, isServing)),
  ];
}

interface Finding {
  readonly check: string;
  /** `failed` keeps something from working; `warning` does not. */
  readonly state: 'ok' | 'warning' | 'failed';
  readonly detail: string;
  /** What to do; absent if nothing is. */
  readonly fix?: string;
}

const ok = (check: string, detail: string): Finding => ({ check, state: 'ok', detail });

const warning = (check: string, detail: string, fix: string): Finding => ({
  check,
  state: 'warning',
  detail,
  fix,
});

const failed = (check: string, detail: string, fix: string): Finding => ({
  check,
  state: 'failed',
  detail,
  fix,
});

const NODE_MAJOR = 26;
const OTHERS = 0o077;

function checkNode(): Finding {
  const { node } = process.versions;
  if (Number(node.split('.', 1)[0]) >= NODE_MAJOR) return ok('node', `Node ${node}`);
  const fix = 'Start annex by its own program, which brings Node 26.';
  return failed('node', `Node ${node}; a service needs ${NODE_MAJOR}`, fix);
}

/** @returns the settings of a service of this folder; undefined if they are wrong */
async function checkSettings(
  env: NodeJS.ProcessEnv,
  cwd: string,
): Promise<{ finding: Finding; config?: Config }> {
  const { readConfig } = await import('../host/config.ts');
  try {
    const config = readConfig([], env);
    const dataFolder = resolve(cwd, config.dataFolder);
    return { finding: ok('settings', 'valid'), config: { ...config, dataFolder } };
  } catch (cause) {
    const detail = (cause as Error).message.replaceAll('\n', ' ');
    return { finding: failed('settings', detail, '`annex serve --help` lists the settings.') };
  }
}

/** Starts a cell and a bundler behind each layer, as a service does at its start. */
async function checkConfinement(config: Config): Promise<Finding[]> {
  const { prepareProcesses } = await import('../host/service-processes.ts');
  try {
    const { build, cells } = await prepareProcesses(config);
    build.remove();
    // Without any layer it is the program itself that fails.
    const layers = Object.entries(cells.layers);
    const off = layers.filter(([name, { on }]) => !on && name !== 'jitless');
    const names = layers.filter(([, { on }]) => on).map(([name]) => name);
    const isolates = ok('isolates', 'the program of a cell starts, with isolated-vm');
    if (off.length === 0) return [isolates, ok('confinement', names.join(', '))];
    const missing = off.map(([name, { detail }]) => `${name}: ${detail}`).join('; ');
    const fix =
      'docs/operating/confinement.md says what each layer needs; bubblewrap and Linux give all of them.';
    return [isolates, warning('confinement', `off: ${missing}`, fix)];
  } catch (cause) {
    return [failed('isolates', (cause as Error).message, fixOfProgram((cause as Error).message))];
  }
}

const fixOfProgram = (message: string): string =>
  message.includes('libatomic')
    ? 'Install it: apt-get install libatomic1 (or dnf install libatomic).'
    : 'Install the packages again (npm ci), on the machine where they run.';

export async function checkDataFolder({ dataFolder, databaseUrl }: Config): Promise<Finding> {
  const folder = await stat(dataFolder).catch(() => undefined);
  if (folder === undefined) {
    const isWritable = await mayWrite(dirname(dataFolder));
    if (isWritable) return ok('data', `${dataFolder} will be made by the first start`);
    return failed(
      'data',
      `${dataFolder} cannot be made`,
      'Name another folder: annex serve --data <folder>.',
    );
  }
  if (!folder.isDirectory()) return failed('data', `${dataFolder} is no folder`, 'Name another: --data.');
  if (!(await mayWrite(dataFolder)))
    return failed('data', `${dataFolder} cannot be written`, `Give it to the user of the service: chown.`);
  for (const name of [ADMIN_TOKEN_FILE, 'vault.key']) {
    const file = join(dataFolder, name);
    const found = await stat(file).catch(() => undefined);
    if (found === undefined) continue;
    if ((found.mode & OTHERS) !== 0)
      return failed('data', `other users can read ${file}`, `Close it: chmod 600 ${file}`);
    if (name === ADMIN_TOKEN_FILE && isForeign(found.uid)) {
      const fix = 'Run annex as that user, or log in with a token of your own: annex login.';
      return warning('data', `${file} belongs to another user, so commands do not use it`, fix);
    }
  }
  return ok('data', `${dataFolder}${databaseUrl === undefined ? '' : ', with the store in PostgreSQL'}`);
}

/** As the reader of files with tokens decides. */
const isForeign = (uid: number): boolean =>
  process.getuid !== undefined && uid !== process.getuid() && uid !== 0;

const mayWrite = (path: string): Promise<boolean> =>
  access(path, constants.W_OK).then(
    () => true,
    () => false,
  );

/** A port in use is fine where it is that of the service. */
export async function checkPorts(config: Config, isServing: boolean): Promise<Finding[]> {
  const listeners = [
    ['control', config.controlHost, config.controlPort],
    ['public', config.publicHost, config.publicPort],
  ] as const;
  return Promise.all(
    listeners.map(async ([name, host, port]) => {
      const problem = await bindProblem(host, port);
      const check = `port ${port}`;
      if (problem === undefined) return ok(check, `free, for the ${name} listener`);
      if (problem === 'EADDRINUSE' && isServing) return ok(check, 'in use; a service answers');
      if (problem === 'EADDRINUSE')
        return warning(
          check,
          'in use by another program',
          `Choose another: annex serve --${name}-port <port>.`,
        );
      return failed(
        check,
        `cannot be opened: ${problem}`,
        `Choose another: annex serve --${name}-port <port>.`,
      );
    }),
  );
}

function bindProblem(host: string, port: number): Promise<string | undefined> {
  const { promise, resolve: settle } = Promise.withResolvers<string | undefined>();
  const server = createServer();
  server.once('error', (error: NodeJS.ErrnoException) => settle(error.code ?? error.message));
  server.listen({ host, port, exclusive: true }, () => server.close(() => settle(undefined)));
  return promise;
}

interface Health {
  readonly status: string;
  readonly cells?: { readonly count: number };
}

interface ServiceFindings {
  readonly findings: readonly Finding[];
  /** Whether a service answers. */
  readonly isServing: boolean;
}

async function checkService(context: CommandContext): Promise<ServiceFindings> {
  let connection: Connection;
  try {
    connection = await context.connection();
  } catch (cause) {
    return { findings: [ofFailure('profile', context.explain(cause))], isServing: false };
  }
  const { url, urlFrom } = connection;
  const profile = ok('profile', `${url}, from ${urlFrom}`);
  const health = await checkHealth(context, connection);
  if (health.state === 'failed') return { findings: [profile, health], isServing: false };
  const findings = [
    profile,
    health,
    checkVersion(context, connection.url),
    await checkToken(context, connection),
  ];
  return { findings, isServing: true };
}

async function checkHealth(context: CommandContext, { url, token, tokenFrom }: Connection): Promise<Finding> {
  try {
    const client = context.clientOf(url, token, tokenFrom ?? 'nowhere');
    const health = await client.request<Health>('GET', '/healthz', {
      options: { signal: context.signal, retries: 0 },
    });
    if (health?.cells === undefined)
      return failed(
        'service',
        `${url} is not Annex`,
        'Name the control listener of a service: annex login <url>.',
      );
    if (health.status === 'ok') return ok('service', `answers, with ${health.cells.count} cells`);
    return warning(
      'service',
      `is ${health.status}`,
      'Its log says why; docs/operating/troubleshooting.md says what to do.',
    );
  } catch (cause) {
    // Of a damaged database it says so with 503.
    if (cause instanceof AnnexError && cause.status === 503)
      return warning(
        'service',
        'answers 503',
        'Its log says why; docs/operating/troubleshooting.md says what to do.',
      );
    return ofFailure('service', context.explain(cause));
  }
}

function checkVersion({ versions }: CommandContext, url: string): Finding {
  const [own, its] = versions();
  if (its === undefined)
    return warning('versions', `${own} here; the service tells none`, 'Update the service.');
  if (own === its) return ok('versions', `${own} on both sides`);
  return warning(
    'versions',
    `${own} here, ${its} in the service`,
    `Use its version: npm install ${url}/v1/packages/annex-${its}.tgz`,
  );
}

async function checkToken(context: CommandContext, { url, token, tokenFrom }: Connection): Promise<Finding> {
  if (token === undefined) return failed('token', `there is none for ${url}`, `Log in: annex login ${url}`);
  try {
    await context
      .clientOf(url, token, tokenFrom ?? 'nowhere')
      .tokens.introspect({ token: 'none' }, { signal: context.signal });
  } catch (cause) {
    // The answer to a good token of an organization.
    if (!(cause instanceof AnnexError && cause.code === 'TOKEN_FORBIDDEN'))
      return ofFailure('token', context.explain(cause));
  }
  return ok('token', `accepted, from ${tokenFrom}`);
}

const ofFailure = (check: string, { message, details }: Failure): Finding =>
  failed(check, message.replace(/\.$/, ''), details.hint ?? 'Its log may say more.');
