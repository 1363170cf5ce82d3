/**
 * From the name of a host to its addresses. What comes back is not trusted: whoever dials checks every address.
 *
 * Names that tenants choose are asked of DNS servers, each query with its own time-out: the system's resolver would hold a
 * thread of the process for as long as a hostile name server likes, and two such names would hold up everybody's. Only names
 * that the operator vouches for go to the system's resolver, which knows the hosts file and the local network.
 */
import { Resolver, lookup as systemLookup } from 'node:dns/promises';
import type { LimitMet } from '../limits.ts';
import { limitClause, limitSentence } from '../model/limit-met.ts';
import { EgressError } from './egress-error.ts';

/** @returns the addresses of a host, at least one; rejects where it has none */
export type Lookup = (host: string) => Promise<readonly string[]>;

/**
 * For a name that nobody knows and for one that points to where nobody may go, because a tenant that can tell them apart
 * can list the names of the operator's own network.
 */
export const NO_ADDRESS = 'The name of the host has no address that may be reached from here.';

const QUERY_MS = 2_000;
const TRIES = 2;
/** More addresses than this are not tried: each costs a connection attempt. */
const ADDRESSES_MAX = 8;
/** Names that mean this machine whatever a name server says (RFC 6761, section 6.3). */
const LOCALHOST = /(^|\.)localhost\.?$/;
const LOOPBACK = ['127.0.0.1', '::1'];

/** @param vouchesFor whether the operator lists this name */
export function namesOf(
  vouchesFor: (host: string) => boolean,
  resolver = new Resolver({ timeout: QUERY_MS, tries: TRIES }),
): Lookup {
  return async (host) => {
    if (!vouchesFor(host)) return askServers(resolver, host);
    return (await systemLookup(host, { all: true })).map(({ address }) => address);
  };
}

/** The addresses that a name has whatever a name server says: those of this machine, where it means this machine. */
export const fixedAddressesOf = (host: string): readonly string[] | undefined =>
  LOCALHOST.test(host) ? LOOPBACK : undefined;

/** The addresses to try for a host, the first first; an answer that does not come is not waited for. */
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
  // Addresses of the other family may do where one query fails.
  const found = [v4, v6].flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
  if (found.length === 0 && v4.status === 'rejected') throw v4.reason;
  return found;
}
