/**
 * Checks of this machine: whether a service could run here, and how well its cells would be
 * confined. They start the same programs as a service does, and end them.
 */
import { access, constants, stat } from 'node:fs/promises';
import { createServer } from 'node:net';
import { dirname, join, resolve } from 'node:path';
import { ADMIN_TOKEN_FILE } from '../../cli/profile/connection.ts';
import type { Config } from '../../config.ts';
import { type Finding, failed, ok, warning } from './finding.ts';

const NODE_MAJOR = 26;
const OTHERS = 0o077;

export function checkNode(): Finding {
  const { node } = process.versions;
  if (Number(node.split('.', 1)[0]) >= NODE_MAJOR) return ok('node', `Node ${node}`);
  const fix = 'Start annex by its own program, which brings Node 26.';
  return failed('node', `Node ${node}; a service needs ${NODE_MAJOR}`, fix);
}

/** @returns the settings of a service of this folder; undefined if they are wrong */
export async function checkSettings(
  env: NodeJS.ProcessEnv,
  cwd: string,
): Promise<{ finding: Finding; config?: Config }> {
  const { readConfig } = await import('../../config.ts');
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
export async function checkConfinement(config: Config): Promise<Finding[]> {
  const { prepareProcesses } = await import('../../service-processes.ts');
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
