/** Public and reserved addresses, and the lists of the operator. */
import { describe, expect, test } from 'vitest';
import { readConfig } from '../../../src/host/config.ts';
import { parseAddress, reasonNotPublic } from '../../../src/host/egress/addresses.ts';
import { EgressPolicy } from '../../../src/host/egress/policy.ts';

const reason = (text: string): string | undefined => {
  const address = parseAddress(text);
  return address === undefined ? 'no address' : reasonNotPublic(address);
};

/** The first, the last and a middle address of every range, and its public neighbours. */
const PRIVATE: Record<string, string[]> = {
  'this network': ['0.0.0.0', '0.0.0.1', '0.255.255.255'],
  'private 10/8': ['10.0.0.0', '10.1.2.3', '10.255.255.255'],
  'carrier-grade NAT, Alibaba metadata': ['100.64.0.0', '100.100.100.200', '100.127.255.255'],
  loopback: ['127.0.0.0', '127.0.0.1', '127.255.255.255'],
  "Azure's host": ['168.63.129.16'],
  'link-local, cloud metadata': ['169.254.0.0', '169.254.169.254', '169.254.255.255'],
  'private 172.16/12': ['172.16.0.0', '172.20.10.5', '172.31.255.255'],
  'protocol assignments': ['192.0.0.0', '192.0.0.192', '192.0.0.255'],
  documentation: ['192.0.2.1', '198.51.100.7', '203.0.113.255'],
  '6to4 relays': ['192.88.99.0', '192.88.99.255'],
  'private 192.168/16': ['192.168.0.0', '192.168.1.1', '192.168.255.255'],
  benchmarks: ['198.18.0.0', '198.19.255.255'],
  multicast: ['224.0.0.0', '224.0.0.251', '239.255.255.255'],
  'reserved and broadcast': ['240.0.0.0', '254.1.1.1', '255.255.255.255'],
  'IPv6 unspecified, loopback and IPv4-compatible': ['::', '::1', '::2', '::7f00:1', '::8.8.8.8'],
  'IPv4-mapped': ['::ffff:127.0.0.1', '::ffff:7f00:1', '::ffff:10.0.0.1', '::ffff:169.254.169.254'],
  'IPv4-translated': ['::ffff:0:127.0.0.1', '::ffff:0:8.8.8.8'],
  NAT64: ['64:ff9b::127.0.0.1', '64:ff9b::a9fe:a9fe', '64:ff9b::10.0.0.1'],
  'NAT64 of a local network': ['64:ff9b:1::', '64:ff9b:1::8.8.8.8', '64:ff9b:1:ffff::1'],
  'discard-only': ['100::', '100::1', '100:0:0:1::', '100:0:0:1::1'],
  'protocol assignments and Teredo': [
    '2001::',
    '2001::1',
    '2001:0:4136:e378::1',
    '2001:1ff:ffff::1',
    '2001:20::1',
  ],
  'IPv6 documentation': ['2001:db8::', '2001:db8::1', '2001:db8:ffff::1', '3fff::', '3fff:fff:ffff::1'],
  '6to4 around private addresses': [
    '2002:7f00:1::',
    '2002:a00:1::1',
    '2002:c0a8:101::1',
    '2002:a9fe:a9fe::1',
  ],
  'unique local, AWS metadata': ['fc00::', 'fc00::1', 'fd00:ec2::254', 'fdff:ffff::1'],
  'IPv6 link-local': ['fe80::', 'fe80::1', 'febf::1'],
  'site-local': ['fec0::', 'fec0::1', 'feff::1'],
  'IPv6 multicast': ['ff00::', 'ff02::1', 'ff0e::1', 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  'segment routing': ['5f00::', '5f00:ffff::1'],
  'not yet assigned': ['4000::1', '1fff:ffff::1', '8000::1', 'e000::1'],
  'zone ids': ['fe80::1%eth0', '2606:4700::1%1', '::1%lo'],
  'other notations of IPv4': [
    '127.1',
    '0x7f.0.0.1',
    '2130706433',
    '0177.0.0.1',
    '127.0.0.1 ',
    '01.2.3.4',
    '',
  ],
};

const PUBLIC = [
  '1.0.0.0',
  '1.1.1.1',
  '8.8.8.8',
  '9.255.255.255',
  '11.0.0.0',
  '100.63.255.255',
  '100.128.0.0',
  '126.255.255.255',
  '128.0.0.0',
  '168.63.129.15',
  '168.63.129.17',
  '169.253.255.255',
  '169.255.0.0',
  '172.15.255.255',
  '172.32.0.0',
  '191.255.255.255',
  '192.0.1.0',
  '192.0.3.0',
  '192.88.98.255',
  '192.88.100.0',
  '192.167.255.255',
  '192.169.0.0',
  '198.17.255.255',
  '198.20.0.0',
  '198.51.99.255',
  '198.51.101.0',
  '203.0.112.255',
  '203.0.114.0',
  '223.255.255.255',
  '2000::1',
  '2001:200::1',
  '2001:4860:4860::8888',
  '2001:db7:ffff::1',
  '2001:db9::1',
  '2606:4700:4700::1111',
  '2a00:1450:4001:80b::200e',
  '3ffe::1',
  '3fff:1000::1',
  '64:ff9b::8.8.8.8',
  '2002:808:808::1',
  '::ffff:8.8.8.8',
]; // prettier-ignore

describe('an address', () => {
  test.each(Object.entries(PRIVATE))('that is not public is refused: %s', (_what, addresses) => {
    expect(addresses.filter((address) => reason(address) === undefined)).toEqual([]);
  });

  test('that is public is allowed, also next to a reserved range', () => {
    expect(PUBLIC.map((address) => [address, reason(address)]).filter(([, why]) => why)).toEqual([]);
  });
});

const policy = (allow: string, deny = '', rest: { only?: string; ports?: string } = {}): EgressPolicy => {
  const { policy: made, problems } = EgressPolicy.parse({ allow, deny, ...rest });
  expect(problems).toEqual([]);
  return made;
};
const at = (host: string, port = 443) => ({ host, port });

describe('the allow list', () => {
  test('allows a range, and nothing next to it', () => {
    const { addressRefusal } = bound(policy('10.1.0.0/16, [fd00::1]'));
    expect(addressRefusal(at('db.internal'), '10.1.255.255')).toBeUndefined();
    expect(addressRefusal(at('db.internal'), '::ffff:10.1.0.1')).toBeUndefined();
    expect(addressRefusal(at('db.internal'), 'fd00::1')).toBeUndefined();
    expect(addressRefusal(at('db.internal'), '10.2.0.0')).toMatch(/not public: private \(10\.0\.0\.0\/8\)/);
    expect(addressRefusal(at('db.internal'), 'fd00::2')).toMatch(/not public/);
  });

  test('does not allow a range in the form of NAT64 or 6to4', () => {
    const { addressRefusal } = bound(policy('127.0.0.1/32'));
    expect(addressRefusal(at('x'), '64:ff9b::7f00:1')).toMatch(/NAT64/);
    expect(addressRefusal(at('x'), '2002:7f00:1::')).toMatch(/6to4/);
  });

  test('allows a host by name, and with a wildcard the names below it', () => {
    const { addressRefusal } = bound(policy('api.internal,*.svc.internal'));
    const hosts = ['api.internal', 'api.internal.', 'a.svc.internal', 'a.b.svc.internal'];
    expect(hosts.filter((host) => addressRefusal(at(host), '10.0.0.1') !== undefined)).toEqual([]);
    const others = ['x.api.internal', 'svc.internal', 'evilsvc.internal', 'api.internal.evil.com'];
    expect(others.filter((host) => addressRefusal(at(host), '10.0.0.1') === undefined)).toEqual([]);
  });

  test('is bound to a port if an entry has one', () => {
    const { addressRefusal } = bound(policy('api.internal:8080,10.9.0.0/16:9000,[fd00::/8]:81'));
    expect(addressRefusal(at('api.internal', 8080), '10.0.0.1')).toBeUndefined();
    expect(addressRefusal(at('api.internal', 8081), '10.0.0.1')).toMatch(/not public/);
    expect(addressRefusal(at('x', 9000), '10.9.9.9')).toBeUndefined();
    expect(addressRefusal(at('x', 443), '10.9.9.9')).toMatch(/not public/);
    expect(addressRefusal(at('x', 81), 'fd12::1')).toBeUndefined();
    expect(addressRefusal(at('x', 80), 'fd12::1')).toMatch(/not public/);
  });
});

describe('the deny list', () => {
  test('wins over the allow list, by range, by carried address and by name', () => {
    const { refusal, addressRefusal } = bound(
      policy('10.0.0.0/8,a.example', '10.1.0.0/16,1.1.1.1,a.example,*.bad.example'),
    );
    expect(addressRefusal(at('x'), '10.2.0.1')).toBeUndefined();
    expect(addressRefusal(at('x'), '10.1.0.1')).toMatch(/list denies 10\.1\.0\.0\/16/);
    expect(addressRefusal(at('x'), '64:ff9b::1.1.1.1')).toMatch(/list denies 1\.1\.1\.1/);
    expect(refusal(at('a.example'))).toMatch(/list denies a\.example/);
    expect(refusal(at('x.bad.example'))).toMatch(/denies/);
    expect(refusal(at('bad.example'))).toBeUndefined();
  });
});

describe('ports', () => {
  test('of other protocols are refused, unless the operator lists them', () => {
    const { refusal, addressRefusal } = bound(policy('mail.internal:25,10.0.0.0/8'));
    for (const port of [0, 1, 22, 25, 6000, 6667, 10080]) {
      expect(addressRefusal(at('example.com', port), '8.8.8.8')).toMatch(/not for HTTP/);
    }
    expect(refusal(at('example.com', 22))).toMatch(/not for HTTP/);
    expect(refusal(at('mail.internal', 25))).toBeUndefined();
    expect(addressRefusal(at('mail.internal', 25), '10.0.0.1')).toBeUndefined();
    expect(addressRefusal(at('other.internal', 25), '10.0.0.1')).toMatch(/not for HTTP/);
    expect(refusal(at('example.com', 8443))).toBeUndefined();
  });
});

describe('the only list', () => {
  test('refuses all other hosts, by name before a look-up', () => {
    const { refusal, addressRefusal } = bound(policy('', '', { only: 'api.example,*.cdn.example' }));
    expect(refusal(at('api.example'))).toBeUndefined();
    expect(refusal(at('api.example.'))).toBeUndefined();
    expect(refusal(at('a.cdn.example'))).toBeUndefined();
    for (const host of ['other.example', 'x.api.example', 'cdn.example', 'api.example.evil.com', '8.8.8.8'])
      expect(refusal(at(host))).toMatch(/not on the operator's list/);
    expect(addressRefusal(at('api.example'), '8.8.8.8')).toBeUndefined();
    expect(addressRefusal(at('other.example'), '8.8.8.8')).toMatch(/not on the operator's list/);
  });

  test('with ranges decides by address, whatever the name', () => {
    const { refusal, addressRefusal } = bound(policy('', '', { only: '8.8.8.0/24:443' }));
    expect(refusal(at('any.example'))).toBeUndefined();
    expect(refusal(at('any.example', 80))).toMatch(/not on the operator's list/);
    expect(addressRefusal(at('any.example'), '8.8.8.8')).toBeUndefined();
    expect(addressRefusal(at('any.example'), '8.8.9.8')).toMatch(/not on the operator's list/);
  });

  test('allows nothing that is not public; the allow list does, and the deny list wins', () => {
    const { refusal, addressRefusal } = bound(
      policy('db.internal', 'bad.example', { only: '10.0.0.0/8,api.example,bad.example' }),
    );
    expect(addressRefusal(at('x'), '10.0.0.1')).toMatch(/not public/);
    expect(addressRefusal(at('api.example'), '127.0.0.1')).toMatch(/not public/);
    expect(addressRefusal(at('db.internal'), '192.168.0.1')).toBeUndefined();
    expect(refusal(at('bad.example'))).toMatch(/denies/);
  });
});

describe('the list of ports', () => {
  test('allows only these, unless an entry has another', () => {
    const { refusal, addressRefusal } = bound(policy('db.internal:8080', '', { ports: '80, 443' }));
    expect(refusal(at('example.com', 80))).toBeUndefined();
    expect(addressRefusal(at('example.com', 443), '8.8.8.8')).toBeUndefined();
    expect(refusal(at('example.com', 8443))).toBe('the operator does not allow port 8443 (--egress-ports)');
    expect(addressRefusal(at('example.com', 8443), '8.8.8.8')).toMatch(/does not allow port 8443/);
    expect(addressRefusal(at('db.internal', 8080), '10.0.0.1')).toBeUndefined();
    expect(refusal(at('other.example', 8080))).toMatch(/does not allow port/);
  });

  test('has ports and nothing else', () => {
    for (const ports of ['http', '0', '65536', '80-90', '1e2'])
      expect(EgressPolicy.parse({ ports }).problems).toEqual([
        `"${ports}" in --egress-ports is no port from 1 to 65535.`,
      ]);
  });
});

describe('an invalid entry', () => {
  test.each([
    ['10.0.0.0/33', 'no number of bits from 0 to 32'],
    ['10.0.0.0/x', 'no number of bits'],
    ['10.0.0.5/8', 'perhaps 10.0.0.0/8 is meant'],
    ['fd00::1/8', 'perhaps fd00::/8 is meant'],
    ['::ffff:10.0.0.1', 'better written as the IPv4 address 10.0.0.1'],
    ['api.internal:', 'no port from 1 to 65535'],
    ['api.internal:0', 'no port'],
    ['api.internal:70000', 'no port'],
    ['api.internal:http', 'no port'],
    ['127.1', 'neither a host, an address nor a range'],
    ['0x7f000001', 'neither a host'],
    ['http://api.internal', 'no port'],
    ['api internal', 'neither a host'],
    ['*', 'neither a host'],
    ['a.*.internal', 'neither a host'],
    ['[fd00::1', 'neither a host'],
    ['fe80::1%eth0', 'neither a host'],
  ])('is reported with its problem: %s', (entry, why) => {
    const { problems } = EgressPolicy.parse({ allow: `1.1.1.1,${entry}` });
    expect(problems).toEqual([expect.stringContaining(`"${entry}" in the allow list`)]);
    expect(problems[0]).toContain(why);
  });

  test('differs from a missing one', () => {
    expect(EgressPolicy.parse({ allow: ' , 1.1.1.1 ,', deny: '' }).problems).toEqual([]);
  });
});

describe('the settings', () => {
  test('are read from flags and variables, and problems are reported with all others', () => {
    const { egress } = readConfig(['--egress-allow', '10.0.0.0/8'], { ANNEX_EGRESS_DENY: '10.1.0.0/16' });
    expect(egress.addressRefusal(at('x'), '10.2.0.1')).toBeUndefined();
    expect(egress.addressRefusal(at('x'), '10.1.0.1')).toMatch(/denies/);
    const wrong = () => readConfig(['--egress-deny', '10.0.0.0/99', '--cells', '0'], {});
    expect(wrong).toThrow('"10.0.0.0/99" in the deny list');
    expect(wrong).toThrow('--cells must be');
  });

  test('can allow a few hosts and ports only, and require a list in every manifest', () => {
    const flags = ['--egress-only', 'api.example', '--egress-ports', '443', '--egress-manifest', 'required'];
    const { egress, egressManifest } = readConfig(flags, {});
    expect(egress.refusal(at('other.example'))).toMatch(/list/);
    expect(egress.refusal(at('api.example', 80))).toMatch(/port 80/);
    expect(egressManifest).toBe('required');
    expect(readConfig([], {}).egressManifest).toBe('optional');
    expect(() => readConfig(['--egress-manifest', 'maybe'], {})).toThrow('must be optional or required');
  });

  test('allow nothing that is not public by default', () => {
    const { egress } = readConfig([], {});
    expect(egress.addressRefusal(at('x'), '127.0.0.1')).toMatch(/not public/);
    expect(egress.addressRefusal(at('x'), '8.8.8.8')).toBeUndefined();
  });
});

const bound = (made: EgressPolicy) => ({
  refusal: made.refusal.bind(made),
  addressRefusal: made.addressRefusal.bind(made),
});
