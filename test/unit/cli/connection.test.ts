/**
 * Which service a command talks to, and with which token: the order of the sources, and that a
 * token is sent only to its own service.
 */
import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findConnection, isLoopback, serviceUrl } from '../../../src/cli/profile/connection.ts';
import { ProfileFile } from '../../../src/cli/profile/profile-file.ts';

let base: string;
beforeAll(async () => {
  base = await mkdtemp(join(tmpdir(), 'annex-connection-'));
});
afterAll(() => rm(base, { recursive: true, force: true }));

const PROFILES = {
  current: 'local',
  profiles: {
    local: { url: 'http://127.0.0.1:7700', token: 'token-of-local' },
    staging: { url: 'https://annex.example.com', token: 'token-of-staging' },
  },
};

/** A user with profiles, in a folder where `annex serve` has run, unless told otherwise. */
async function user({ profiles = PROFILES as object, local = true } = {}) {
  const cwd = await mkdtemp(join(base, 'user-'));
  const config = join(cwd, 'config');
  await mkdir(join(config, 'annex'), { recursive: true });
  await writeFile(join(config, 'annex/profiles.json'), JSON.stringify(profiles), { mode: 0o600 });
  if (local) {
    await mkdir(join(cwd, 'data'));
    await writeFile(join(cwd, 'data/admin-token'), 'token-of-data\n', { mode: 0o600 });
  }
  const find = (env: Record<string, string> = {}, profile?: string) =>
    findConnection({ env: { XDG_CONFIG_HOME: config, ...env }, cwd, profile });
  return { cwd, config, find };
}

const NONE = { profiles: {} };

describe('the service of a command', () => {
  test('is that of the profile in use', async () => {
    const { find } = await user();
    expect(await find()).toMatchObject({ url: 'http://127.0.0.1:7700', token: 'token-of-local' });
  });

  test('is that of ANNEX_PROFILE, of --profile before it, and of ANNEX_URL and ANNEX_TOKEN between', async () => {
    const { find } = await user();
    const staging = { url: 'https://annex.example.com', token: 'token-of-staging' };
    const env = { ANNEX_URL: 'http://10.0.0.1/v1/', ANNEX_TOKEN: 'token-of-env' };
    expect(await find({ ANNEX_PROFILE: 'staging' })).toMatchObject(staging);
    expect(await find({ ANNEX_PROFILE: 'staging', ...env })).toMatchObject({
      url: 'http://10.0.0.1',
      token: 'token-of-env',
    });
    expect(await find(env, 'staging')).toMatchObject(staging);
  });

  test('is that of this folder without a profile', async () => {
    const { cwd, find } = await user({ profiles: NONE });
    expect(await find()).toMatchObject({
      url: 'http://127.0.0.1:7700',
      token: 'token-of-data',
      tokenFrom: join(cwd, 'data/admin-token'),
    });
  });

  test('is that of a folder above, as in the folder of an integration', async () => {
    const { cwd, config } = await user({ profiles: NONE });
    await mkdir(join(cwd, 'board/src'), { recursive: true });
    const below = { env: { XDG_CONFIG_HOME: config }, cwd: join(cwd, 'board/src'), profile: undefined };
    expect(await findConnection(below)).toMatchObject({
      token: 'token-of-data',
      tokenFrom: join(cwd, 'data/admin-token'),
    });
    // One above may be of others: it is passed over, and not refused.
    await chmod(join(cwd, 'data/admin-token'), 0o644);
    expect(await findConnection(below)).toMatchObject({ token: undefined });
  });

  test('needs no home where both variables are set', async () => {
    const env = { ANNEX_URL: 'localhost:1', ANNEX_TOKEN: 't' };
    expect(await findConnection({ env, cwd: base, profile: undefined })).toMatchObject({
      url: 'http://localhost:1',
      token: 't',
    });
  });
});

describe('a token', () => {
  test('of a profile is not sent to another URL', async () => {
    const { find } = await user({ local: false });
    const found = await find({ ANNEX_URL: 'https://attacker.example', ANNEX_PROFILE: 'staging' });
    expect(found).toMatchObject({ url: 'https://attacker.example', token: undefined });
  });

  test('of this folder is sent to this machine alone', async () => {
    const { find } = await user({ profiles: NONE });
    expect(await find({ ANNEX_URL: 'https://annex.example.com' })).toMatchObject({ token: undefined });
    expect(await find({ ANNEX_URL: 'http://[::1]:7700' })).toMatchObject({ token: 'token-of-data' });
  });

  test.each([0o640, 0o604, 0o622])('in a file with the mode %o is refused', async (mode) => {
    const { cwd, config, find } = await user();
    await chmod(join(config, 'annex/profiles.json'), mode);
    await expect(find()).rejects.toThrow('other users can read or change it');
    const other = await user({ profiles: NONE });
    await chmod(join(other.cwd, 'data/admin-token'), mode);
    await expect(other.find()).rejects.toThrow('other users can read or change it');
    expect(cwd).not.toBe(other.cwd);
  });

  // Attack: a pipe in the place of a token, for which the command would wait without an end.
  test('is not awaited from a pipe', async () => {
    const { cwd, find } = await user({ profiles: NONE, local: false });
    await mkdir(join(cwd, 'data'));
    await promisify(execFile)('mkfifo', ['-m', '600', join(cwd, 'data/admin-token')]);
    await expect(find()).rejects.toThrow('is not a file, so it is not used');
  });

  // Attack: a file of profiles from elsewhere, with members that no login stores.
  test.each([
    [{ url: 'ftp://a.example', token: 't' }, 'The URL of profile "local" must begin with http://'],
    [{ url: 'https://a.example@b.example', token: 't' }, 'must not have a user name or a password'],
    [{ url: 'http://127.0.0.1', token: 'secret\r\nhost: x' }, 'Profile "local" holds no token'],
    [{ url: 7 }, 'is damaged: it does not hold profiles'],
  ])('of the profile %j is not used', async (local, says) => {
    const { find } = await user({ profiles: { current: 'local', profiles: { local } } });
    await expect(find()).rejects.toThrow(says);
    await expect(find()).rejects.not.toThrow('secret');
  });

  test('that could not be a header is refused without being quoted', async () => {
    const { find } = await user();
    const failure = find({ ANNEX_TOKEN: 'secret\r\nx-forwarded-for: 1' });
    await expect(failure).rejects.toThrow('ANNEX_TOKEN holds no token');
    await expect(failure).rejects.not.toThrow('secret');
  });

  test('is stored for its owner alone, also where the file was open before', async () => {
    const { config } = await user({ profiles: NONE });
    const file = new ProfileFile(join(config, 'annex/profiles.json'));
    await file.change(() => PROFILES);
    expect((await stat(file.path)).mode & 0o777).toBe(0o600);
    expect(JSON.parse(await readFile(file.path, 'utf8'))).toEqual(PROFILES);
    const fresh = new ProfileFile(join(config, 'fresh/profiles.json'));
    await fresh.change(() => PROFILES);
    expect((await stat(join(config, 'fresh'))).mode & 0o777).toBe(0o700);
  });
});

test.each([
  ['http://127.0.0.1:7700', 'http://127.0.0.1:7700'],
  ['127.0.0.1:7700/v1', 'http://127.0.0.1:7700'],
  ['localhost:7700/', 'http://localhost:7700'],
  ['annex.example.com', 'https://annex.example.com'],
  ['https://example.com/annex/v1/', 'https://example.com/annex'],
])('the URL %s means %s', (typed, meant) => {
  expect(serviceUrl(typed, 'It')).toBe(meant);
});

test.each(['', 'ftp://example.com', 'https://user:word@example.com', 'https://example.com/?a=1'])(
  'the URL "%s" is refused',
  (typed) => {
    expect(() => serviceUrl(typed, 'It')).toThrow(/^It /);
  },
);

test.each([
  ['http://127.9.9.9', true],
  ['http://[::1]:1', true],
  ['http://localhost', true],
  ['http://localhost.example.com', false],
  ['http://127.0.0.1.example.com', false],
  ['http://10.0.0.1', false],
])('%s is this machine: %s', (url, is) => {
  expect(isLoopback(url)).toBe(is);
});
