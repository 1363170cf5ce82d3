/**
 * `node:os`: answers that say nothing about the machine, and the numbers of Linux.
 */
import { dlopen, errno, priority, signals, UV_UDP_REUSEADDR } from 'node-tables/os.json';
import { nodeError, validateInt32 } from './errors.ts';
import { process } from './process.ts';

/** A function of which a text is made by calling it: `${os.arch}`. */
function answering<T>(answer: () => T): () => T {
  return Object.defineProperty(answer, Symbol.toPrimitive, { value: answer });
}

export const EOL = '\n';
export const devNull = '/dev/null';
/** Tables of Node.js have no prototype; that of signals cannot be changed. */
const bare = (values: object): object => Object.assign(Object.create(null), values);
export const constants: object = /* @__PURE__ */ bare({
  UV_UDP_REUSEADDR,
  dlopen: /* @__PURE__ */ bare(dlopen),
  errno: /* @__PURE__ */ bare(errno),
  signals: /* @__PURE__ */ Object.freeze(bare(signals)),
  priority: /* @__PURE__ */ bare(priority),
});
export const arch = /* @__PURE__ */ answering(() => '');
export const availableParallelism = /* @__PURE__ */ answering(() => 1);
/** One, as `availableParallelism` says: code asks for as much work at a time as there are. */
export const cpus = (): object[] => [
  { model: '', speed: 0, times: { user: 0, nice: 0, sys: 0, idle: 0, irq: 0 } },
];
export const endianness = /* @__PURE__ */ answering(() => 'LE');
export const freemem = /* @__PURE__ */ answering(() => 0);
export const homedir = /* @__PURE__ */ answering(() => process.env['HOME'] ?? '/');
export const hostname = /* @__PURE__ */ answering(() => 'isolate');
export const loadavg = (): number[] => [0, 0, 0];
export const machine = /* @__PURE__ */ answering(() => '');
export const networkInterfaces = (): object => ({});
export const platform = /* @__PURE__ */ answering(() => 'browser');
export const release = /* @__PURE__ */ answering(() => '');
export const tmpdir = /* @__PURE__ */ answering(() => {
  const { TMPDIR, TMP, TEMP } = process.env;
  const path = TMPDIR || TMP || TEMP || '/tmp';
  return path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path;
});
export const totalmem = /* @__PURE__ */ answering(() => 0);
export const type = /* @__PURE__ */ answering(() => 'isolate');
export const uptime = /* @__PURE__ */ answering(() => 0);
export const userInfo = (): object => ({ uid: -1, gid: -1, username: '', homedir: '/', shell: null });
export const version = /* @__PURE__ */ answering(() => '');

/** What was set for the only process there is: it changes nothing. */
let ownPriority = 0;

export function getPriority(pid = 0): number {
  validateInt32(pid, 'pid');
  checkProcess('getpriority', pid);
  return ownPriority;
}
export function setPriority(pid: number, priority?: number): void {
  const [target, value] = priority === undefined ? [0, pid] : [pid, priority];
  validateInt32(target, 'pid');
  validateInt32(value, 'priority', -20, 19);
  checkProcess('setpriority', target);
  ownPriority = value;
}

function checkProcess(name: string, pid: number): void {
  if (pid === 0 || pid === process.pid) return;
  const syscall = `uv_os_${name}`;
  const message = `A system error occurred: ${syscall} returned ESRCH (no such process)`;
  const info = { errno: -3, code: 'ESRCH', message: 'no such process', syscall };
  throw Object.assign(nodeError(Error, 'ERR_SYSTEM_ERROR', message, checkProcess), {
    name: 'SystemError',
    info,
    errno: info.errno,
    syscall,
  });
}

const os = {
  arch,
  availableParallelism,
  cpus,
  endianness,
  freemem,
  getPriority,
  homedir,
  hostname,
  loadavg,
  networkInterfaces,
  platform,
  release,
  setPriority,
  tmpdir,
  totalmem,
  type,
  userInfo,
  uptime,
  version,
  machine,
  devNull,
};

// Code of Node.js cannot replace these two.
Object.defineProperties(os, {
  constants: { value: constants, enumerable: true },
  EOL: { value: EOL, enumerable: true, configurable: true },
});
export default os;
