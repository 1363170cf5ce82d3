/**
 * The client's address, for limits per address.
 *
 * `X-Forwarded-For` holds what the client sent, followed by what each proxy added. It is read from
 * the right, and only as far as the entries were written by proxies that the operator trusts.
 * Attack: a client that sends the header itself, to have a new address for each request or that of
 * another client.
 */
import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import type { AddressList } from '../../model/address-list.ts';

/** `[::1]:80`, `[::1]` and `10.0.0.1:80`: some proxies add the port. */
const WITH_PORT = /^(?:\[([^\]]+)\](?::\d{1,5})?|([\d.]+):\d{1,5})$/;
const MAPPED = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;

/** @returns the address; undefined if the request did not come over the network */
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
    // An entry that is no address ends the chain of trust: nothing to its left can be believed.
    if (next === undefined) return address;
    address = next;
    if (!trusted.has(address)) return address;
  }
  return address;
}

/**
 * The key by which one client is counted. For IPv6 it is the /64 network: a client with one address
 * has all 2⁶⁴ of them and could use a new one for each request.
 */
export function addressKey(address: string): string {
  if (!address.includes(':')) return address;
  const { parts } = ipaddr.IPv6.parse(address);
  return `${parts
    .slice(0, 4)
    .map((part) => part.toString(16))
    .join(':')}::/64`;
}

/** Normalizes: no port, no zone, IPv4 as IPv4. */
function plain(text: string): string | undefined {
  const [, v6, v4] = WITH_PORT.exec(text) ?? [];
  const [address = ''] = (v6 ?? v4 ?? text).split('%', 1);
  if (isIP(address) === 0) return undefined;
  return MAPPED.exec(address)?.[1] ?? address;
}
