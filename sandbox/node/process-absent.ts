/**
 * Functions of `node:process` that end, change or inspect the process: an isolate is none. Each
 * checks its arguments as Node.js does, and throws.
 */
import { signals } from 'node-tables/os.json';
import {
  type CodedError,
  invalidArgType,
  nodeError,
  outOfRange,
  unavailable,
  validateArray,
  validateString,
} from './errors.ts';

type Check = (...passed: unknown[]) => void;

/** No user and no group has a name here. */
function checkId(kind: 'User' | 'Group', name: string, id: unknown): void {
  if (typeof id === 'string') {
    const message = `${kind} identifier does not exist: ${id}`;
    throw nodeError(Error, 'ERR_UNKNOWN_CREDENTIAL', message);
  }
  if (typeof id !== 'number') throw invalidArgType(name, ['number', 'string'], id);
  if (!Number.isInteger(id)) throw outOfRange(name, 'an integer', id);
  if (id < 0 || id >= 2 ** 32) throw outOfRange(name, '>= 0 && <= 4294967295', id);
}
const user: Check = (id) => checkId('User', 'id', id);
const group: Check = (id) => checkId('Group', 'id', id);

function checkKill(pid: unknown, signal: unknown): void {
  // Node.js takes a text of digits for its number.
  const number = typeof pid === 'string' ? Number(pid) : pid;
  if (typeof number !== 'number' || number !== (number | 0)) throw invalidArgType('pid', 'number', pid);
  if (typeof signal === 'string' && !Object.hasOwn(signals, signal)) {
    throw nodeError(TypeError, 'ERR_UNKNOWN_SIGNAL', `Unknown signal: ${signal}`);
  }
  if (typeof signal !== 'number' || (signal >= 0 && signal < 65)) return;
  throw Object.assign(new Error('kill EINVAL') as CodedError, {
    code: 'EINVAL',
    errno: -22,
    syscall: 'kill',
  });
}

const CHECKS: Readonly<Record<string, Check>> = {
  chdir: (directory) => validateString(directory, 'directory'),
  kill: checkKill,
  setuid: user,
  seteuid: user,
  setgid: group,
  setegid: group,
  setgroups(groups) {
    validateArray(groups, 'groups');
    for (const [at, id] of groups.entries()) checkId('Group', `groups[${at}]`, id);
  },
  initgroups(name, extra) {
    for (const [what, id] of Object.entries({ user: name, extraGroup: extra })) {
      if (typeof id !== 'number' && typeof id !== 'string')
        throw invalidArgType(what, ['number', 'string'], id);
    }
    checkId('Group', 'extraGroup', extra);
  },
};
const OTHERS = [
  ...['abort', 'binding', 'dlopen', 'execve', 'exit', 'loadEnvFile', 'openStdin', 'reallyExit'],
  ...['_debugEnd', '_debugProcess', '_fatalException', '_kill', '_linkedBinding'],
];

/** Name → function that throws. */
export function absentFunctions(): Record<string, (...passed: unknown[]) => never> {
  const made: Record<string, (...passed: unknown[]) => never> = {};
  for (const name of [...Object.keys(CHECKS), ...OTHERS]) {
    const absent = {
      [name](...passed: unknown[]): never {
        CHECKS[name]?.(...passed);
        throw unavailable(`process.${name}`);
      },
    };
    made[name] = absent[name] as (typeof made)[string];
  }
  return made;
}
