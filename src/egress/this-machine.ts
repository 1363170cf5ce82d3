/**
 * Whether an address is one of this machine.
 *
 * The operator may open the network of Annex to integrations, and the control listener may be
 * reachable there, with metrics and the API. Its port at these addresses is refused, whatever the
 * lists have.
 */
import { networkInterfaces } from 'node:os';
import { dialled, parseAddress } from './addresses.ts';

/** @param text an address in canonical notation, as sockets and resolvers return it */
export function isOfThisMachine(text: string): boolean {
  const parsed = parseAddress(text);
  if (parsed === undefined) return false;
  const address = dialled(parsed);
  // The kernel takes the unspecified address for loopback.
  if (['loopback', 'unspecified'].includes(address.range())) return true;
  const own = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  return own.some((entry) => parseAddress(entry.address)?.toString() === address.toString());
}
