/** What the operator may read of the settings: where each comes from, and no secret. */
import { expect, test } from 'vitest';
import { readConfig } from '../../../src/host/config.ts';

const settings = (flags: readonly string[], env: Record<string, string> = {}) =>
  new Map(readConfig(flags, env).settings.map((one) => [one.flag, one]));

test('a setting names its origin: a flag before a variable before the default', () => {
  const read = settings(['--workers', '1'], { ANNEX_WORKERS: '1', ANNEX_CONTROL_HOST: '127.0.0.2' });
  expect(read.get('workers')).toMatchObject({ value: '1', origin: 'flag' });
  expect(read.get('control-host')).toMatchObject({ value: '127.0.0.2', origin: 'variable' });
  expect(read.get('public-host')).toMatchObject({ value: '0.0.0.0', origin: 'default' });
  expect(read.get('api-url')).not.toHaveProperty('value');
});

test('no secret and no password of a URL is shown', () => {
  const read = settings([], {
    ANNEX_DATABASE_URL: 'postgres://annex:planted@db.internal/annex',
    ANNEX_EGRESS_PROXY: 'http://user:planted@proxy.internal:3128',
  });
  expect(JSON.stringify([...read])).not.toContain('planted');
  expect(read.get('database-url')).toMatchObject({ isSecret: true, origin: 'variable' });
  expect(read.get('egress-proxy')).toMatchObject({ value: 'http://…@proxy.internal:3128' });
});
