/**
 * Errors of PostgreSQL: which pass and are answered 503, which are collisions and run again, and
 * which are faults of a statement.
 */
import { describe, expect, test } from 'vitest';
import { endsConnection, translated } from '../../../src/host/database/postgres/postgres-errors.ts';
import { DatabaseUnavailable, WriteConflict } from '../../../src/host/database/unavailable.ts';

const coded = (code: string, message = 'as the server says it') =>
  Object.assign(new Error(message), { code });

/** Error, code, and whether the connection is as good as before. */
const PASSING: readonly (readonly [string, string, boolean])[] = [
  ['a lost connection', '08006', false],
  ['too many connections', '53300', false],
  ['a full disk', '53100', true],
  ['too little memory', '53200', true],
  ['a server that shuts down', '57P01', false],
  ['a server that crashed', '57P02', false],
  ['a server that starts', '57P03', false],
  ['a statement that took too long', '57014', true],
  ['a standby that cannot write', '25006', false],
  ['a lock that was not to be had', '55P03', true],
  ['a transaction that was idle for too long', '25P03', false],
  ['a password that is being changed', '28P01', false],
  ['a right that was taken away', '42501', false],
  ['a prepared statement of another client, behind a pooler', '42P05', false],
  ['a prepared statement that is with another session', '26000', false],
  ['a database that is being restored', '3D000', false],
  ['a disk that fails', '58030', false],
  ['a refused connection', 'ECONNREFUSED', false],
  ['a broken pipe', 'EPIPE', false],
  ['a name that is not resolved', 'EAI_AGAIN', false],
  ['a missing socket', 'ENOENT', false],
  ['a certificate that has expired', 'CERT_HAS_EXPIRED', false],
];

describe('passes, and is answered 503', () => {
  test.each(PASSING)('%s (%s)', (_, code, isSound) => {
    const cause = coded(code);
    const error = translated(cause);
    expect(error).toBeInstanceOf(DatabaseUnavailable);
    expect(error).toMatchObject({ code: 'DATABASE_UNAVAILABLE', status: 503, cause });
    expect(endsConnection(error)).toBe(!isSound);
  });

  test.each([
    'Connection terminated unexpectedly',
    'Connection terminated due to connection timeout',
    'Client has encountered a connection error and is not queryable',
    'Client was closed and is not queryable',
    'Query read timeout',
    'timeout exceeded when trying to connect',
    'Cannot use a pool after calling end on the pool',
    'The server does not support SSL connections',
  ])('the driver’s own "%s"', (message) => {
    const error = translated(new Error(message));
    expect(error).toBeInstanceOf(DatabaseUnavailable);
    expect(endsConnection(error)).toBe(true);
  });

  test('without what the driver says, which names addresses', () => {
    const error = translated(coded('ECONNREFUSED', 'connect ECONNREFUSED 10.1.2.3:5432')) as Error;
    expect(error.message).not.toContain('10.1.2.3');
  });
});

describe('is a collision, and run again', () => {
  test.each([
    ['a serialization failure', '40001'],
    ['a deadlock', '40P01'],
    ['a row that another transaction has inserted', '23505'],
    ['a row that another transaction has deleted', '23503'],
  ])('%s (%s)', (_, code) => {
    const error = translated(coded(code, 'violates a constraint'));
    expect(error).toBeInstanceOf(WriteConflict);
    expect(error).toMatchObject({ message: 'violates a constraint' });
    expect(endsConnection(error)).toBe(false);
  });
});

describe('is a fault, and stays as it is', () => {
  test.each([
    ['a statement that cannot be parsed', '42601'],
    ['a table that does not exist', '42P01'],
    ['a column that must not be null', '23502'],
    ['an error that a function raises', 'P0001'],
    ['a text with U+0000', '22021'],
  ])('%s (%s)', (_, code) => {
    const cause = coded(code);
    expect(translated(cause)).toBe(cause);
    expect(endsConnection(cause)).toBe(false);
  });

  test.each([
    new Error('refused by us'),
    new DatabaseUnavailable(coded('08006')),
    'no error at all',
    undefined,
  ])('%s', (cause) => {
    expect(translated(cause)).toBe(cause);
  });
});
