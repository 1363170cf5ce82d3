/**
 * Preloaded into a host (`--import`): kills it with SIGKILL at one step of making the first admin
 * token, which `KILLED_AT_TOKEN` names: before or after its file is written or renamed, or when
 * it is announced.
 */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

const at = process.env['KILLED_AT_TOKEN'];
const { writeFileSync, renameSync } = fs;
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
syncBuiltinESMExports();

const write = process.stdout.write.bind(process.stdout);
process.stdout.write = ((chunk: string, ...rest: []) => {
  if (String(chunk).startsWith('Admin token')) step('at its announcement');
  return write(chunk, ...rest);
}) as typeof process.stdout.write;
