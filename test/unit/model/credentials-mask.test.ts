/**
 * What a configuration component answers has no credentials
 * (`docs/contract/components.md#configuration-components`).
 */
import { expect, test } from 'vitest';
import { CredentialsMask } from '../../../src/model/credentials-mask.ts';

type Environment = Parameters<typeof CredentialsMask.of>[0];
const target = (configuration: object) => ({ configuration });
const maskAt = (targets: object) => CredentialsMask.of(targets as Environment);
const maskOf = (oauth_credentials: unknown) => maskAt({ installation: target({ oauth_credentials }) });

test('a target without credentials has no mask', () => {
  expect(maskAt({ installation: target({ region: 'eu' }) })).toBeUndefined();
  expect(maskOf(null)).toBeUndefined();
});

test('the member is removed at any depth, and its tokens in every text', () => {
  const mask = maskOf({
    ...{ access_token: 'abc/def', scope: 'read', token_type: 'bearer', account: 'Acme' },
    more: { refreshToken: ['fresh'], 'api-key': 'k1', expires_at: 'never' },
  });
  const answer = {
    state: { copied: [{ oauth_credentials: { access_token: 'abc/def' } }], token: 'abc/def' },
    element: ['Acme', 'read', 'bearer', 'never', 'k1', 'a fresh one', 'https://a.example/?t=abc%2Fdef'],
  };
  expect(mask?.masked(answer)).toEqual({
    state: { copied: [{}], token: '[redacted]' },
    element: ['Acme', 'read', 'bearer', 'never', 'k1', 'a [redacted] one', 'https://a.example/?t=[redacted]'],
  });
});

test('the credentials of each level are removed', () => {
  const mask = maskAt({
    installation: target({ oauth_credentials: { token: 'account-token' } }),
    spaceInstallation: target({ oauth_credentials: { token: 'space-token' } }),
  });
  expect(mask?.masked(['account-token', 'space-token'])).toEqual(['[redacted]', '[redacted]']);
});

test('attack: ten thousand tokens, deeply nested: the longest are searched for', () => {
  let credentials: unknown = Object.fromEntries(
    Array.from({ length: 10_000 }, (_, index) => [`token${index}`, `short-${index}`]),
  );
  for (let depth = 0; depth < 5_000; depth += 1) credentials = { credentials, token: 'x'.repeat(99) };
  expect(maskOf(credentials)?.masked('x'.repeat(99))).toBe('[redacted]');
});

test('a text with a pattern of replacement is replaced by itself', () => {
  expect(maskOf({ secret: '$&$1' })?.masked('a $&$1 b')).toBe('a [redacted] b');
});
