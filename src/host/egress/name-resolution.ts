/**
 * Name resolution: the addresses of a host. They are not trusted; the connector checks each.
 *
 * Attack: a hostile name server that does not answer. The system's resolver would hold a thread of
 * the process as long as it likes, and two such names would block all look-ups. So DNS servers are
 * asked for the names of tenants, with a time-out per query. Only names on the operator's `allow`
 * list go to the system's resolver, which knows the hosts file and the local network.
 *
 * Attack: a hostile name server that answers with what no resolver can read. The queries of a
 * resolver share a socket, which is closed then, and all of them fail. So each look-up has a
 * resolver of its own.
 */
import { Resolver, lookup as systemLookup } from 'node:dns/promises';
import type { LimitMet } from '../../limits.ts';
import { limitClause, limitSentence } from '../../model/limit-met.ts';
import { EgressError } from './egress-error.ts';

/** @returns the addresses of a host, at least one; rejects if it has none */
export type Lookup = (host: string) => Promise<readonly string[]>;

/**
 * The same for an unknown name and for one with refused addresses.
 *
 * Attack: a tenant that can distinguish them lists the names of the operator's network.
 */
export const NO_ADDRESS = 'The name of the host has no address that may be reached from here.';

const QUERY_MS = 2_000;
const TRIES = 2;
/** More addresses than this are not tried: each costs a connection attempt. */
const ADDRESSES_MAX = 8;
/** Names that mean this machine whatever a name server says (RFC 6761, section 6.3). */
const LOCALHOST = /(^|\.)localhost\.?$/;
const LOOPBACK = ['127.0.0.1', '::1'];

/**
 * @param isAllowed whether the operator's `allow` list has this name
 * @param newResolver called for each look-up of another name
 */
export function dnsLookup(
  isAllowed: (host: string) => boolean,
  newResolver = () => new Resolver({ timeout: QUERY_MS, tries: TRIES }),
): Lookup {
  return async (host) => {
    if (!isAllowed(host)) return askServers(newResolver(), host);
    return (await systemLookup(host, { all: true })).map(({ address }) => address);
  };
}

/** The addresses of a name that means this machine, whatever a name server answers. */
export const fixedAddressesOf = (host: string): readonly string[] | undefined =>
  LOCALHOST.test(host) ? LOOPBACK : undefined;

/** The addresses to try for a host, in order. @throws EgressError if the limit is reached */
export async function addressesOf(host: string, lookup: Lookup, limit: LimitMet): Promise<readonly string[]> {
  const fixed = fixedAddressesOf(host);
  if (fixed !== undefined) return fixed;
  const { promise: tooLate, reject } = Promise.withResolvers<never>();
  const error = new EgressError(limitSentence(limit), {
    detail: `${host} was not resolved in time; ${limitClause(limit)}.`,
    result: 'timeout',
    limit,
  });
  const timer = setTimeout(() => reject(error), limit.max);
  try {
    return (await Promise.race([lookup(host), tooLate])).slice(0, ADDRESSES_MAX);
  } finally {
    clearTimeout(timer);
  }
}

async function askServers(resolver: Resolver, host: string): Promise<string[]> {
  const [v4, v6] = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
  // If one query fails, the addresses of the other family are enough.
  const found = [v4, v6].flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
  if (found.length === 0 && v4.status === 'rejected') throw v4.reason;
  return found;
}
