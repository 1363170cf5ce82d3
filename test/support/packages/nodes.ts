/**
 * Other versions of Node than the one of the tests, as folders for `PATH`: that of the machine, or
 * one of npm. The npm packages promise to work on them.
 */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const INSTALL_MS = 300_000;

/** Node's major version → its version on npm. */
const ON_NPM: Readonly<Record<string, string>> = { 20: '20.20.2', 22: '22.23.3', 26: '26.10.0' };

/** Variables of npm that say how it reaches its registry. The others are about the tests' run. */
const KEPT = /^npm_config_(registry|cache|userconfig|.*proxy|.*cafile)$/i;

/** The variables of a user: nothing of the npm that runs the tests, and none of its packages. */
export function userVariables(nodeFolder?: string): Record<string, string> {
  const entries = Object.entries(process.env).filter(
    ([name]) => !/^(npm_|ANNEX_|NODE_|VITEST|INIT_CWD$)/i.test(name) || KEPT.test(name),
  );
  const path = (process.env['PATH'] ?? '').split(delimiter).filter((part) => !part.includes('node_modules'));
  return {
    ...(Object.fromEntries(entries) as Record<string, string>),
    PATH: [...(nodeFolder === undefined ? [] : [nodeFolder]), ...path].join(delimiter),
    NO_UPDATE_NOTIFIER: '1',
  };
}

/** Runs npm as a user does. @throws an Error with what it printed */
export async function npm(args: readonly string[], cwd: string, nodeFolder?: string): Promise<string> {
  const quiet = ['--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error'];
  const options = { cwd, env: userVariables(nodeFolder), timeout: INSTALL_MS };
  return (await run('npm', [...args, ...quiet], options)).stdout;
}

/**
 * @param into a folder for what npm installs
 * @returns major version → folder with its `node`, which is first on a `PATH`
 */
export async function nodeFolders(
  majors: readonly string[],
  into: string,
): Promise<ReadonlyMap<string, string>> {
  await mkdir(into, { recursive: true });
  await writeFile(join(into, 'package.json'), '{"private":true}');
  const ofMachine = await machineNode();
  const missing = majors.filter((major) => major !== ofMachine?.major);
  const name = `node-${process.platform}-${process.arch}`;
  const specifiers = missing.map((major) => `of-${major}@npm:${name}@${ON_NPM[major]}`);
  if (missing.length > 0) await npm(['install', '--no-bin-links', ...specifiers], into);
  const folders = new Map<string, string>();
  for (const major of majors) {
    const folder = join(into, major);
    await mkdir(folder);
    const program = missing.includes(major)
      ? join(into, `node_modules/of-${major}/bin/node`)
      : ofMachine?.path;
    await symlink(program ?? '', join(folder, 'node'));
    folders.set(major, folder);
  }
  return folders;
}

/** The Node of the machine, which need not be that of the tests. */
async function machineNode(): Promise<{ major: string; path: string } | undefined> {
  const print = 'console.log(JSON.stringify([process.versions.node, process.execPath]))';
  try {
    const { stdout } = await run('node', ['-e', print], { env: userVariables() });
    const [version, path] = JSON.parse(stdout) as [string, string];
    return { major: version.split('.')[0] ?? '', path };
  } catch {
    return undefined;
  }
}

/** A registry that says what it was asked. */
export interface AskedRegistry {
  readonly url: string;
  /** Paths, decoded. */
  readonly asked: readonly string[];
  stop(): Promise<void>;
}

/** Has the registry of the machine behind it, for all names but those of Annex, which it lacks. */
export async function askedRegistry(isOurs: (path: string) => boolean): Promise<AskedRegistry> {
  const real = (await run('npm', ['config', 'get', 'registry'], { env: userVariables() })).stdout.trim();
  const asked: string[] = [];
  const server = createServer((request, response) => {
    const path = decodeURIComponent(request.url ?? '');
    asked.push(path);
    if (isOurs(path)) response.writeHead(404);
    else response.writeHead(307, { location: new URL((request.url ?? '').slice(1), real).href });
    response.end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    asked,
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
