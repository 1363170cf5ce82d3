/** Runtime tokens: their claims, validity and holders, and attempts to forge them. */

import { createHmac, randomBytes } from 'node:crypto';
import { describe, expect, onTestFinished, test } from 'vitest';
import { TargetSource } from '../../src/host/store/target-source.ts';
import { Vault } from '../../src/host/store/vault/vault.ts';
import { RuntimeTokenMint, RuntimeTokens } from '../../src/host/targets/runtime-tokens.ts';
import { LiveEnvironment } from '../../src/host/targets/target-builder.ts';
import type { ApiTokens, Environment } from '../../src/model/environment.ts';
import { wholeInstallation } from '../../src/model/installation.ts';
import { SCOPES } from '../../src/model/manifest/scope.ts';
import {
  mintRuntimeToken,
  RUNTIME_TOKEN_CHARS_MAX,
  type RuntimeClaims,
  readRuntimeToken,
} from '../../src/model/runtime-token-format.ts';
import { temporaryFolder } from '../support/store/temporary-store.ts';
import { openTestDatabase } from '../support/store/test-engine.ts';

const KEY = randomBytes(32);
const OTHER = randomBytes(32);
const NOW = Date.UTC(2026, 0, 1);
const S = NOW / 1_000;

const FOR_ONE: RuntimeClaims = {
  ...{
    kind: 'integration',
    integration: 'hello',
    since: NOW,
    version: 3,
    scopes: ['openapi:read'],
    expiresAt: S + 60,
  },
};
const FOR_SPACE: RuntimeClaims = {
  ...{ ...FOR_ONE, kind: 'installation' },
  target: { installationId: 'ins_1', level: 'space', place: 'sp_1' },
};
const FOR_WHOLE: RuntimeClaims = { ...FOR_SPACE, target: wholeInstallation('ins_1') };
const FOR_SITE: RuntimeClaims = {
  ...FOR_SPACE,
  target: { installationId: 'ins_1', level: 'site', place: 'si.1' },
};

const read = (token: string, now = NOW) => readRuntimeToken([KEY], token, now);
/**
 * Signs any payload with the right key, as another version of the service might.
 */
const signed = (payload: string, key = KEY): string => {
  const text = Buffer.from(payload).toString('base64url');
  return `annex_run_${text}.${createHmac('sha256', key).update(text).digest('base64url')}`;
};

describe('a runtime token', () => {
  test.each([
    ['an integration', FOR_ONE],
    ['an installation', FOR_WHOLE],
    ['an installation, from a space', FOR_SPACE],
    ['an installation, from a site', FOR_SITE],
  ])('contains the claims that it was minted with: %s', (_what, claims) => {
    const token = mintRuntimeToken([KEY], claims);
    expect(token).toMatch(/^annex_run_[A-Za-z0-9_-]+\.[A-Za-z0-9_-]{43}$/);
    expect(read(token)).toEqual({ claims, isExpired: false });
  });

  test('is valid up to the second of its expiry, and reported as expired after it', () => {
    const token = mintRuntimeToken([KEY], FOR_ONE);
    expect(read(token, (S + 60) * 1_000 - 1)?.isExpired).toBe(false);
    expect(read(token, (S + 60) * 1_000)?.isExpired).toBe(true);
  });

  test('survives a key rotation while the old key is in the ring', () => {
    const token = mintRuntimeToken([KEY], FOR_ONE);
    expect(readRuntimeToken([OTHER, KEY], token, NOW)?.claims).toEqual(FOR_ONE);
    expect(readRuntimeToken([OTHER], token, NOW)).toBeUndefined();
    expect(readRuntimeToken([KEY], mintRuntimeToken([OTHER, KEY], FOR_ONE), NOW)).toBeUndefined();
  });

  test('uses derived keys: none of them is a key of the ring, or opens its sealed values', () => {
    const [first, second] = new Vault([KEY, OTHER], randomBytes).deriveKeys('one use');
    const [again] = new Vault([OTHER, KEY], randomBytes).deriveKeys('one use');
    const [another] = new Vault([KEY], randomBytes).deriveKeys('another use');
    expect(second).toEqual(again);
    const keys = [KEY, OTHER, first, second, another].map((key) => Buffer.from(key ?? []).toString('hex'));
    expect(new Set(keys).size).toBe(5);
    expect(readRuntimeToken([KEY], signed('{}', KEY), NOW)).toBeUndefined();
  });

  const good = mintRuntimeToken([KEY], FOR_SPACE);
  const [payload = '', signature = ''] = good.slice('annex_run_'.length).split('.');
  /** The same 32 bytes in other letters: the last letter has two unused bits. */
  const twin = signature.slice(0, -1) + String.fromCharCode(signature.charCodeAt(42) ^ 1);
  const forged = JSON.stringify({ ...JSON.parse(Buffer.from(payload, 'base64url').toString()), site: 's' });
  test.each([
    ['nothing', ''],
    ['the prefix alone', 'annex_run_'],
    ['no signature', `annex_run_${payload}`],
    ['an empty signature', `annex_run_${payload}.`],
    ['an empty payload', `annex_run_.${signature}`],
    ['a signature cut short', good.slice(0, -1)],
    ['a signature with more behind it', `${good}A`],
    ['two dots', `annex_run_${payload}.${payload}.${signature}`],
    ['padding', `${good}=`],
    ['a signature in other letters', `annex_run_${payload}.${twin}`],
    ['a letter of another alphabet', `annex_run_${payload}+.${signature}`],
    ['a line end', `${good}\n`],
    ['another prefix', good.replace('annex_run_', 'annex_RUN_')],
    ['a payload of one’s own', `annex_run_${Buffer.from(forged).toString('base64url')}.${signature}`],
    ['another key', signed(forged, OTHER)],
    ['too many letters', `annex_run_${'A'.repeat(RUNTIME_TOKEN_CHARS_MAX)}.${signature}`],
  ])('is invalid with %s', (_what, token) => {
    expect(read(token)).toBeUndefined();
  });

  const base = {
    kind: 'installation',
    integration: 'a',
    since: 1,
    version: 3,
    scopes: [],
    exp: S + 9,
    installation: 'ins_1',
  };
  test.each<[string, unknown]>([
    ['no object', 1],
    ['a list', [base]],
    ['null', null],
    ['an unknown member', { ...base, readonly: true }],
    ['both a space and a site', { ...base, space: 's', site: 's' }],
    ['a space that is no text', { ...base, space: 1 }],
    ['no installation', { ...base, installation: undefined }],
    ['an installation where it speaks for the integration', { ...base, kind: 'integration' }],
    ['a kind of a stored token', { ...base, kind: 'admin' }],
    ['an expiry that is no number', { ...base, exp: 'never' }],
    ['no expiry', { ...base, exp: undefined }],
    ['an expiry that is not whole', { ...base, exp: 1e300 }],
    ['scopes that are no list', { ...base, scopes: 'all' }],
    ['scopes that are no texts', { ...base, scopes: [1] }],
    ['no integration', { ...base, integration: null }],
  ])('is invalid with a valid signature and %s', (_what, value) => {
    expect(read(signed(JSON.stringify(base)))?.claims.integration).toBe('a');
    expect(read(signed(JSON.stringify(value)))).toBeUndefined();
  });

  test('is invalid with a valid signature of text that is not JSON', () => {
    expect(read(signed('{'))).toBeUndefined();
    expect(read(signed('\xff\xfe'))).toBeUndefined();
  });
});

describe('the tokens of a target', () => {
  const subject = {
    ...{
      integration: `${'a'.repeat(63)}`,
      since: NOW,
      version: 3,
      scopes: [...SCOPES, 'x'.repeat(4_000), 'openapi:read'],
    },
    target: { installationId: `ins_${'a'.repeat(24)}`, level: 'space', place: 'p'.repeat(128) },
  } as const;

  test('have a bounded length, whatever the manifest and the ids', () => {
    const vault = new Vault([KEY], randomBytes);
    const keys = vault.deriveKeys('annex runtime tokens');
    const { installation = '' } = new RuntimeTokenMint(keys).tokens(subject, S + 60);
    expect(installation.length).toBeLessThan(RUNTIME_TOKEN_CHARS_MAX);
    const claims = readRuntimeToken(keys, installation, NOW)?.claims;
    expect(claims?.scopes).toEqual(SCOPES);
  });

  test('are shared by the calls of half a minute, and outlive each of them, but not by much', () => {
    const limits = { firstByteMs: 25_000, callWallMs: 30_000 };
    let now = NOW;
    const expiries: number[] = [];
    const mint = (expiresAt: number): ApiTokens => {
      expiries.push(expiresAt);
      return { integration: String(expiresAt) };
    };
    const environment = { apiEndpoint: 'https://api.example.com' } as Environment;
    const live = new LiveEnvironment({ environment, limits, wallNow: () => now, mint });
    expect(expiries).toEqual([]);
    const first = live.current;
    for (; now < NOW + 30_000; now += 1_000) expect(live.current).toBe(first);
    const next = live.current;
    expect(next).not.toBe(first);
    expect(JSON.parse(Buffer.from(next.json).toString())).toEqual(next.environment);
    expect(next.json.byteLength).toBe(first.json.byteLength);
    // The last call that gets the first tokens waits and runs as long as any call may.
    const longest = 30_000 + limits.firstByteMs + limits.callWallMs;
    const [expiresAt = 0] = expiries;
    expect(expiresAt * 1_000).toBeGreaterThan(NOW + longest);
    expect(expiresAt * 1_000).toBeLessThan(NOW + longest + 10_000);
  });
});

describe('a token resolves to', () => {
  const opened = async () => {
    const database = await openTestDatabase(await temporaryFolder());
    onTestFinished(() => database.destroy());
    const vault = new Vault([KEY], randomBytes);
    const source = new TargetSource({ database, vault });
    const keys = vault.deriveKeys('annex runtime tokens');
    const tokens = new RuntimeTokens({ keys, source, wallNow: () => NOW });
    await database
      .insertInto('integrations')
      .values({
        ...{ name: 'hello', organization: 'acme', visibility: 'private', title: '', description: '' },
        ...{ active_version: 1, latest_version: 1, sealed_signing_secret: '', endpoint_key: 'k' },
        ...{ created_at: NOW, updated_at: NOW },
      })
      .execute();
    const target = (level: 'organization' | 'space', place: string) =>
      database
        .insertInto('targets')
        .values({
          ...{ installation_id: 'ins_1', level, place, integration: 'hello', organization: 'rival' },
          ...{ endpoint_key: level, status: 'active', configuration: '{}', sealed_credentials: null },
          ...{ external_ids: '[]', space_selection: 'all', site_selection: 'all', sealed_signing_secret: '' },
          ...{ revision: 1, created_at: NOW, updated_at: NOW },
        })
        .execute();
    await target('organization', '');
    await target('space', 'sp_1');
    return { database, tokens };
  };

  test('the integration, or one installation of it', async () => {
    const { tokens } = await opened();
    expect(await tokens.grant(FOR_ONE)).toEqual({
      ...{ principal: { kind: 'integration', integration: 'hello' }, claims: FOR_ONE },
    });
    expect(await tokens.grant(FOR_SPACE)).toEqual({
      principal: {
        ...{ kind: 'installation', integration: 'hello', installationId: 'ins_1' },
        target: { installationId: 'ins_1', level: 'space', place: 'sp_1' },
      },
      ...{ claims: FOR_SPACE, organization: 'rival' },
    });
    expect(await tokens.grant(FOR_SITE)).toBeUndefined();
  });

  test('nothing once the space, the installation or the integration is deleted', async () => {
    const { database, tokens } = await opened();
    await database.deleteFrom('targets').where('level', '=', 'space').execute();
    expect(await tokens.grant(FOR_SPACE)).toBeUndefined();
    expect(await tokens.grant(FOR_WHOLE)).toBeDefined();
    await database.deleteFrom('targets').execute();
    expect(await tokens.grant(FOR_WHOLE)).toBeUndefined();
    expect(await tokens.grant(FOR_ONE)).toBeDefined();
    await database.deleteFrom('integrations').execute();
    expect(await tokens.grant(FOR_ONE)).toBeUndefined();
  });

  test('nothing if another owner publishes an integration of the same name', async () => {
    const { database, tokens } = await opened();
    await database
      .updateTable('integrations')
      .set({ organization: 'rival', created_at: NOW + 1 })
      .execute();
    expect(await tokens.grant(FOR_ONE)).toBeUndefined();
    expect(await tokens.grant(FOR_WHOLE)).toBeUndefined();
  });

  test('an installation of its own integration only', async () => {
    const { tokens } = await opened();
    const foreign = { ...FOR_WHOLE, target: wholeInstallation('ins_2') };
    expect(await tokens.grant(foreign)).toBeUndefined();
    expect(await tokens.grant({ ...FOR_WHOLE, integration: 'other' })).toBeUndefined();
  });
});
