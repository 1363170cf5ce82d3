/** Redaction: secrets are found in a text in all common encodings, at a bounded cost. */
import { randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { REDACTED, Redactor, secretsOf, withoutTokens } from '../../../src/model/redaction.ts';
import { cpuMs } from '../../support/measure/cpu-time.ts';

const redact = (text: string, ...secrets: string[]): string => new Redactor(secrets).redact(text);
const repeated = <Item>(count: number, of: (index: number) => Item): Item[] =>
  Array.from({ length: count }, (_, index) => of(index));

/** Contains characters that each of the encodings escapes or transforms. */
const SECRET = `s3cr"e't \\ +/?&=#%é<>\n\u{1f511}end`;
const base64 = (text: string) => Buffer.from(text, 'utf8').toString('base64');

describe('a secret is found', () => {
  test.each<[shape: string, write: (secret: string) => string]>([
    ['as it is', (secret) => secret],
    ['in JSON', (secret) => JSON.stringify({ secret })],
    ['in JSON in JSON', (secret) => JSON.stringify(JSON.stringify({ secret }))],
    ['in an error in JSON', (secret) => JSON.stringify({ stack: `Error: ${secret}\n    at x` })],
    ['encoded for a URL', (secret) => `https://a.example/?k=${encodeURIComponent(secret)}&x=1`],
    [
      'the same in small letters',
      (secret) => encodeURIComponent(secret).replace(/%../g, (byte) => byte.toLowerCase()),
    ],
    ['in a form', (secret) => new URLSearchParams({ secret, x: '1' }).toString()],
    [
      'in a URL that it was put into as it is',
      (secret) => new URL(`https://a.example/?k=${secret.replace('\n', '')}`).href,
    ],
    ['in base64', (secret) => base64(secret)],
    ['in base64 behind one byte', (secret) => base64(`a${secret}bc`)],
    ['in base64 behind two', (secret) => base64(`ab${secret}c`)],
    ['as basic authentication has it', (secret) => `Basic ${base64(`user-of-some-length:${secret}`)}`],
    ['in base64url', (secret) => Buffer.from(`x${secret}`).toString('base64url')],
  ])('%s', (shape, write) => {
    // The URL parser removes line breaks.
    const secret = shape.includes('put into as it is') ? SECRET.replace('\n', '') : SECRET;
    const text = redact(`before ${write(secret)} after`, secret);
    expect(text).toContain(REDACTED);
    expect(text).toMatch(/^before .* after$/);
    expect(text).not.toContain(
      write(secret)
        .slice(0, 400)
        .replace(/^(Basic |https:..a.example..k=|secret=)/, ''),
    );
    for (const known of ['s3cr', 'end']) expect(text).not.toContain(known);
  });

  test('beside itself, at both ends, and more than once', () => {
    expect(redact('tok-123456', 'tok-123456')).toBe(REDACTED);
    expect(redact('tok-123456tok-123456 tok-123456', 'tok-123456')).toBe(`${REDACTED} ${REDACTED}`);
  });

  test('line by line if it has several, except for the first and last lines that all files of its kind share', () => {
    const pem = `-----BEGIN PRIVATE KEY-----\n${repeated(4, () => randomBytes(48).toString('base64')).join('\n')}\n-----END PRIVATE KEY-----\n`;
    const [begin = '', one = '', two = '', ...rest] = pem.split('\n');
    expect(redact(`failed to read ${one}`, pem)).toBe(`failed to read ${REDACTED}`);
    expect(redact(`> ${two}\r\n> ${one}`, pem)).toBe(`> ${REDACTED}\r\n> ${REDACTED}`);
    expect(redact(JSON.stringify({ lines: [one, ...rest] }), pem)).not.toContain(rest[0]);
    expect(redact(pem, pem)).toBe(REDACTED);
    expect(redact(`expected ${begin}`, pem)).toBe(`expected ${begin}`);
  });

  test('in the name of a host, which is written in lower case', () => {
    expect(redact('https://abcdef123.example/', 'AbCdEf123')).toBe(`https://${REDACTED}.example/`);
  });

  test.each(['…', "'... 12 more characters", ' │', '… and … more'])(
    'if it was cut off, with "%s" behind it',
    (mark) => {
      const text = `the key is tok-123456789${mark}`;
      expect(redact(text, 'tok-1234567890-abc')).toBe(`the key is ${REDACTED}${mark}`);
      expect(redact(`${text}, the other tok-123456789`, 'tok-1234567890-abc')).toContain(
        'other tok-123456789',
      );
    },
  );

  test('at the end of a text so long that it may have been cut off', () => {
    const text = `${'x '.repeat(5_000)}tok-123456789`;
    expect(redact(text, 'tok-1234567890-abc')).toBe(`${'x '.repeat(5_000)}${REDACTED}`);
  });

  test('if it was cut off far behind its beginning', () => {
    const secret = randomBytes(200).toString('hex');
    expect(redact(`${secret.slice(0, 150)}…`, secret)).toBe(`${REDACTED}…`);
  });
});

describe('a text that is not a secret stays', () => {
  test.each([
    ['a value under six characters', 'the port is 5432', ['5432', 'port', '']],
    ['a text that begins like a secret', 'tok-12345 is short', ['tok-123456']],
    ['a text that ends like a secret begins, by chance', 'the last is tok-1', ['tok-123456']],
    ['a secret of characters with a meaning in patterns', 'aaaaaaaa .*.*.* ', ['(a+)+$^[x]|']],
    ['no secret at all', 'anything', []],
  ])('%s', (_, text, secrets) => {
    expect(redact(text, ...secrets)).toBe(text);
  });
});

describe('attack:', () => {
  test('a secret of characters with a meaning in patterns is text', () => {
    for (const secret of ['(a+)+$^[x]|', '.*.*.*.*', '\\d\\w\\s$&', '$1$&$`', '[^]{9}?'])
      expect(redact(`<${secret}>`, secret)).toBe(`<${REDACTED}>`);
  });

  test('secrets that overlap, contain each other or have the same beginning are all replaced', () => {
    expect(redact('abcdefghijkl', 'abcdefgh', 'efghijkl')).toBe(REDACTED);
    expect(redact('xx-inner-secret-yy', 'inner-secret', 'xx-inner-secret-yy')).toBe(REDACTED);
    expect(redact('prefix-long prefix', 'prefix', 'prefix-long')).toBe(`${REDACTED} ${REDACTED}`);
    const long = randomBytes(60).toString('hex');
    expect(redact(`${long}tail-of-another`, long, `${long.slice(-8)}tail-of-another`)).toBe(REDACTED);
  });

  test('a secret may be the replacement text, or a part of it', () => {
    expect(redact('a [redacted] b', '[redacted]')).toBe('a [redacted] b');
    expect(redact('my-secret is redacted', 'my-secret', 'redacted')).toBe(`${REDACTED} is ${REDACTED}`);
  });

  test('half a surrogate pair is harmless', () => {
    expect(redact('x \ud83d123456 y', '\ud83d123456', 'ordinary')).toContain('x ');
    expect(redact('ordinary \udd11', '\udd11abcdef', 'ordinary')).toBe(`${REDACTED} \udd11`);
  });

  test('oauth_credentials nested a thousand times, or of ten thousand words, cost a bounded search', () => {
    let nested: unknown = 'deepest-secret';
    for (let depth = 0; depth < 50_000; depth += 1) nested = [nested];
    const found = secretsOf({ ...ENVIRONMENT, configuration: { oauth_credentials: nested } });
    expect(found).toContain('deepest-secret');
    const words = repeated(10_000, (index) => `word-${index}`);
    expect(millisecondsFor(words, words.join(' ').slice(0, 64 * 1024))).toBeLessThan(500);
  });

  test('many short secrets count with the memory of their search, so that those of many targets cannot fill the heap', () => {
    const redactors = repeated(20, (i) => new Redactor(repeated(256, (j) => `${i}-${j * 7919}-key`)));
    // V8 compiles a regular expression at its first use, and optimizes it at the second.
    const weighed = process.memoryUsage().heapUsed;
    for (const redactor of [...redactors, ...redactors]) redactor.redact('a line of a log');
    const taken = process.memoryUsage().heapUsed - weighed;
    expect(redactors.reduce((sum, { bytes }) => sum + bytes, 0)).toBeGreaterThan(taken);
  });

  // Attack: secrets and texts that make a search rescan the text, or compare long secrets at each
  // position.
  const TEXT = 64 * 1024;
  test.each<[name: string, secrets: string[], text: string]>([
    ['a secret of one letter', ['a'.repeat(5_000)], 'a'.repeat(TEXT)],
    ['twenty that differ at their ends', repeated(20, (i) => `${'a'.repeat(5_000 - i)}b`), 'a'.repeat(TEXT)],
    ['twenty that differ after their heads', repeated(20, (i) => 'a'.repeat(47 + i * 200)), 'a'.repeat(TEXT)],
    ['all of six letters', repeated(60, (i) => `aaaa${i + 10}`), 'aaaa'.repeat(TEXT / 4)],
    ['backslashes', repeated(20, (i) => '\\'.repeat(40 + i)), '\\'.repeat(TEXT)],
    ['percents', repeated(20, (i) => '%25'.repeat(40 + i)), '%25'.repeat(TEXT / 3)],
    ['cuts', repeated(60, (i) => `aaaaaa${'a'.repeat(i % 40)}${i}`), `${'a'.repeat(47)}…`.repeat(TEXT / 48)],
    [
      'cuts behind what thousands of shapes begin with',
      repeated(256, (i) => `aaaaaa${i + 100}"\\é é?${'q'.repeat(50)}`),
      `${'a'.repeat(43)}…`.repeat(TEXT / 44),
    ],
    ...['a', 'Ab', '"', '\\\\', '%'].map((begin): [string, string[], string] => [
      `hundreds of lines that begin with ${begin}`,
      repeated(20, (i) =>
        repeated(12, (j) => `${begin.repeat(46).slice(0, 46)}${i + 10}${j}"'\\é${i}`).join('\n'),
      ),
      begin.repeat(TEXT).slice(0, TEXT),
    ]),
    [
      'twenty of 5 KiB that begin alike and hold what every encoding writes differently',
      repeated(20, (i) => `${'a'.repeat(48)}${'"\\é %'.repeat(800)}${i}`),
      'a'.repeat(TEXT),
    ],
    ['brackets', repeated(20, (i) => '('.repeat(400 + i)), '('.repeat(TEXT)],
  ])('%s in a text of 64 KiB takes milliseconds', (_, secrets, text) => {
    expect(millisecondsFor(secrets, text)).toBeLessThan(1_000);
  });
});

test('one search for all secrets finds the same as one search for each', () => {
  let seed = 7;
  const below = (count: number): number => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed % count;
  };
  const word = (chars: number): string =>
    repeated(chars, () => (chars < 9 ? 'aab' : 'aaaaaabcdefgh').charAt(below(chars < 9 ? 3 : 13))).join('');
  for (let round = 0; round < 400; round += 1) {
    const begin = word(below(60));
    const secrets = repeated(1 + below(8), () => (begin + word(90)).slice(below(4), 6 + below(100)));
    const longEnough = secrets.filter(({ length }) => length >= 6);
    const text = repeated(
      6,
      () => word(below(40)) + (secrets[below(secrets.length)] ?? '').slice(below(3)),
    ).join('');
    expect([secrets, text, redact(text, ...secrets)]).toEqual([secrets, text, oneByOne(text, longEnough)]);
  }
});

/**
 * Reference: tries each secret at each position; 48 characters match, and any further equal ones.
 */
function oneByOne(text: string, secrets: readonly string[]): string {
  const hidden = repeated(text.length, () => false);
  for (const secret of secrets) {
    for (let from = 0; from < text.length; from += 1) {
      let length = 0;
      while (length < secret.length && text[from + length] === secret[length]) length += 1;
      if (length === secret.length || length >= 48) hidden.fill(true, from, from + length);
    }
  }
  return repeated(text.length, (at) => (hidden[at] ? '\0' : text.charAt(at)))
    .join('')
    .replaceAll(/\0+/g, REDACTED);
}

test('the memory for secrets is about their size, however many notations they have', () => {
  const secrets = repeated(20, (i) => `${i}"\\%41é\u{1f511}`.repeat(400).slice(0, 2_500));
  const size = Buffer.byteLength(secrets.join(''));
  expect(new Redactor(secrets).bytes).toBeLessThan(3 * size + 64 * 1024);
});

test.each<[what: string, write: (secret: string) => string]>([
  [
    'by its numbers in JSON',
    (text) => text.replace(/[\s\S]/gu, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`),
  ],
  [
    'in hexadecimal escapes',
    (text) => text.replace(/[\s\S]/gu, (one) => `\\x${one.charCodeAt(0).toString(16).padStart(2, '0')}`),
  ],
  [
    'with every character encoded for a URL',
    (text) => Buffer.from(text).toString('hex').replace(/../g, '%$&'),
  ],
  ['in base64 between letters', (text) => `xy${base64(`?${text}`)}zz`],
])('a secret is found %s', (_, write) => {
  const text = redact(`before ${write('tok-123456-"key"')} after`, 'tok-123456-"key"');
  expect(text).toMatch(/^before .*\[redacted\].* after$/);
});

test('a line of a log costs microseconds', () => {
  const redactor = new Redactor(repeated(20, () => randomBytes(32).toString('base64url')));
  const line = 'GET /orders/4711 answered 200 after 31 ms; the basket has 3 items and is worth 47.11 EUR';
  const rounds = 20_000;
  for (let round = 0; round < rounds; round += 1) redactor.redact(line);
  const spentMs = cpuMs(() => {
    for (let round = 0; round < rounds; round += 1) redactor.redact(line);
  });
  expect((spentMs / rounds) * 1_000).toBeLessThan(100);
});

describe("Annex's own tokens", () => {
  test.each(['admin', 'platform', 'organization', 'run', 'install'])(
    'of kind %s are recognized by their form',
    (kind) => {
      const token = `annex_${kind}_${randomBytes(32).toString('base64url')}`;
      expect(withoutTokens(`"Bearer ${token}" was refused`)).toBe(`"Bearer ${REDACTED}" was refused`);
      expect(redact(`?t=${token}`)).toBe(`?t=${REDACTED}`);
    },
  );

  test.each(['', 'u', 'us', 'user:'])('are found in base64, behind "%s"', (before) => {
    const token = `annex_run_${randomBytes(60).toString('base64url')}.${randomBytes(32).toString('base64url')}`;
    for (const encoding of ['base64', 'base64url'] as const) {
      const text = withoutTokens(`<${Buffer.from(before + token).toString(encoding)}>`);
      expect(text).toContain(REDACTED);
      expect(text.length).toBeLessThan(30);
    }
  });

  test('are long: short words with the same prefix stay', () => {
    expect(withoutTokens('annex_run_ and annex_admin_token')).toBe('annex_run_ and annex_admin_token');
  });
});

const TARGET = { status: 'active', externalIds: [], urls: { publicEndpoint: 'https://x' } } as const;
const ENVIRONMENT = {
  apiEndpoint: 'https://api.example.com',
  secrets: { KEY: 'integration-secret' },
  signingSecrets: { integration: 'signs-integration', installation: 'signs-installation' },
  configuration: {},
  spaceInstallation: {
    ...TARGET,
    integration: 'x',
    installation: 'ins',
    space: 's',
    configuration: {
      name: 'not-a-secret',
      oauth_credentials: { token_type: 'Bearer', access_token: 'space-token' },
    },
  },
  installation: {
    ...TARGET,
    id: 'ins',
    target: { organization: 'o' },
    space_selection: 'all',
    site_selection: 'all',
    createdAt: '',
    updatedAt: '',
    configuration: { oauth_credentials: { expires_at: 17, nested: { list: ['deep-token'] } } },
  },
} as unknown as Parameters<typeof secretsOf>[0];

test('the secrets of a target are its secrets, its signing secrets and all texts of its credentials, at every level', () => {
  expect(secretsOf(ENVIRONMENT).sort()).toEqual(
    ['integration-secret', 'signs-integration', 'signs-installation', 'space-token', 'deep-token'].sort(),
  );
});

const millisecondsFor = (secrets: readonly string[], text: string): number =>
  cpuMs(() => new Redactor(secrets).redact(text));
