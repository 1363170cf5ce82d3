/**
 * Random runtime tokens: only genuine ones are accepted, and no input breaks the reader.
 */
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { expect, test } from 'vitest';
import {
  mintRuntimeToken,
  type RuntimeClaims,
  readRuntimeToken,
} from '../../../src/model/runtime-token-format.ts';
import { fuzz } from '../../support/fuzz/fuzz.ts';
import { mutateJson, mutateText } from '../../support/fuzz/mutations.ts';

const KEYS = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)] as const;
const NOW = Date.UTC(2026, 0, 1);
const CLAIMS: RuntimeClaims = {
  ...{ kind: 'installation', integration: 'hello', since: NOW, version: 3, scopes: ['openapi:read'] },
  target: { installationId: 'ins_1', level: 'space', place: 'sp_1' },
  expiresAt: NOW / 1_000 + 60,
};
const { target: _target, ...COMMON } = CLAIMS;
const GENUINE = [
  mintRuntimeToken(KEYS, CLAIMS),
  mintRuntimeToken([KEYS[1]], { ...COMMON, kind: 'integration' }),
];
const WORDS = ['annex_run_', '.', '..', 'A', '=', '-', '_', '+', '/', 'eyJ', '\n'];
const PAYLOAD = {
  kind: 'installation',
  integration: 'hello',
  since: 1,
  version: 3,
  scopes: ['a'],
  exp: 2,
  installation: 'i',
};
const PAYLOADS = [PAYLOAD, { ...PAYLOAD, space: 's' }, { ...PAYLOAD, site: 's' }];

test('a token is accepted only unchanged', async () => {
  let believed = 0;
  await fuzz('runtimeTokens', {
    make: (random) => mutateText(random, GENUINE, WORDS),
    check: (token) => {
      if (readRuntimeToken(KEYS, token, NOW) === undefined) return;
      believed += 1;
      assert(GENUINE.includes(token));
    },
  });
  expect(believed).toBeGreaterThan(0);
});

test('a signed payload is read as valid claims, or refused', async () => {
  let read = 0;
  await fuzz('runtimeTokens', {
    make: (random) => JSON.stringify(mutateJson(random, PAYLOADS)) ?? '',
    check: (json) => {
      const payload = Buffer.from(json).toString('base64url');
      const signature = createHmac('sha256', KEYS[0]).update(payload).digest('base64url');
      const found = readRuntimeToken(KEYS, `annex_run_${payload}.${signature}`, NOW);
      if (found === undefined) return;
      read += 1;
      const { kind, integration, scopes, expiresAt } = found.claims;
      assert(kind === 'integration' || kind === 'installation');
      assert.equal(typeof integration, 'string');
      assert(scopes.every((scope) => typeof scope === 'string'));
      assert(Number.isSafeInteger(expiresAt) && found.isExpired === NOW >= expiresAt * 1_000);
      if (found.claims.kind === 'integration') return;
      const { level, place, installationId } = found.claims.target;
      assert(typeof installationId === 'string' && typeof place === 'string');
      assert(['organization', 'space', 'site'].includes(level));
    },
  });
  expect(read).toBeGreaterThan(0);
});
