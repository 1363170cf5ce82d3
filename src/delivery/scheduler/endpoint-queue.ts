/** A lane: what the scheduler knows of one endpoint for which something waits or is in flight. Holds, decides nothing. */
import type { WaitingDelivery } from '../../store/deliveries/delivery.ts';
import { Fifo } from './fifo.ts';
import type { Ticket } from './quotas.ts';

export interface EndpointQueue {
  readonly endpoint: string;
  readonly organization: string;
  readonly integration: string;
  readonly ids: Fifo<string>;
  /** Whether the store may have more that is due than `ids`. */
  more: boolean;
  /** Whether the store is being asked, and whether something came meanwhile that its answer may lack. */
  refilling: boolean;
  news: boolean;
  inFlight: number;
  /** Whether its endpoint has to show that it answers in time: until then it counts in the rooms of slow endpoints, too. */
  slow: boolean;
  /** When something more is due. */
  retryAt: number | undefined;
  /** When it comes up among those that rest: no later than that. */
  backsOffUntil: number | undefined;
  /** Whether it is in one of the queues. */
  queued: boolean;
  /** Where it stands aside. */
  blocked: Ticket | undefined;
  /** The room that has called it up, until its turn has come. */
  reserved: string | undefined;
  /** Whether a look was kept for it, until its turn has come. */
  mayRefill: boolean;
}

export const newEndpointQueue = (whose: Omit<WaitingDelivery, 'id'>, slow: boolean): EndpointQueue => ({
  endpoint: whose.endpoint,
  organization: whose.organization,
  integration: whose.integration,
  ids: new Fifo(),
  more: false,
  refilling: false,
  news: false,
  inFlight: 0,
  slow,
  retryAt: undefined,
  backsOffUntil: undefined,
  queued: false,
  blocked: undefined,
  reserved: undefined,
  mayRefill: false,
});

/** It has a single delivery, and nothing of it is in flight. */
export const isSparse = ({ ids, more, inFlight, slow }: EndpointQueue): boolean =>
  inFlight === 0 && !more && !slow && ids.length <= 1;
