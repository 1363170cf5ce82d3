/**
 * `process.emitWarning` of Node.js: a line of the log, and an event of `process` where the bundle
 * has it. An emitter warns without carrying `process`.
 */
import { type CodedError, invalidArgType, validateString } from './errors.ts';

interface Process {
  readonly noDeprecation?: boolean;
  emit(name: string, warning: Error): boolean;
  emitWarning: typeof emitWarning;
}
let process: Process | undefined;

/** Lets `process` emit warnings. */
export function warning<T extends Process>(made: T): T {
  process = made;
  return made;
}

/** Warns as code has it: some replaces `process.emitWarning`. */
export const warn = (made: Error): void => (process?.emitWarning ?? emitWarning)(made);

interface Options {
  readonly type?: string;
  readonly code?: string;
  readonly detail?: string;
}

export function emitWarning(
  given: string | Error,
  about?: string | Options | Function,
  aboutCode?: string | Function,
  above: Function = emitWarning,
): void {
  let [type, code, detail]: unknown[] = [about, aboutCode, ''];
  if (typeof about === 'object' && about !== null && !Array.isArray(about)) {
    ({ type, code, detail } = about as Options);
    if (typeof detail !== 'string') detail = '';
  } else if (typeof about === 'function') [type, code] = ['Warning', undefined];
  if (typeof code === 'function') code = undefined;
  if (type !== undefined) validateString(type, 'type');
  if (code !== undefined) validateString(code, 'code');
  let made = given as Error & { code?: unknown; detail?: unknown };
  if (typeof given === 'string') {
    made = Object.assign(new Error(given), { name: type || 'Warning' }) as CodedError;
    if (code !== undefined) made.code = code;
    if (detail) made.detail = detail;
    Error.captureStackTrace(made, above);
  } else if (!(given instanceof Error)) throw invalidArgType('warning', ['Error', 'string'], given);
  if (made.name === 'DeprecationWarning' && process?.noDeprecation === true) return;
  const named = made.code === undefined ? '' : `[${String(made.code)}] `;
  console.warn(`${named}${made.name}: ${made.message}${made.detail ? `\n${String(made.detail)}` : ''}`);
  queueMicrotask(() => process?.emit('warning', made));
}
