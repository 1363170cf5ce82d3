/**
 * Public and reserved IP addresses. Pure: an address in, the reason of a refusal out.
 *
 * Tenants may reach the public internet. Any other address may be the cloud's metadata service, the
 * operator's database or the control listener of Annex. The tables follow the IANA special-purpose
 * registries for IPv4 and IPv6. Of IPv6, only 2000::/3 is global unicast. A form that carries an
 * IPv4 address counts as that address, because the packets go there.
 */
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

export type Address = ipaddr.IPv4 | ipaddr.IPv6;
export type AddressRange = readonly [Address, number];

const RESERVED_V4: readonly (readonly [range: string, what: string])[] = [
  ['0.0.0.0/8', 'this network'],
  ['10.0.0.0/8', 'private'],
  ['100.64.0.0/10', 'shared by a carrier'],
  ['127.0.0.0/8', 'loopback'],
  ['168.63.129.16/32', "Azure's host"],
  ['169.254.0.0/16', 'link-local'],
  ['172.16.0.0/12', 'private'],
  ['192.0.0.0/24', 'protocol assignments'],
  ['192.0.2.0/24', 'documentation'],
  ['192.88.99.0/24', '6to4 relays'],
  ['192.168.0.0/16', 'private'],
  ['198.18.0.0/15', 'benchmarks'],
  ['198.51.100.0/24', 'documentation'],
  ['203.0.113.0/24', 'documentation'],
  ['224.0.0.0/4', 'multicast'],
  ['240.0.0.0/4', 'reserved'],
];

/** Reserved ranges of 2000::/3; everything outside 2000::/3 is refused without a row. */
const RESERVED_V6: readonly (readonly [range: string, what: string])[] = [
  ['2001::/23', 'protocol assignments, Teredo'],
  ['2001:db8::/32', 'documentation'],
  ['3fff::/20', 'documentation'],
];

const parsed = (table: typeof RESERVED_V4) =>
  table.map(([range, what]) => ({ range: ipaddr.parseCIDR(range), why: `${what} (${range})` }));
const V4 = parsed(RESERVED_V4);
const V6 = parsed(RESERVED_V6);

const GLOBAL_UNICAST = ipaddr.parseCIDR('2000::/3');
const MAPPED = ipaddr.parseCIDR('::ffff:0:0/96');
const NAT64 = ipaddr.parseCIDR('64:ff9b::/96');
const SIX_TO_FOUR = ipaddr.parseCIDR('2002::/16');
/** Offset of the IPv4 address in an IPv6 address that carries one. */
const CARRIERS: readonly (readonly [AddressRange, number, string])[] = [
  [MAPPED, 12, 'IPv4-mapped'],
  [NAT64, 12, 'NAT64'],
  [SIX_TO_FOUR, 2, '6to4'],
];

/**
 * Parses an address in canonical notation, as resolvers and sockets return it. Zone ids, which name
 * an interface of this machine, and the ambiguous short and octal forms of IPv4 are no addresses
 * here.
 */
export function parseAddress(text: string): Address | undefined {
  const family = isIP(text);
  if (family === 0 || text.includes('%')) return undefined;
  if (family === 4) return ipaddr.parse(text);
  // ipaddr.js reads `::1.2.3.4` as IPv4-mapped, the kernel does not: it is given hexadecimal only.
  return ipaddr.parse(new URL(`http://[${text}]`).hostname.slice(1, -1));
}

/** Whether the address lies in the range; false for another family. */
export const isWithin = (address: Address, [base, bits]: AddressRange): boolean =>
  address.kind() === base.kind() && address.match(base, bits);

/** The IPv4 address that an IPv6 address carries, and in which form. */
export function carriedIPv4(address: Address): { address: ipaddr.IPv4; form: string } | undefined {
  for (const [range, at, form] of CARRIERS) {
    if (isWithin(address, range))
      return { address: new ipaddr.IPv4(address.toByteArray().slice(at, at + 4)), form };
  }
  return undefined;
}

/** The address that packets are sent to: the IPv4 address of an IPv4-mapped one. */
export function dialled(address: Address): Address {
  return isWithin(address, MAPPED) ? (carriedIPv4(address)?.address ?? address) : address;
}

/** @returns why the address is not public; undefined if it is */
export function reasonNotPublic(address: Address): string | undefined {
  if (address.kind() === 'ipv4') return V4.find(({ range }) => isWithin(address, range))?.why;
  const carried = carriedIPv4(address);
  if (carried !== undefined) {
    const why = reasonNotPublic(carried.address);
    return why && `${why}, as ${carried.form}`;
  }
  if (!isWithin(address, GLOBAL_UNICAST)) return 'not global unicast (2000::/3)';
  return V6.find(({ range }) => isWithin(address, range))?.why;
}
