/** A lane: what the scheduler knows of one endpoint for which something waits or is in flight. Holds, decides nothing. */
import type { WaitingDelivery } from '../../store/deliveries/delivery.ts';
import { Fifo } from './fifo.ts';
import type { Ticket } from './quotas.ts';

export interface Lane {
  readonly endpoint: string;
  readonly organization: string;
  readonly integration: string;
  readonly ids: Fifo<string>;
  /** Whether the store may have more that is due than `ids`. */
  more: boolean;
  /** Whether the store is being asked, and whether something came meanwhile that its answer may lack. */
  looking: boolean;
  news: boolean;
  inFlight: number;
  /** Whether its endpoint has to show that it answers in time: until then it counts in the rooms of slow endpoints, too. */
  slow: boolean;
  /** When something more is due. */
  wakeAt: number | undefined;
  /** When it comes up among those that rest: no later than that. */
  restsAt: number | undefined;
  /** Whether it is in one of the queues. */
  queued: boolean;
  /** Where it stands aside. */
  standing: Ticket | undefined;
  /** The room that has called it up, until its turn has come. */
  promised: string | undefined;
  /** Whether a look was kept for it, until its turn has come. */
  mayLook: boolean;
}

export const newLane = (whose: Omit<WaitingDelivery, 'id'>, slow: boolean): Lane => ({
  endpoint: whose.endpoint,
  organization: whose.organization,
  integration: whose.integration,
  ids: new Fifo(),
  more: false,
  looking: false,
  news: false,
  inFlight: 0,
  slow,
  wakeAt: undefined,
  restsAt: undefined,
  queued: false,
  standing: undefined,
  promised: undefined,
  mayLook: false,
});

/** It has a single delivery, and nothing of it is in flight. */
export const isSparse = ({ ids, more, inFlight, slow }: Lane): boolean =>
  inFlight === 0 && !more && !slow && ids.length <= 1;
