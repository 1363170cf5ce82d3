/**
 * Whether an address is one of the machine's own.
 *
 * The operator may let integrations into the network that Annex stands in, and its control listener may answer there: metrics
 * and the API without a front. No list is meant to open that, so its port at these addresses is refused whatever they say.
 */
import { networkInterfaces } from 'node:os';
import { dialled, parseAddress } from './addresses.ts';

/** @param text in canonical notation, as sockets and resolvers give it */
export function isOfThisMachine(text: string): boolean {
  const parsed = parseAddress(text);
  if (parsed === undefined) return false;
  const address = dialled(parsed);
  // Unspecified, the kernel takes it for loopback.
  if (['loopback', 'unspecified'].includes(address.range())) return true;
  const own = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  return own.some((entry) => parseAddress(entry.address)?.toString() === address.toString());
}
