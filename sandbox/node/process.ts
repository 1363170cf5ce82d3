/**
 * `node:process`, and `process` where code uses it as a free name: enough for code that asks for
 * its environment and schedules work. It is an emitter: of what Node.js emits, it emits warnings.
 *
 * `env` holds `NODE_ENV` and what the code itself sets; the integration's secrets are not in it, so
 * that a package of npm cannot read them. `versions` and `release` are empty: code that looks for
 * Node.js must not find it.
 */
import { type Emitter, EventEmitter } from './emitter.ts';
import {
  invalidArgType,
  nodeError,
  outOfRange,
  validateFunction,
  validateObject,
  validateString,
} from './errors.ts';
import { absentFunctions } from './process-absent.ts';
import { emitWarning, warning } from './warnings.ts';

type Task = (...values: unknown[]) => void;

const nothing = (): void => {};
const started = Date.now();

/** Names and values are texts: a `Proxy`, as the object of Node.js is an exotic one. */
const env: Record<string, string> = /* @__PURE__ */ new Proxy({ NODE_ENV: MODE } as Record<string, string>, {
  set(target, name, value) {
    if (typeof name === 'symbol' || typeof value === 'symbol') {
      throw new TypeError('Cannot convert a Symbol value to a string');
    }
    target[name] = `${value as string}`;
    return true;
  },
  defineProperty(target, name, { value, get, set, configurable, writable, enumerable }) {
    const reason = "'process.env' does not accept an accessor(getter/setter) descriptor";
    const why = "'process.env' only accepts a configurable, writable, and enumerable data descriptor";
    if (get !== undefined || set !== undefined) {
      throw nodeError(TypeError, 'ERR_INVALID_OBJECT_DEFINE_PROPERTY', reason);
    }
    if (configurable !== true || writable !== true || enumerable !== true) {
      throw nodeError(TypeError, 'ERR_INVALID_OBJECT_DEFINE_PROPERTY', why);
    }
    target[String(name)] = `${value as string}`;
    return true;
  },
});

function hrtime(since?: readonly [number, number]): [number, number] {
  if (since !== undefined) {
    if (!Array.isArray(since)) throw invalidArgType('time', 'Array', since);
    if (since.length !== 2) {
      const message = `The value of "time" is out of range. It must be 2. Received ${since.length}`;
      throw nodeError(RangeError, 'ERR_OUT_OF_RANGE', message);
    }
  }
  const nanoseconds = hrtime.bigint();
  const seconds = Number(nanoseconds / 1_000_000_000n) - (since?.[0] ?? 0);
  const rest = Number(nanoseconds % 1_000_000_000n) - (since?.[1] ?? 0);
  return rest < 0 ? [seconds - 1, rest + 1_000_000_000] : [seconds, rest];
}
hrtime.bigint = (): bigint => BigInt(Math.round(performance.now() * 1_000)) * 1_000n;

function nextTick(task: Task, ...values: unknown[]): void {
  validateFunction(task, 'callback');
  queueMicrotask(() => task(...values));
}

/** A stream of which each write is a line of the log. */
function output(write: (text: string) => void, fd: number): object {
  const stream = {
    fd,
    writable: true,
    isTTY: false,
    columns: 80,
    hasColors: (): boolean => false,
    getColorDepth: (): number => 1,
    write(text: string | Uint8Array, ...rest: unknown[]): boolean {
      if (typeof text !== 'string' && !ArrayBuffer.isView(text)) {
        throw invalidArgType('chunk', ['string', 'Buffer', 'TypedArray', 'DataView'], text);
      }
      write((typeof text === 'string' ? text : new TextDecoder().decode(text)).replace(/\n$/, ''));
      const done = rest.at(-1);
      if (typeof done === 'function') queueMicrotask(() => done());
      return true;
    },
    end: (text?: string): void => {
      if (text !== undefined) stream.write(text);
    },
    cork: nothing,
    uncork: nothing,
    on: (): object => stream,
    once: (): object => stream,
    off: (): object => stream,
    emit: (): boolean => false,
    removeListener: (): object => stream,
    removeAllListeners: (): object => stream,
    listenerCount: (): number => 0,
  };
  return stream;
}

/** Spent time, memory and users say nothing of the machine. */
const measures = {
  uptime: (): number => (Date.now() - started) / 1_000,
  hrtime,
  cpuUsage(since?: { user: number; system: number }): object {
    if (since !== undefined) {
      validateObject(since, 'prevValue');
      for (const name of ['user', 'system'] as const) {
        const value: unknown = since[name];
        if (typeof value !== 'number') throw invalidArgType(`prevValue.${name}`, 'number', value);
        if (!(value >= 0 && value <= Number.MAX_SAFE_INTEGER)) {
          const message = `The property 'prevValue.${name}' is invalid. Received ${value}`;
          throw nodeError(RangeError, 'ERR_INVALID_ARG_VALUE', message);
        }
      }
    }
    return { user: 0, system: 0 };
  },
  threadCpuUsage: (since?: { user: number; system: number }): object => measures.cpuUsage(since),
  resourceUsage: (): object => Object.fromEntries(RESOURCES.map((name) => [name, 0])),
  memoryUsage: /* @__PURE__ */ Object.assign(
    function memoryUsage(): object {
      return { rss: 0, heapTotal: 0, heapUsed: 0, external: 0, arrayBuffers: 0 };
    },
    { rss: (): number => 0 },
  ),
  constrainedMemory: (): number => 0,
  availableMemory: (): number => 0,
  getuid: (): number => -1,
  geteuid: (): number => -1,
  getgid: (): number => -1,
  getegid: (): number => -1,
  getgroups: (): number[] => [],
};
const RESOURCES = [
  ...['userCPUTime', 'systemCPUTime', 'maxRSS', 'sharedMemorySize', 'unsharedDataSize', 'unsharedStackSize'],
  ...['minorPageFault', 'majorPageFault', 'swappedOut', 'fsRead', 'fsWrite', 'ipcSent', 'ipcReceived'],
  ...['signalsCount', 'voluntaryContextSwitches', 'involuntaryContextSwitches'],
];

let mask = 0;
let capture: unknown = null;

/** What an isolate remembers and does nothing with. */
const remembered = {
  umask(next?: number | string): number {
    const before = mask;
    if (next !== undefined) mask = maskOf(next);
    return before;
  },
  setUncaughtExceptionCaptureCallback(fn: unknown): void {
    if (fn !== null && typeof fn !== 'function') throw invalidArgType('fn', ['Function', 'null'], fn);
    if (fn !== null && capture !== null) {
      const message =
        '`process.setupUncaughtExceptionCapture()` was called while a capture callback was already active';
      throw nodeError(Error, 'ERR_UNCAUGHT_EXCEPTION_CAPTURE_ALREADY_SET', message);
    }
    capture = fn;
  },
  addUncaughtExceptionCaptureCallback(fn: unknown): void {
    validateFunction(fn, 'fn');
  },
  hasUncaughtExceptionCaptureCallback: (): boolean => capture !== null,
  setSourceMapsEnabled(enabled: unknown): void {
    if (typeof enabled !== 'boolean') throw invalidArgType('enabled', 'boolean', enabled);
  },
  ref: nothing,
  unref: nothing,
  finalization: { register: nothing, registerBeforeExit: nothing, unregister: nothing },
  _getActiveRequests: (): object[] => [],
  _getActiveHandles: (): object[] => [],
  getActiveResourcesInfo: (): string[] => [],
  /** Code that looks for a module of Node.js must not find it. */
  getBuiltinModule(id: unknown): undefined {
    validateString(id, 'id');
  },
  _rawDebug: (...values: unknown[]): void => console.error(...values),
  _tickCallback: nothing,
  _startProfilerIdleNotifier: nothing,
  _stopProfilerIdleNotifier: nothing,
};

function maskOf(value: number | string): number {
  const number = typeof value === 'string' && /^[0-7]+$/.test(value) ? Number.parseInt(value, 8) : value;
  if (typeof number === 'string') {
    const message = `The argument 'mask' must be a 32-bit unsigned integer or an octal string. Received '${number}'`;
    throw nodeError(TypeError, 'ERR_INVALID_ARG_VALUE', message);
  }
  if (typeof number !== 'number') throw invalidArgType('mask', 'number', number);
  if (!Number.isInteger(number)) throw outOfRange('mask', 'an integer', number);
  if (number < 0 || number >= 2 ** 32) throw outOfRange('mask', '>= 0 && <= 4294967295', number);
  return number & 0o777;
}

const silent = (): object => process;

/** An emitter with a prototype of its own, as `process` of Node.js is. */
function emitting<T extends object>(members: T): T & Emitter {
  const maker = function process(): void {};
  maker.prototype = Object.create(EventEmitter.prototype, {
    constructor: { value: maker, writable: true, configurable: true },
    [Symbol.toStringTag]: { value: 'process', configurable: true },
  });
  const made = Object.create(maker.prototype) as T & Emitter;
  EventEmitter.call(made);
  return Object.assign(made, members);
}

const absent = /* @__PURE__ */ absentFunctions();
const process = /* @__PURE__ */ warning(
  emitting({
    version: '',
    versions: {} as Record<string, string>,
    arch: '',
    platform: 'browser',
    release: {},
    title: 'isolate',
    browser: true,
    env,
    argv: [] as string[],
    argv0: '',
    execArgv: [] as string[],
    execPath: '',
    pid: 1,
    ppid: 0,
    debugPort: 0,
    features: {},
    config: {},
    report: {},
    moduleLoadList: [] as string[],
    allowedNodeEnvironmentFlags: /* @__PURE__ */ new Set<string>(),
    exitCode: undefined as number | undefined,
    domain: null,
    sourceMapsEnabled: false,
    _exiting: false,
    _preload_modules: [] as string[],
    stdout: output((text) => console.log('%s', text), 1),
    stderr: output((text) => console.error('%s', text), 2),
    stdin: {
      fd: 0,
      isTTY: false,
      readable: false,
      on: silent,
      once: silent,
      pipe: silent,
      resume: silent,
      pause: silent,
    },
    cwd: (): string => '/',
    nextTick,
    emitWarning,
    ...measures,
    ...remembered,
    ...absent,
  }),
);

export const { version, versions, arch, platform, release, title, browser, argv, argv0 } = process;
export const { execArgv, execPath, pid, ppid, debugPort, features, config, report } = process;
export const { moduleLoadList, allowedNodeEnvironmentFlags, exitCode, domain, sourceMapsEnabled } = process;
export const { _exiting, _events, _eventsCount, _maxListeners, _preload_modules, stdout, stderr } = process;
export const { stdin, cwd, uptime, cpuUsage, threadCpuUsage, resourceUsage, memoryUsage } = process;
export const { constrainedMemory, availableMemory, getuid, geteuid, getgid, getegid, getgroups } = process;
export const { umask, setUncaughtExceptionCaptureCallback, addUncaughtExceptionCaptureCallback } = process;
export const { hasUncaughtExceptionCaptureCallback, setSourceMapsEnabled, ref, unref } = process;
export const { finalization, _getActiveRequests, _getActiveHandles, getActiveResourcesInfo } = process;
export const { getBuiltinModule, _rawDebug, _tickCallback, _startProfilerIdleNotifier } = process;
export const { _stopProfilerIdleNotifier } = process;
export const { chdir, kill, setuid, seteuid, setgid, setegid, setgroups, initgroups, abort } = absent;
export const { binding, dlopen, execve, exit, loadEnvFile, openStdin, reallyExit, _debugEnd } = absent;
export const { _debugProcess, _fatalException, _kill, _linkedBinding } = absent;
export { emitWarning, env, hrtime, nextTick, process };
export default process;
