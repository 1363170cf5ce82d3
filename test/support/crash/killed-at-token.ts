/**
 * Preloaded into a host (`--import`): kills it with SIGKILL at one step of making the first admin
 * token, which `KILLED_AT_TOKEN` names: before or after its file is written or renamed, or when
 * it is announced.
 */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

const at = process.env['KILLED_AT_TOKEN'];
const { writeFileSync, renameSync, writeSync } = fs;
const STANDARD_OUTPUT = 1;
const isToken = (path: unknown): boolean => String(path).includes('admin-token');

function step(name: string): void {
  if (name === at) process.kill(process.pid, 'SIGKILL');
}

fs.writeFileSync = (path, data, options) => {
  if (isToken(path)) step('before the file');
  writeFileSync(path, data, options);
  if (isToken(path)) step('before its name');
};
fs.renameSync = (from, to) => {
  renameSync(from, to);
  if (isToken(to)) step('after its name');
};
fs.writeSync = ((to: number, data: Buffer | string, ...rest: []) => {
  if (to === STANDARD_OUTPUT && String(data).startsWith('Admin token')) step('at its announcement');
  return writeSync(to, data as string, ...rest);
}) as typeof fs.writeSync;
syncBuiltinESMExports();
