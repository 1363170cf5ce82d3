/**
 * The settings of the database and of the nodes that share it. No message contains any part of the
 * database's URL, because a mistyped password may be anywhere in it.
 */
import { availableParallelism } from 'node:os';
import { expect, test } from 'vitest';
import { ConfigError, configHelp, readConfig } from '../../../src/host/config.ts';

const URL = 'postgres://annex:hunter2@db.internal:5432/annex';
const CORES = Math.min(8, Math.max(2, availableParallelism()));

/** The errors of `readConfig`, as one text. */
function problemsOf(flags: readonly string[], env: NodeJS.ProcessEnv): string {
  try {
    readConfig(flags, env);
    return '';
  } catch (error) {
    if (error instanceof ConfigError) return error.problems.join('\n');
    throw error;
  }
}

test('without settings there is one node on the SQLite file of the data folder', () => {
  const config = readConfig([], {});
  expect(config).not.toHaveProperty('databaseUrl');
  expect(config).toMatchObject({ workers: 1, databaseConnections: 10, cells: CORES });
});

test.each([
  URL,
  'postgresql://annex@db.internal/annex',
  'postgres:///annex?host=/var/run/postgresql',
  'postgres://annex:p%40ss%2Fw%3Ard@[::1]:5433/annex?sslmode=verify-full',
  'postgres://db/a%20name',
])('ANNEX_DATABASE_URL is a URL of PostgreSQL: %s', (url) => {
  const env = { ANNEX_DATABASE_URL: ` ${url}\n`, ANNEX_DATABASE_CONNECTIONS: '25' };
  const config = readConfig(['--workers', '4'], env);
  expect(config).toMatchObject({ databaseUrl: url, databaseConnections: 25, workers: 4 });
});

test.each([
  ['another protocol', 'mysql://annex:hunter2@db.internal/annex', 'begin with postgres://'],
  ['no protocol', 'annex:hunter2@db.internal/annex', 'begin with postgres://'],
  ['a port that is none', 'postgres://annex:hunter2@db.internal:port/annex', 'cannot be read'],
  ['a # in the password', 'postgres://annex:hunter2#x@db.internal/annex', 'percent-encoded'],
  ['a / in the password', 'postgres://annex:hunter2/x@db.internal/annex', 'percent-encoded'],
  ['a % in the password', 'postgres://annex:hunter2%x@db.internal/annex', 'a % that begins no character'],
  ['no database', 'postgres://annex:hunter2@db.internal:5432/', 'names no database'],
  ['no path', 'postgres://annex:hunter2@db.internal', 'names no database'],
  ['two segments', 'postgres://annex:hunter2@db.internal/annex/more', 'names no database'],
])('refuses a database URL with %s, and shows no part of it', (_, url, words) => {
  const problems = problemsOf([], { ANNEX_DATABASE_URL: url });
  expect(problems).toContain('ANNEX_DATABASE_URL must be like postgres://user:password@host:5432/name');
  expect(problems).toContain(words);
  expect(problems).not.toContain('hunter2');
  expect(problems).not.toContain('internal');
});

test.each([[['--database-url', URL]], [[`--database-url=${URL}`]]])(
  'the URL is no flag, which `ps` would show: %j',
  (flags) => {
    const problems = problemsOf(flags, {});
    expect(problems).toContain('set ANNEX_DATABASE_URL');
    expect(problems).not.toContain('hunter2');
    expect(configHelp()).toMatch(/^ +ANNEX_DATABASE_URL /m);
    expect(configHelp()).not.toContain('--database-url');
  },
);

test('more than one worker is refused on SQLite, with the setting that allows it', () => {
  expect(problemsOf(['--workers', '2'], {})).toContain(
    '--workers must be 1 on SQLite, which has one node: set ANNEX_DATABASE_URL to have more.',
  );
});

test.each([
  ['workers', '0', '1 to 64'],
  ['workers', '65', '1 to 64'],
  ['workers', 'two', '1 to 64'],
  ['database-connections', '3', '4 to 1000'],
  ['database-connections', '1001', '4 to 1000'],
])('--%s %s is refused', (flag, value, range) => {
  const problems = problemsOf([`--${flag}`, value], { ANNEX_DATABASE_URL: URL });
  expect(problems).toBe(`--${flag} must be a whole number from ${range}; it is "${value}".`);
});

test('a switch for the SQLite file is refused where there is none', () => {
  expect(problemsOf(['--accept-loss'], { ANNEX_DATABASE_URL: URL })).toContain('log of the SQLite file');
  expect(problemsOf(['--accept-loss'], {})).toBe('');
});

test('the default number of cells is shared out to the workers, and a number that is set is not', () => {
  const cells = (...flags: string[]) => readConfig(flags, { ANNEX_DATABASE_URL: URL }).cells;
  expect(cells('--workers', '1')).toBe(CORES);
  expect(cells('--workers', '2')).toBe(Math.ceil(CORES / 2));
  expect(cells('--workers', '64')).toBe(1);
  expect(cells('--workers', '2', '--cells', '5')).toBe(5);
});

test('the user ids of several workers begin where systemd gives none away', () => {
  const first = (...flags: string[]) => readConfig(flags, { ANNEX_DATABASE_URL: URL }).cellUser;
  expect(first()).toBe(60_600);
  expect(first('--workers', '2')).toBe(65_600);
  expect(first('--workers', '2', '--cell-user', '90000')).toBe(90_000);
});

test.each([
  ['ANNEX_PUBLIC_ULR', ' (did you mean ANNEX_PUBLIC_URL?)'],
  ['ANNEX_TEST_POSTGRE', ''],
  ['ANNEX_FUZZ_SEEDS', ''],
  ['ANNEX_SECRET', ''],
])('an unknown variable is named, without its value: %s', (name, meant) => {
  const problems = problemsOf([], { [name]: 'hunter2' });
  expect(problems).toBe(`${name} is not the name of a setting${meant}. \`--help\` lists them.`);
});

test('variables of the tests, and of Kubernetes, are no mistakes', () => {
  const env = { ANNEX_TEST_LOG: 'info', ANNEX_FUZZ_SEED: '1', ANNEX_PORT: 'x', ANNEX_SERVICE_HOST: 'x' };
  expect(problemsOf([], env)).toBe('');
});
