/** The endpoints with deliveries that the last process left, for a node that starts alone. */
import type { DeliveryQueue, WaitingEndpoint } from '../store/deliveries/delivery-queue.ts';
import { PAGE } from './worker-loop.ts';

/**
 * Latest due first: a receiver that does not answer has had deliveries due for long.
 *
 * @param isRunning false ends the reading: the worker has been stopped
 */
export async function leftBacklog(
  queue: Pick<DeliveryQueue, 'waitingEndpoints'>,
  isRunning: () => boolean,
): Promise<readonly WaitingEndpoint[]> {
  const all: WaitingEndpoint[] = [];
  let cursor: string | undefined;
  do {
    const { items, next } = await queue.waitingEndpoints({ cursor, limit: PAGE });
    for (const item of items) all.push(item);
    cursor = next;
  } while (cursor !== undefined && isRunning());
  return all.sort((one, other) => other.dueAt - one.dueAt);
}
