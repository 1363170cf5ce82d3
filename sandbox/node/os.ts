/**
 * `node:os`: answers that say nothing about the machine.
 */

export const EOL = '\n';
export const devNull = '/dev/null';
export const constants = { signals: {}, errno: {}, priority: {} };
export const arch = (): string => '';
export const availableParallelism = (): number => 1;
export const cpus = (): object[] => [];
export const endianness = (): string => 'LE';
export const freemem = (): number => 0;
export const homedir = (): string => '/';
export const hostname = (): string => 'isolate';
export const loadavg = (): number[] => [0, 0, 0];
export const machine = (): string => '';
export const networkInterfaces = (): object => ({});
export const platform = (): string => 'browser';
export const release = (): string => '';
export const tmpdir = (): string => '/tmp';
export const totalmem = (): number => 0;
export const type = (): string => 'isolate';
export const uptime = (): number => 0;
export const userInfo = (): object => ({ uid: -1, gid: -1, username: '', homedir: '/', shell: null });
export const version = (): string => '';

export default {
  EOL,
  devNull,
  constants,
  arch,
  availableParallelism,
  cpus,
  endianness,
  freemem,
  homedir,
  hostname,
  loadavg,
  machine,
  networkInterfaces,
  platform,
  release,
  tmpdir,
  totalmem,
  type,
  uptime,
  userInfo,
  version,
};
