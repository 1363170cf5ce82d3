/**
 * Whose request it is, for limits per address.
 *
 * `X-Forwarded-For` is what the client says, followed by what each proxy has seen. So it is read from the right, and only
 * for as long as whoever has written an entry is a proxy the operator trusts: otherwise anybody could take a new address for
 * each request, or somebody else's.
 */
import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import type { AddressList } from './address-list.ts';

/** `[::1]:80`, `[::1]` and `10.0.0.1:80`: some proxies write the port, too. */
const WITH_PORT = /^(?:\[([^\]]+)\](?::\d{1,5})?|([\d.]+):\d{1,5})$/;
const MAPPED = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;

/** @returns the address; undefined where the request did not come over the network */
export function clientAddress(
  { socket, headers }: Pick<IncomingMessage, 'socket' | 'headers'>,
  trusted: AddressList,
): string | undefined {
  const { remoteAddress } = socket;
  let address = remoteAddress === undefined ? undefined : plain(remoteAddress);
  if (address === undefined || !trusted.has(address)) return address;
  const forwarded = headers['x-forwarded-for'];
  const entries = (typeof forwarded === 'string' ? forwarded : '').split(',');
  for (let entry = entries.pop(); entry !== undefined; entry = entries.pop()) {
    const next = plain(entry.trim());
    // Of what makes no sense, nothing further to the left can be believed either.
    if (next === undefined) return address;
    address = next;
    if (!trusted.has(address)) return address;
  }
  return address;
}

/**
 * What is counted as one client. Of IPv6 it is the network: whoever has one address has the 2⁶⁴ around it, and would begin
 * anew with each.
 */
export function addressKey(address: string): string {
  if (!address.includes(':')) return address;
  const { parts } = ipaddr.IPv6.parse(address);
  return `${parts
    .slice(0, 4)
    .map((part) => part.toString(16))
    .join(':')}::/64`;
}

/** One notation: no port, no zone, IPv4 as IPv4. */
function plain(text: string): string | undefined {
  const [, v6, v4] = WITH_PORT.exec(text) ?? [];
  const [address = ''] = (v6 ?? v4 ?? text).split('%', 1);
  if (isIP(address) === 0) return undefined;
  return MAPPED.exec(address)?.[1] ?? address;
}
