/**
 * `node:process`, and `process` where code uses it as a free name: enough for code that asks for
 * its environment and schedules work.
 *
 * `env` holds `NODE_ENV` and what the code itself sets; the integration's secrets are not in it, so
 * that a package of npm cannot read them. There are no `versions.node`, no `release` and no `emit`:
 * code that looks for Node.js must not find it.
 */

type Task = (...values: unknown[]) => void;

const unavailable = (name: string) => (): never => {
  throw new Error(`process.${name}() does not exist in an isolate`);
};
const started = Date.now();
const ignore = (): object => process;

function hrtime(since?: readonly [number, number]): [number, number] {
  const nanoseconds = hrtime.bigint();
  const seconds = Number(nanoseconds / 1_000_000_000n) - (since?.[0] ?? 0);
  const rest = Number(nanoseconds % 1_000_000_000n) - (since?.[1] ?? 0);
  return rest < 0 ? [seconds - 1, rest + 1_000_000_000] : [seconds, rest];
}
hrtime.bigint = (): bigint => BigInt(Math.round(performance.now() * 1_000)) * 1_000n;

const process = {
  title: 'isolate',
  browser: true,
  env: { NODE_ENV: MODE } as Record<string, string>,
  argv: [] as string[],
  execArgv: [] as string[],
  execPath: '',
  pid: 1,
  ppid: 0,
  platform: 'browser',
  arch: '',
  version: '',
  versions: {},
  features: {},
  config: {},
  exitCode: undefined,
  nextTick: (task: Task, ...values: unknown[]): void => queueMicrotask(() => task(...values)),
  cwd: (): string => '/',
  umask: (): number => 0,
  uptime: (): number => (Date.now() - started) / 1_000,
  hrtime,
  emitWarning: (warning: unknown): void => console.warn(warning),
  exit: unavailable('exit'),
  abort: unavailable('abort'),
  kill: unavailable('kill'),
  chdir: unavailable('chdir'),
  binding: unavailable('binding'),
  // An isolate has no events of a process: nothing listens in vain, nothing fails.
  on: ignore,
  once: ignore,
  off: ignore,
  addListener: ignore,
  prependListener: ignore,
  removeListener: ignore,
  removeAllListeners: ignore,
  listeners: (): Task[] => [],
  listenerCount: (): number => 0,
};

export const { argv, browser, cwd, emitWarning, env, exit, nextTick, pid, platform, uptime } = process;
export const { arch, execPath, title, version, versions } = process;
export { hrtime, process };
export default process;
