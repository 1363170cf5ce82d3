/**
 * Random envelopes: each is parsed as other parsers parse it, or refused, at no cost to the
 * service.
 */
import assert from 'node:assert/strict';
import { Agent, request } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { boundaryOf, readMultipart } from '../../../src/host/http/public/multipart.ts';
import { type Chance, fuzz, UNTHROTTLED } from '../../support/fuzz/fuzz.ts';
import { mutateBytes, mutateJson, mutateText } from '../../support/fuzz/mutations.ts';
import { type Installed, TestService } from '../../support/service.ts';

const CRLF = '\r\n';
const part = (disposition: string, value: string, more = '') =>
  `--b${CRLF}content-disposition: form-data; ${disposition}${CRLF}${more}${CRLF}${value}${CRLF}`;

const EVENT = { type: 'fetch', request: { method: 'POST', url: 'https://e.example/x', headers: { a: 'b' } } };
const ENVIRONMENT = { integration: { name: 'x' }, installation: { id: 'i' }, more: 1 };
const form = (event: string, environment = '{}'): string =>
  part('name="event"', event) +
  part('name="environment"', environment) +
  part('name="fetch-body"; filename="x"', 'body', `content-type: text/plain${CRLF}`);

const BODIES = [
  `${form(JSON.stringify(EVENT), JSON.stringify(ENVIRONMENT))}--b--${CRLF}`,
  `${CRLF}${form('{"type":"x"}')}--b--`,
  `${part('filename="; name=event"; name=environment', '{}')}${part('name=a; filename=b', '')}--b--${CRLF}`,
].map((body) => Buffer.from(body));
const TYPES = [
  'multipart/form-data; boundary=b',
  'multipart/form-data; charset=utf-8; boundary="b"',
  'Multipart/Form-Data;boundary=b;x=y',
];
/** Syntax of multipart, and what some parsers accept as such. */
const WORDS = [
  ...[
    '--b',
    '--b--',
    '\r\n--b',
    '\r\n--b--',
    '\r\n--b\r\n',
    '--b\n',
    '\n--b',
    '--b \r\n',
    '--bb',
    '--',
    '\r\n',
    '\n',
  ],
  ...[
    '\r\n\r\n',
    '\n\n',
    '\r',
    '; name=event',
    '; name="event"',
    'name',
    '; filename="',
    "; filename*=utf-8''x",
  ],
  ...["; name*=utf-8''event", '"', '\\"', ';', '=', ' ', '\t', ':', ' :', 'form-data', 'attachment'],
  ...['content-disposition: form-data; name="event"\r\n', 'content-type: multipart/mixed; boundary=c\r\n'],
  ...[
    'content-transfer-encoding: base64\r\n',
    'Content-Disposition',
    'content-type',
    '%22',
    '%0d%0a',
    '{}',
    '\0',
  ],
];
const TYPE_WORDS = [
  ...[
    '; boundary=b',
    '; boundary="b"',
    ';boundary=c',
    'boundary',
    '=',
    '"',
    '\\',
    ';',
    ',',
    ' ',
    '\t',
    'b',
    "'",
  ],
  ...['multipart/form-data', 'multipart/mixed', '; charset=utf-8', '; x="; boundary=c"', ';;'],
];

interface Sent {
  readonly type: string;
  readonly body: Buffer;
}

const makeSent = (random: Chance): Sent => ({
  type: random.once(4) ? mutateText(random, TYPES, TYPE_WORDS) : random.pick(TYPES),
  body: mutateBytes(random, BODIES, WORDS),
});

/** Names and bytes, as pairs of text; undefined if the reader refuses the body. */
type Reading = [name: string, bytes: string][] | undefined;

function ourReading({ type, body }: Sent): Reading {
  const boundary = boundaryOf(type);
  if (boundary === undefined) return undefined;
  try {
    return readMultipart(body, boundary).map(({ name, bytes }) => [
      Buffer.from(name, 'latin1').toString('utf8'),
      bytes.toString('hex'),
    ]);
  } catch (error) {
    assert.equal((error as Error).name, 'MultipartError');
    return undefined;
  }
}

async function nodesReading({ type, body }: Sent): Promise<Reading> {
  try {
    const read = await new Response(body, { headers: { 'content-type': type } }).formData();
    const values = [...read].map(async ([name, value]): Promise<[string, string]> => {
      const bytes = typeof value === 'string' ? Buffer.from(value) : Buffer.from(await value.arrayBuffer());
      return [name, bytes.toString('hex')];
    });
    return await Promise.all(values);
  } catch {
    return undefined;
  }
}

/**
 * Node decodes parts without a file name as text, which loses broken UTF-8, and removes browsers'
 * escapes in names.
 */
const asText = ([name, bytes]: [string, string]): [string, string] => [
  name.replaceAll(/%0D/gi, '\r').replaceAll(/%0A/gi, '\n').replaceAll('%22', '"'),
  Buffer.from(new TextDecoder().decode(Buffer.from(bytes, 'hex'))).toString('hex'),
];

test('a body that two parsers accept has the same parts for both', async () => {
  let bothRead = 0;
  await fuzz('multipart', {
    make: makeSent,
    check: async (sent) => {
      const ours = ourReading(sent);
      if (ours === undefined) return;
      const nodes = await nodesReading(sent);
      if (nodes === undefined) return;
      bothRead += 1;
      assert.deepEqual(ours.map(asText), nodes.map(asText));
    },
  });
  expect(bothRead).toBeGreaterThan(0);
});

let annex: TestService;
let echo: Installed;
beforeAll(async () => {
  annex = await TestService.start({
    limits: { ...UNTHROTTLED, requestBodyBytes: 20_000, envelopePartBytes: 5_000 },
  });
  echo = await annex.deploy('echo', 'export default { fetch: () => new Response("ok") };');
});
afterAll(() => annex.stop());

interface Answered {
  readonly status: number;
  readonly text: string;
}

/** @throws if there is no answer */
function send(agent: Agent, { type, body }: Sent): Promise<Answered> {
  return new Promise((resolve, reject) => {
    const headers = {
      authorization: `Bearer ${annex.platform}`,
      'content-type': Buffer.from(type).toString('latin1'),
      'content-length': body.length,
    };
    const outgoing = request(
      `${echo.endpoint}/v1`,
      { method: 'POST', agent, headers, timeout: 20_000 },
      (answer) => {
        let text = '';
        answer.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
        answer.on('end', () => resolve({ status: answer.statusCode ?? 0, text }));
        answer.on('error', reject);
      },
    );
    outgoing.on('timeout', () => outgoing.destroy(new Error('There was no answer.')));
    outgoing.on('error', reject).end(body);
  });
}

/** An envelope with invalid parts, or invalid multipart. */
function hostileEnvelope(random: Chance): Sent {
  if (random.once(2)) return makeSent(random);
  const event = JSON.stringify(mutateJson(random, [EVENT])) ?? '';
  const environment = JSON.stringify(mutateJson(random, [ENVIRONMENT])) ?? '';
  const text = random.once(3)
    ? mutateText(random, [event], ['"type":"fetch"', '\\u0000', '{"type":'])
    : event;
  return { type: random.pick(TYPES), body: Buffer.from(`${form(text, environment)}--b--${CRLF}`) };
}

/** Codes of refusals of an invalid envelope: the sender is at fault, never the service. */
const CODES: ReadonlySet<string> = new Set(['400 ENVELOPE_INVALID', '413 REQUEST_TOO_LARGE']);

test('an envelope is answered by the integration, or refused with the name of its fault', async () => {
  const agent = new Agent({ keepAlive: true, maxSockets: 8 });
  const before = annex.cellPids;
  const statuses = new Set<number>();
  try {
    await fuzz('envelopes', {
      atOnce: 8,
      make: hostileEnvelope,
      check: async (sent) => {
        // A header that cannot be sent.
        if (/[^\t\x20-\x7e\x80-\xff]/.test(Buffer.from(sent.type).toString('latin1'))) return;
        const { status, text } = await send(agent, sent);
        statuses.add(status);
        if (status === 200) return assert.equal(text, 'ok');
        const { error } = JSON.parse(text) as { error: { code: string } };
        assert(CODES.has(`${status} ${error.code}`), `was answered ${status} ${text}`);
      },
    });
  } finally {
    agent.destroy();
  }
  expect(statuses).toEqual(new Set([200, 400, 413]));
  expect(annex.cellPids).toEqual(before);
  expect(await (await annex.envelope(echo, EVENT)).text()).toBe('ok');
});
