/**
 * Receivers with random answers: each post has one result, and leaves nothing behind.
 */
import assert from 'node:assert/strict';
import { expect, test, vi } from 'vitest';
import { type Chance, fuzz } from '../../support/fuzz/fuzz.ts';
import { mutateText } from '../../support/fuzz/mutations.ts';
import { answered, newWebhookClient, postTo, receive } from '../../support/receivers/scripted-receivers.ts';

const ANSWERS = [
  answered(200, 'fine', 'content-type: text/plain\r\n'),
  answered(503, 'busy', 'retry-after: 1\r\nconnection: close\r\n'),
  'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4;a=b\r\nfine\r\n0\r\nt: 1\r\n\r\n',
  'HTTP/1.0 302 Found\r\nlocation: http://127.0.0.2/\r\n\r\nmoved',
  `HTTP/1.1 103 Early Hints\r\nlink: <a>\r\n\r\n${answered(204)}`,
  'HTTP/1.1 304 X\r\ncontent-length: 5\r\nkeep-alive: timeout=5\r\n\r\n',
];
const WORDS = [
  ...[
    'HTTP/1.1 ',
    'HTTP/1.0 ',
    'HTTP/2 ',
    'HTTP/9.9 ',
    '100',
    '101',
    '103',
    '199',
    '204',
    '099',
    '000',
    '600',
    '999',
  ],
  ...[
    '\r\n',
    '\n',
    '\r',
    '\r\n\r\n',
    ' ',
    '\t',
    '\0',
    ':',
    ';',
    'ff',
    'zz',
    '0\r\n\r\n',
    '\xff',
    'x'.repeat(5_000),
  ],
  ...[
    'content-length: 0\r\n',
    'content-length: 99\r\n',
    'content-length: -1\r\n',
    'transfer-encoding: chunked\r\n',
  ],
  ...[
    'transfer-encoding: gzip\r\n',
    'connection: upgrade\r\nupgrade: h2c\r\n',
    'connection: close\r\n',
    'keep-alive: timeout=0\r\n',
  ],
];
const ENDS = ['end', 'reset', 'wait'] as const;

const made = (random: Chance) => ({
  bytes: random.once(10)
    ? String.fromCharCode(...Array.from({ length: random.below(300) }, () => random.below(256)))
    : mutateText(random, ANSWERS, WORDS),
  cutAt: random.below(400),
  end: random.pick(ENDS),
});

test('whatever a receiver answers, a post has one result in its time, and its connection does not outlive a bad one', async () => {
  const inputs: ReturnType<typeof made>[] = [];
  const asked: number[] = [];
  const receiver = await receive((socket, nth) => {
    const [, id] = /\?(\d+) /.exec(receiver.requests[nth - 1] ?? '') ?? [];
    const { bytes, cutAt, end } = inputs[Number(id)] ?? { bytes: '', cutAt: 0, end: 'wait' };
    asked[Number(id)] = (asked[Number(id)] ?? 0) + 1;
    socket.write(bytes.slice(0, cutAt), 'latin1');
    const rest = bytes.slice(cutAt);
    setImmediate(() => {
      if (end === 'end') socket.end(rest, 'latin1');
      else socket.write(rest, 'latin1', () => end === 'reset' && socket.resetAndDestroy());
    });
  });
  const client = newWebhookClient({
    limits: { webhookMs: 40, webhookResponseBytes: 1_000, webhookResponseKeptBytes: 100 },
  });
  const seen = new Map<string, number>();
  await fuzz('receiverAnswers', {
    atOnce: 16,
    make: made,
    check: async (input) => {
      const id = inputs.push(input) - 1;
      // A few owners, so that connections are used again.
      const result = await postTo(client, `${receiver.url}?${id}`, { owner: String(id % 4) });
      assert((asked[id] ?? 0) <= 1, 'A request was sent again.');
      seen.set(result.kind, (seen.get(result.kind) ?? 0) + 1);
      if (result.kind !== 'answered') {
        assert.equal(result.kind, 'failed');
        assert(['reset', 'protocol', 'timeout'].includes(result.reason), result.reason);
        assert(result.detail.length <= 600);
        return;
      }
      const { status, response } = result;
      assert(status >= 200 && status <= 599, String(status));
      assert(input.bytes.includes(String(status)), 'It was answered with what belongs to another request.');
      assert(Buffer.byteLength(response) <= 100 && !response.includes('\0') && response.isWellFormed());
    },
  });
  expect(seen.get('answered')).toBeGreaterThan(0);
  expect(seen.get('failed')).toBeGreaterThan(0);
  await client.close();
  await expect.poll(() => [client.inFlight, client.connections]).toEqual([0, 0]);
});

const URLS = [
  'https://receiver.example/hook?key=1',
  'http://user:secret@receiver.example:8080/',
  'https://8.8.8.8/',
  'https://[2606:4700::1111]:8443/#top',
  'https://10.0.0.1/',
  'https://a.localhost/',
];
const URL_WORDS = [
  ...[
    'http://',
    'https://',
    'HTTPS:',
    '//',
    '@',
    ':',
    '#',
    '?',
    '/',
    '\\',
    '%00',
    '%2f',
    '..',
    ' ',
    '\t',
    '\n',
    '\0',
  ],
  ...[
    ':0',
    ':25',
    ':443',
    ':65536',
    '127.0.0.1',
    '0x7f.1',
    '[::1]',
    '。',
    'ß',
    '\ud800',
    'x'.repeat(2_100),
    'ftp:',
    'javascript:',
  ],
];

test('any text as a URL is refused or resolved by a name server, and never repeated', async () => {
  const asked = vi.fn();
  const lookup = (host: string) => {
    asked(host);
    return Promise.reject(
      Object.assign(new Error('queryA ENOTFOUND'), { code: 'ENOTFOUND', syscall: 'queryA' }),
    );
  };
  // Hosts that need no name server are not on the internet.
  const client = newWebhookClient({ allow: '', deny: '0.0.0.0/0,::/0', allowHttp: true, lookup });
  await fuzz('receiverUrls', {
    atOnce: 16,
    make: (random) => mutateText(random, URLS, URL_WORDS),
    check: async (url) => {
      const refusal = client.refusalOf(url);
      const result = await postTo(client, url);
      if (refusal === undefined) {
        assert(result.kind === 'failed' && result.reason === 'dns', JSON.stringify(result));
        const { protocol, username, password, hash } = new URL(url);
        assert(/^https?:$/.test(protocol) && `${username}${password}${hash}` === '', url);
      } else {
        assert.equal(result.kind, 'blocked');
        assert(refusal.length < 200 && (url.length < 20 || !refusal.includes(url)));
      }
    },
  });
  expect(asked).toHaveBeenCalled();
  expect(client.connections).toBe(0);
});
