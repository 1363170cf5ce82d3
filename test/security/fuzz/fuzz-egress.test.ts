/**
 * Destinations and heads of tenants' requests: checked the same in any notation.
 */
import assert from 'node:assert/strict';
import { BlockList, isIP } from 'node:net';
import { expect, test } from 'vitest';
import { type Address, parseAddress, reasonNotPublic } from '../../../src/host/egress/addresses.ts';
import { EgressError } from '../../../src/host/egress/egress-error.ts';
import { EgressPolicy } from '../../../src/host/egress/policy.ts';
import { checkMethod, headToSend, tenantHeaders } from '../../../src/host/egress/request-head.ts';
import { tenantResponseHeaders } from '../../../src/host/egress/response-head.ts';
import { type Chance, fuzz } from '../../support/fuzz/fuzz.ts';
import { HOSTILE_TEXTS, mutateText } from '../../support/fuzz/mutations.ts';

/** The table of addresses again, for a second implementation of ranges. */
const NOT_PUBLIC = new BlockList();
for (const range of [
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '168.63.129.16/32', '169.254.0.0/16'],
  ...['172.16.0.0/12', '192.0.0.0/24', '192.0.2.0/24', '192.88.99.0/24', '192.168.0.0/16', '198.18.0.0/15'],
  ...['198.51.100.0/24', '203.0.113.0/24', '224.0.0.0/3', '2001::/23', '2001:db8::/32', '3fff::/20'],
]) {
  const [base = '', bits] = range.split('/');
  NOT_PUBLIC.addSubnet(base, Number(bits), base.includes(':') ? 'ipv6' : 'ipv4');
}

/** @param bytes 4 or 16 of them */
function isPublic(bytes: readonly number[]): boolean {
  if (bytes.length === 4) return !NOT_PUBLIC.check(bytes.join('.'), 'ipv4');
  const starts = (...prefix: number[]) => prefix.every((byte, index) => bytes[index] === byte);
  const mapped = starts(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff);
  if (mapped || starts(0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0)) return isPublic(bytes.slice(12));
  if (starts(0x20, 0x02)) return isPublic(bytes.slice(2, 6));
  const groups = Array.from({ length: 8 }, (_, at) =>
    (((bytes[2 * at] ?? 0) << 8) | (bytes[2 * at + 1] ?? 0)).toString(16),
  );
  return (bytes[0] ?? 0) >> 5 === 1 && !NOT_PUBLIC.check(groups.join(':'), 'ipv6');
}

const HOSTS = [
  ...[
    '127.0.0.1',
    '10.1.2.3',
    '169.254.169.254',
    '8.8.8.8',
    '0x7f.1',
    '2130706433',
    '0177.0.0.1',
    '1.1',
    '0',
  ],
  ...[
    '[::1]',
    '[::ffff:10.0.0.1]',
    '[64:ff9b::7f00:1]',
    '[2002:7f00:1::]',
    '[fd00:ec2::254]',
    '[2606:4700::1111]',
  ],
  ...[
    '[2001:db8::1]',
    '[::]',
    '[::127.0.0.1]',
    '[fe80::1]',
    'example.com',
    '１２７.0.0.1',
    '127。0。0。1',
    'localhost',
  ],
];
const HOST_WORDS = [
  ...[
    '0',
    '1',
    '255',
    '256',
    '127',
    '10',
    '0x',
    '0xff',
    '017',
    '4294967295',
    '4294967296',
    '.',
    '..',
    ':',
    '::',
    'ffff:',
  ],
  ...[
    '[',
    ']',
    '%25eth0',
    '%2e',
    '@',
    '#',
    '/',
    '\\',
    '?',
    ':80',
    '2001:',
    '64:ff9b::',
    '2002:',
    '3fff:',
    'fe80',
    '。',
  ],
];
const URL_OK = /^[\da-f.:]+$/;

test('whatever a URL parses as an address is checked as that address, and anything else is none', async () => {
  let addresses = 0;
  await fuzz('urlHosts', {
    make: (random) =>
      random.once(3)
        ? Array.from({ length: random.pick([4, 16]) }, () =>
            random.pick([0, 0, 1, 32, 63, 127, 254, 255, 10, 192]),
          )
        : mutateText(random, HOSTS, HOST_WORDS),
    check: (input) => {
      const host = typeof input === 'string' ? URL.parse(`http://${input}/`)?.hostname : written(input);
      if (host === undefined) return;
      const bare = host.startsWith('[') ? host.slice(1, -1) : host;
      const address = parseAddress(bare);
      assert.equal(address === undefined, isIP(bare) === 0, bare);
      if (address === undefined) return;
      addresses += 1;
      assert.match(bare, URL_OK);
      if (typeof input !== 'string') assert.deepEqual(bytesOf(address), input);
      assert.equal(reasonNotPublic(address) === undefined, isPublic(bytesOf(address)), bare);
    },
  });
  expect(addresses).toBeGreaterThan(0);
});

const bytesOf = (address: Address): number[] => address.toByteArray();

/** The bytes of an address in a URL. */
function written(bytes: readonly number[]): string {
  if (bytes.length === 4) return bytes.join('.');
  const groups = Array.from({ length: 8 }, (_, at) =>
    (((bytes[2 * at] ?? 0) << 8) | (bytes[2 * at + 1] ?? 0)).toString(16),
  );
  return new URL(`http://[${groups.join(':')}]`).hostname;
}

const ENTRIES = [
  ...[
    '10.0.0.0/8',
    '10.1.2.3',
    '[fd00::1]:8080',
    'fd00::/8',
    'api.example.com',
    '*.example.com:443',
    'localhost:3000',
  ],
];
const ENTRY_WORDS = [
  ...HOST_WORDS,
  '/',
  '/8',
  '/33',
  '/-1',
  '*',
  '*.',
  ',',
  ' ',
  ':65535',
  ':65536',
  ':0',
  '-',
  '_',
];
const TARGETS = ['example.com', 'api.example.com.', '10.1.2.3', 'fd00::1', '', '.', 'xn--', '127.0.0.1'];

test("an operator's list is read or reported as invalid, and what it denies stays denied", async () => {
  const publicOnly = EgressPolicy.parse({}).policy;
  let liftings = 0;
  await fuzz('egressLists', {
    make: (random) => ({
      list: mutateText(random, [ENTRIES.join(','), ...ENTRIES], ENTRY_WORDS),
      host: random.pick([...TARGETS, ...HOSTILE_TEXTS]),
      port: random.pick([80, 443, 8_080, 0, 25, 65_535]),
      address: written(
        Array.from({ length: random.pick([4, 16]) }, () => random.pick([0, 1, 8, 10, 127, 253])),
      ),
    }),
    check: ({ list, host, port, address: text }) => {
      const address = text.replaceAll(/[[\]]/g, '');
      const target = { host, port };
      const { policy: denying, problems } = EgressPolicy.parse({
        deny: list,
        allow: '0.0.0.0/0,::/0,*.com',
      });
      const entries = list.split(',').filter((entry) => entry.trim() !== '');
      assert(problems.length <= entries.length);
      const { policy: allowing } = EgressPolicy.parse({ allow: list });
      const { policy: both } = EgressPolicy.parse({ allow: list, deny: list });
      const reachable = ({ policy }: { policy: EgressPolicy }) =>
        policy.refusal(target) === undefined && policy.addressRefusal(target, address) === undefined;
      // Only addresses that the list allows are allowed, and a denial has precedence.
      const lifted = reachable({ policy: allowing }) && !reachable({ policy: publicOnly });
      liftings += Number(lifted);
      if (lifted)
        assert(!reachable({ policy: both }) && !reachable({ policy: denying }), 'a denial was not kept');
      if (reachable({ policy: publicOnly }))
        assert(reachable({ policy: allowing }), 'allowing took something away');
    },
  });
  expect(liftings).toBeGreaterThan(0);
});

const NAMES = [
  'accept',
  'Content-Type',
  'X-A',
  'authorization',
  'cookie',
  'Host',
  'connection',
  'transfer-encoding',
];
const NAME_WORDS = [
  'content-length',
  'Transfer-Encoding',
  'keep-alive',
  'te',
  'upgrade',
  'proxy-',
  'x',
  ...HOSTILE_TEXTS,
];
const VALUE_WORDS = ['\r\nhost: evil', '\r\n\r\nGET / HTTP/1.1', 'chunked', 'close, x-a', ...HOSTILE_TEXTS];
const HEADER_BYTES_MAX = 4_096;
/** Headers that decide where a message ends, or its destination. */
const FRAMING =
  /^(host|content-length|transfer-encoding|connection|keep-alive|te|trailer|upgrade|expect|proxy-.*)$/i;

const hostileHeaders = (random: Chance): [string, string][] =>
  Array.from({ length: 1 + random.below(5) }, () => [
    random.once(3) ? mutateText(random, NAMES, NAME_WORDS) : random.pick(NAMES),
    mutateText(random, ['a', 'text/plain; charset=utf-8', 'x, y'], VALUE_WORDS),
  ]);

test('the head of a fetch, and of its answer, has no framing headers and no injected lines', async () => {
  let sent = 0;
  await fuzz('egressHeads', {
    make: (random) => ({
      headers: hostileHeaders(random),
      method: mutateText(random, ['GET', 'POST'], ['CONNECT', 'trace', 'TRACK', ' ', '\r\n']),
    }),
    check: ({ headers, method }) => {
      const answered = tenantResponseHeaders(headers.flat());
      assert(
        answered.every(
          ([name]) => name === name.toLowerCase() && !/^(connection|transfer-encoding)$/.test(name),
        ),
      );
      try {
        checkMethod(method);
        assert.match(method, /^[!#-'*+\-.\w^`|~]+$/);
        assert.doesNotMatch(method, /^(connect|trace|track)$/i);
      } catch (error) {
        if (!(error instanceof EgressError)) throw error;
      }
      let head: string[];
      try {
        head = headToSend(tenantHeaders(headers, HEADER_BYTES_MAX));
      } catch (error) {
        if (error instanceof EgressError) return;
        throw error;
      }
      sent += 1;
      for (let at = 0; at < head.length; at += 2) {
        assert.doesNotMatch(head[at] ?? '', FRAMING);
        assert.match(head[at] ?? '', /^[!#-'*+\-.\w^`|~]+$/);
        assert.match(head[at + 1] ?? '', /^[\t\x20-\x7e\x80-\xff]*$/);
      }
      assert(head.join(': ').length <= HEADER_BYTES_MAX + 200);
    },
  });
  expect(sent).toBeGreaterThan(0);
});
