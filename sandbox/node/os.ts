/**
 * `node:os`: answers that say nothing about the machine, and the numbers of Linux.
 */
import table from 'node-tables/os.json';
import { unavailable, validateInt32, validateInteger } from './errors.ts';
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
  ...table,
  dlopen: /* @__PURE__ */ bare(table.dlopen),
  errno: /* @__PURE__ */ bare(table.errno),
  signals: /* @__PURE__ */ Object.freeze(bare(table.signals)),
  priority: /* @__PURE__ */ bare(table.priority),
});
export const arch = /* @__PURE__ */ answering(() => '');
export const availableParallelism = /* @__PURE__ */ answering(() => 1);
export const cpus = (): object[] => [];
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

export function getPriority(pid = 0): number {
  validateInt32(pid, 'pid');
  return 0;
}
export function setPriority(pid: number, priority?: number): never {
  const [target, value] = priority === undefined ? [0, pid] : [pid, priority];
  validateInt32(target, 'pid');
  validateInteger(value, 'priority', -20, 19);
  throw unavailable('os.setPriority');
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
