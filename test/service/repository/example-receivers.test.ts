/**
 * The example receivers of `docs/receivers/` in six languages: each accepts what Annex signs, and
 * nothing else.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import {
  signatureHeader,
  standardHeaders,
  standardSecret,
  verifySignature,
} from '../../../src/model/signature.ts';
import { needs } from '../../support/programs.ts';
import {
  EXAMPLES,
  RECEIVERS,
  RunningReceiver,
  STANDARD_EXAMPLE,
} from '../../support/receivers/example-receiver.ts';
import { DOCUMENTS } from '../../support/repository/documents.ts';

const SECRET = 'kq3Yb0cGm7l1S9w2Zr5Tt8Vx4Nn6Pp0Aa1Ss2Dd3Ff4';
const NEXT = 'the next secret, with more than 24 characters: ß €';
const now = () => Math.floor(Date.now() / 1_000);

let events = 0;
const newId = () => `evt_${++events}`;
/** Spaces and characters that parsing and writing again would change. */
const eventText = (eventId = newId()) =>
  `{ "eventId":"${eventId}", "type":"space_content_updated", "note":"caf\\u00e9 é €", "big":12345678901234567890 }`;
const signed = (body: string | Buffer, at = now(), secrets: readonly string[] = [SECRET]) =>
  signatureHeader(secrets, at, Buffer.from(body));

const BODY = eventText('evt_table');
const GOOD_HEADERS: readonly [string, () => string][] = [
  ['a signature', () => signed(BODY)],
  ['the signature of a new secret before its own', () => signed(BODY, now(), [NEXT, SECRET])],
  ['the signature of an old secret behind its own', () => signed(BODY, now(), [SECRET, NEXT])],
  ['unknown keys', () => `v0=x,${signed(BODY)},v2=${'0'.repeat(64)},a,=`],
  ['the digest before the time', () => signed(BODY).split(',').toReversed().join(',')],
  ['a time within the tolerance', () => signed(BODY, now() - 290)],
];
const BAD_HEADERS: readonly [string, () => string | undefined][] = [
  ['no header', () => undefined],
  ['an empty header', () => ''],
  ['no t', () => signed(BODY).replace(/^t=\d+,/, '')],
  ['no v1', () => `t=${now()}`],
  ['a digest of another version alone', () => signed(BODY).replace('v1=', 'v2=')],
  ['two t', () => `${signed(BODY)},t=${now()}`],
  ['two t that are the same', () => signed(BODY).replace(/^(t=\d+),/, '$1,$1,')],
  ['another t than was signed', () => signed(BODY).replace(/\d+/, String(now() - 1))],
  ['a t that is no number', () => signed(BODY).replace(/\d+/, 'now')],
  ['an empty t', () => signed(BODY).replace(/\d+/, '')],
  ['upper-case digits', () => signed(BODY).replace(/[0-9a-f]{64}$/, (hex) => hex.toUpperCase())],
  ['a digit too few', () => signed(BODY).slice(0, -1)],
  ['a digit too many', () => `${signed(BODY)}0`],
  ['a last digit that is another', () => signed(BODY).replace(/.$/, (digit) => (digit === '0' ? '1' : '0'))],
  ['a digest that is none, beside one that matches', () => `${signed(BODY)},v1=x`],
  ['another secret', () => signed(BODY, now(), [NEXT])],
  ['an empty secret', () => signed(BODY, now(), [''])],
  ['spaces', () => signed(BODY).replace(',', ', ')],
];
const STALE_HEADERS: readonly [string, () => string][] = [
  ['a time that is over', () => signed(BODY, now() - 330)],
  ['a time to come', () => signed(BODY, now() + 330)],
];

for (const example of EXAMPLES) {
  const { file, program, remembers } = example;

  describe(file, program ? needs(program) : {}, () => {
    let receiver: RunningReceiver;
    let url: string;
    beforeAll(async () => {
      receiver = new RunningReceiver(example, { WEBHOOK_SECRET: SECRET });
      url = await receiver.url();
    });
    afterAll(() => receiver?.stop());

    const post = async (body: string | Buffer<ArrayBuffer>, signature: string | undefined = signed(body)) => {
      const headers = { 'content-type': 'application/json' };
      const response = await fetch(url, {
        method: 'POST',
        body,
        headers: { ...headers, ...(signature !== undefined && { 'x-platform-signature': signature }) },
      });
      return { status: response.status, body: await response.json() };
    };
    const RECEIVED = { status: 200, body: { received: true } };
    const REFUSED = { status: 401, body: { error: 'Invalid signature' } };

    test('confirms and handles what Annex has signed', async () => {
      const id = newId();
      expect(await post(eventText(id))).toEqual(RECEIVED);
      await expect.poll(() => receiver.handled(id)).toBe(1);
    });

    test.each(GOOD_HEADERS)('confirms %s', async (_, header) => {
      expect(await post(BODY, header())).toEqual(RECEIVED);
    });

    test.each([...BAD_HEADERS, ...STALE_HEADERS])('refuses %s', async (_, header) => {
      const response = await fetch(url, {
        method: 'POST',
        body: BODY,
        headers: { 'content-type': 'application/json', ...headerOf(header()) },
      });
      expect({ status: response.status, body: await response.json() }).toEqual(REFUSED);
      expect(response.headers.get('content-type')).toMatch(/^application\/json/);
    });

    test('refuses a body with a changed bit, and one that was serialized again', async () => {
      const id = newId();
      const body = Buffer.from(eventText(id));
      for (const bit of [1, 8 * 30 + 2, 8 * body.length - 8]) {
        const flipped = Buffer.from(body);
        flipped[bit >> 3] = (body[bit >> 3] ?? 0) ^ (1 << (bit & 7));
        expect(await post(flipped, signed(body))).toEqual(REFUSED);
      }
      const anew = JSON.stringify(JSON.parse(body.toString()));
      expect(await post(anew, signed(body))).toEqual(REFUSED);
      expect(await post('', signed(body))).toEqual(REFUSED);
      expect(receiver.handled(id)).toBe(0);
    });

    test('verifies the signature before it reads the body', async () => {
      expect(await post('{"eventId', signed('another'))).toEqual(REFUSED);
    });

    test('answers 500 for a fault of its own, so that Annex retries', async () => {
      expect(await post('{"eventId')).toEqual({ status: 500, body: { error: 'Internal error' } });
      expect(await post(eventText())).toEqual(RECEIVED);
    });

    const times = remembers ? 1 : 2;
    test(`confirms an event that arrives twice, and handles it ${remembers ? 'once' : 'twice: its database has to deduplicate'}`, async () => {
      const [id, after] = [newId(), newId()];
      const body = eventText(id);
      expect(await post(body, signed(body, now() - 1))).toEqual(RECEIVED);
      expect(await post(body)).toEqual(RECEIVED);
      await post(eventText(after));
      await expect.poll(() => receiver.handled(after)).toBe(1);
      expect(receiver.handled(id)).toBe(times);
    });

    test('answers 405 to methods other than POST', async () => {
      const response = await fetch(url);
      expect([response.status, await response.json()]).toEqual([405, { error: 'Method not allowed' }]);
    });

    // Attack: a client without a secret that fills the receiver's memory.
    test('accepts at most a mebibyte from any client', async () => {
      if (remembers) expect(await statusOfHead(url, 1_048_577)).toBe(413);
      else expect(await post('x'.repeat(1_048_577))).toMatchObject({ status: 413 });
      const most = `${eventText().slice(0, -2)}, "fill":"`;
      const rest = 1_048_576 - Buffer.byteLength(`${most}"}`);
      expect(await post(`${most}${'x'.repeat(rest)}"}`)).toEqual(RECEIVED);
    });

    // Attack: an unset secret, which every client would know.
    test('accepts nothing without a secret', async () => {
      const unset = new RunningReceiver(example, { WEBHOOK_SECRET: '' });
      try {
        if (remembers) {
          const { code, output } = await unset.end();
          expect(code).not.toBe(0);
          expect(output).toContain('WEBHOOK_SECRET is not set.');
        } else {
          const body = eventText();
          const headers = headerOf(signed(body, now(), ['']));
          const response = await fetch(await unset.url(), { method: 'POST', body, headers });
          expect(response.status).toBe(500);
        }
      } finally {
        await unset.stop();
      }
    });
  });
}

const headerOf = (signature: string | undefined): Record<string, string> =>
  signature === undefined ? {} : { 'x-platform-signature': signature };

/** The answer to a head that announces a body of this size. */
async function statusOfHead(url: string, bytes: number): Promise<number> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.write(`POST / HTTP/1.1\r\nHost: ${hostname}\r\nContent-Length: ${bytes}\r\n\r\n`);
  const [head] = (await once(socket.setEncoding('utf8'), 'data')) as [string];
  socket.destroy();
  return Number(/^HTTP\/1\.[01] (\d{3})/.exec(head)?.[1]);
}

describe(STANDARD_EXAMPLE.file, () => {
  let receiver: RunningReceiver;
  let url: string;
  beforeAll(async () => {
    receiver = new RunningReceiver(STANDARD_EXAMPLE, { WEBHOOK_SECRET: standardSecret(SECRET) });
    url = await receiver.url();
  });
  afterAll(() => receiver?.stop());

  type Signed = Record<string, string>;
  const sign = (body: string, { id = newId(), at = now(), secrets = [SECRET] } = {}): Signed =>
    standardHeaders(secrets, { id, timestampS: at }, Buffer.from(body));
  const statusOf = async (body: string, headers: Signed) =>
    (await fetch(url, { method: 'POST', body, headers })).status;

  test('confirms and handles what Annex has signed, once, also during a rotation', async () => {
    const id = newId();
    expect(await statusOf(eventText(id), sign(eventText(id)))).toBe(200);
    for (const secrets of [
      [NEXT, SECRET],
      [SECRET, NEXT],
    ])
      expect(await statusOf(eventText(id), sign(eventText(id), { secrets }))).toBe(200);
    await expect.poll(() => receiver.handled(id)).toBe(1);
  });

  test.each<[string, (signed: Signed) => Signed]>([
    ['no id', ({ 'webhook-id': _, ...others }) => others],
    ['no time', ({ 'webhook-timestamp': _, ...others }) => others],
    ['no signature', ({ 'webhook-signature': _, ...others }) => others],
    ['another id', (signed) => ({ ...signed, 'webhook-id': newId() })],
    [
      'an id that ends in another time',
      (signed) => {
        const { 'webhook-id': id, 'webhook-timestamp': at } = signed;
        return { ...signed, 'webhook-id': `${id}.${at}` };
      },
    ],
    ['another time', (signed) => ({ ...signed, 'webhook-timestamp': String(now() - 1) })],
    [
      'another version',
      (signed) => ({
        ...signed,
        'webhook-signature': String(signed['webhook-signature']).replace('v1', 'v2'),
      }),
    ],
    ['another secret', () => sign(BODY, { secrets: [NEXT] })],
    ['a time that is over', () => sign(BODY, { at: now() - 330 })],
    ['a time to come', () => sign(BODY, { at: now() + 330 })],
  ])('refuses %s', async (_, changed) => {
    expect(await statusOf(BODY, changed(sign(BODY, { at: now() - 10 })))).toBe(401);
  });

  test('refuses another body, and parses none before', async () => {
    const signed = sign(BODY);
    expect(await statusOf(`${BODY} `, signed)).toBe(401);
    expect(await statusOf('{', signed)).toBe(401);
    expect(await statusOf(BODY, signed)).toBe(200);
    expect(await statusOfHead(url, 1_048_577)).toBe(413);
  });

  test.each(['', SECRET, 'whsec_'])('does not start with the secret "%s"', async (secret) => {
    const unset = new RunningReceiver(STANDARD_EXAMPLE, { WEBHOOK_SECRET: secret });
    onTestFinished(() => unset.stop());
    const { code, output } = await unset.end();
    expect([code, output]).toEqual([1, expect.stringContaining('WEBHOOK_SECRET is not set.')]);
  });
});

describe('verify.sh', needs('openssl'), () => {
  async function verify(header: string | undefined, body: string | Buffer, secret = SECRET) {
    const args = [join(RECEIVERS, 'verify.sh'), ...(header === undefined ? [] : [header])];
    const env = { PATH: process.env['PATH'], WEBHOOK_SECRET: secret };
    const shell = spawn('bash', args, { env, stdio: ['pipe', 'pipe', 'pipe'] });
    // A receiver that has refused reads no body.
    shell.stdin.on('error', () => {});
    shell.stdin.end(body);
    const output = Promise.all([text(shell.stdout), text(shell.stderr)]);
    const [code] = (await once(shell, 'close')) as [number];
    return { code, output: (await output).join('') };
  }

  test.each([...GOOD_HEADERS, ...STALE_HEADERS])('accepts %s', async (_, header) => {
    const { code, output } = await verify(header(), BODY);
    expect(output).toMatch(/^genuine, signed -?\d+ seconds ago\n$/);
    expect(code).toBe(0);
  });

  test.each(BAD_HEADERS)('refuses %s', async (_, header) => {
    const { code, output } = await verify(header(), BODY);
    expect(output).toMatch(/^not genuine: .+\n$/);
    expect(code).toBe(1);
  });

  test('takes the body byte for byte', async () => {
    for (const body of ['', '\n', 'no end of line', 'two\n\n', '\r\n'])
      expect(await verify(signed(body), body)).toMatchObject({ code: 0 });
    const bytes = Buffer.from([0, 0xff, 10, 0]);
    expect(await verify(signed(bytes), bytes)).toMatchObject({ code: 0 });
    expect(await verify(signed(bytes), bytes.subarray(1))).toMatchObject({ code: 1 });
    expect(await verify(signed('x'), 'x\n')).toMatchObject({ code: 1 });
  });

  test('needs a secret', async () => {
    const { code, output } = await verify(signed(BODY, now(), ['']), BODY, '');
    expect([code, output]).toEqual([2, 'WEBHOOK_SECRET is not set.\n']);
  });
});

describe('docs/webhooks.md', () => {
  const page = DOCUMENTS.find(({ path }) => path === 'docs/webhooks.md')?.text ?? '';

  test('links to every receiver', () => {
    const files = readdirSync(RECEIVERS);
    expect(files.filter((file) => !page.includes(`(receivers/${file})`))).toEqual([]);
    expect(files.sort()).toEqual(
      [...[...EXAMPLES, STANDARD_EXAMPLE].map(({ file }) => file), 'verify.sh'].sort(),
    );
  });

  test('shows a genuine request, for authors of their own verifiers', () => {
    const [, head = '', body = ''] = /^```http\n(.*?)\n\n(.*?)\n```$/ms.exec(page) ?? [];
    const [, signature] = /^X-Platform-Signature: (.*)$/m.exec(head) ?? [];
    const [, secret = ''] = /^The secret is `([\w-]{43})`/m.exec(page) ?? [];
    expect(verifySignature(signature, Buffer.from(body), [secret])).toBe(true);
    expect(head).toContain(`\nContent-Length: ${Buffer.byteLength(body)}\n`);
    expect(head).toContain(`\nX-Platform-Event: ${JSON.parse(body).type}\n`);
  });

  test('quotes the file of each receiver, line by line', () => {
    const shown = [...page.matchAll(/^```(js|python|go|php|ruby)\n(.*?)^```$/gms)];
    expect(shown.map(([, language]) => language).sort()).toEqual(['go', 'js', 'php', 'python', 'ruby']);
    const files = { js: 'mjs', python: 'py', go: 'go', php: 'php', ruby: 'rb' };
    for (const [, language, body = ''] of shown) {
      const file = `receiver.${files[language as keyof typeof files]}`;
      expect(readFileSync(join(RECEIVERS, file), 'utf8')).toContain(body);
    }
  });
});
