/**
 * Whether an address is one of this machine.
 *
 * The operator may open the network of Annex to integrations, and the listeners of the service are
 * reachable there: the control listener with metrics and the API, the public one with endpoints.
 * Their ports at these addresses are refused, whatever the lists have.
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
