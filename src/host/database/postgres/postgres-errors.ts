/**
 * Translates errors of PostgreSQL and of its connections: failures that pass, and collisions of
 * transactions. All others are faults of a statement and stay as they are.
 *
 * Codes: https://www.postgresql.org/docs/current/errcodes-appendix.html
 */
import { DatabaseUnavailable, WriteConflict } from '../unavailable.ts';

/** Classes of codes: connection exceptions, resources that ran out, an operator's intervention. */
const PASSING_CLASSES = ['08', '53', '57'];
/**
 * Single codes: the role or password is refused, as while it is changed; a right that was taken
 * away; a standby that only reads; a lock that was not to be had in time; a transaction that was
 * idle for too long; a session whose prepared statements are those of another client, behind a
 * pooler.
 */
const PASSING = new Set([
  ...['28000', '28P01', '42501', '25006', '55P03', '25P03', '3D000', '58030'],
  ...['26000', '42P05'],
]);
/**
 * Serialization failure, deadlock, and a row that another transaction has just inserted or deleted:
 * run again, the work finds it, or misses it.
 */
const CONFLICTS = new Set(['40001', '40P01', '23505', '23503']);
/** Of these the connection is as good as before. */
const ON_A_SOUND_CONNECTION = new Set(['57014', '55P03', '53100', '53200']);

/** What the driver's own errors say when a connection is lost, refused or late. */
const OF_THE_CONNECTION =
  /^(Connection terminated|Client (has encountered a connection error|was closed)|Query read timeout|timeout e|Cannot use a pool|The server does not support SSL)/;
const OF_THE_SYSTEM =
  /^(E(CONN|HOST|NET|PIPE|TIMEDOUT|AI_|NOTFOUND|NOENT|ACCES)|ERR_(SSL|TLS|STREAM|SOCKET)|CERT_|DEPTH_|SELF_|UNABLE_)/;

interface Coded extends Error {
  readonly code?: string;
}

/** @returns the error to throw in its place */
export function translated(cause: unknown): unknown {
  if (!(cause instanceof Error) || cause instanceof DatabaseUnavailable) return cause;
  const { code = '', message } = cause as Coded;
  if (CONFLICTS.has(code)) return new WriteConflict(cause);
  const passes =
    PASSING.has(code) ||
    (/^[0-9A-Z]{5}$/.test(code) && PASSING_CLASSES.includes(code.slice(0, 2))) ||
    OF_THE_SYSTEM.test(code) ||
    OF_THE_CONNECTION.test(message);
  return passes ? new DatabaseUnavailable(cause) : cause;
}

/** Whether the connection must not be used again after this error. */
export function endsConnection(cause: unknown): boolean {
  if (!(cause instanceof DatabaseUnavailable)) return false;
  return !ON_A_SOUND_CONNECTION.has((cause.cause as Coded).code ?? '');
}
