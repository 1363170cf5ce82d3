/**
 * Keeps the leases of what takes long, and takes back those that nobody keeps (REFERENCE D31).
 *
 * A look three times in the time of a lease, at all that is under way at once: no delivery has a timer of its own. Once in that
 * time it asks for leases that are over. In a service that is well there are none; one of a claim that could not be put down
 * while the store failed is found here.
 */
import type { Limits } from '../limits.ts';
import type { Deliveries } from '../store/deliveries/deliveries.ts';
import type { WaitingDelivery } from '../store/deliveries/delivery.ts';
import type { DeliveryInFlight } from './in-flight.ts';

/** A renewal that fails is followed by another before the lease is over. */
const LOOKS_PER_LEASE = 3;

export interface LeasesParts {
  readonly deliveries: Pick<Deliveries, 'renew' | 'recover'>;
  readonly limits: Pick<Limits, 'deliveryLeaseMs'>;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  /** Runs something later. @returns what calls it off */
  readonly after: (ms: number, run: () => void) => () => void;
  /** Told of deliveries that can be claimed again. */
  recovered(made: readonly WaitingDelivery[]): void;
  /** Told when the store fails. */
  onError(error: unknown): void;
}

export class Leases {
  readonly #parts: LeasesParts;
  readonly #underWay = new Set<DeliveryInFlight>();
  #cancel: (() => void) | undefined;
  #looks = 0;

  constructor(parts: LeasesParts) {
    this.#parts = parts;
  }

  /** Begins to look. */
  start(): void {
    const { after, limits } = this.#parts;
    const everyMs = Math.ceil(limits.deliveryLeaseMs / LOOKS_PER_LEASE);
    this.#cancel = after(everyMs, () => {
      this.start();
      void this.#pass(everyMs).catch(this.#parts.onError);
    });
  }

  stop(): void {
    this.#cancel?.();
  }

  add(way: DeliveryInFlight): void {
    this.#underWay.add(way);
  }

  delete(way: DeliveryInFlight): void {
    this.#underWay.delete(way);
  }

  /** Those that are under way. */
  all(): DeliveryInFlight[] {
    return [...this.#underWay];
  }

  /** One look. @param longMs what takes no longer needs no renewal yet */
  async #pass(longMs: number): Promise<void> {
    const { deliveries, limits, clock, recovered } = this.#parts;
    const now = clock();
    // What was claimed later than now was claimed by a clock that was set back since.
    const long = this.all().filter(({ claimedAt }) => now - claimedAt >= longMs || claimedAt > now);
    if (long.length > 0) {
      const held = new Set(await deliveries.renew(long.map(({ claim }) => claim)));
      for (const way of long) {
        if (!held.has(way.claim.id)) continue;
        way.claimedAt = now;
        way.claimedUntil = now + limits.deliveryLeaseMs;
      }
    }
    this.#looks += 1;
    if (this.#looks % LOOKS_PER_LEASE === 0) recovered(await deliveries.recover({ all: false }));
  }
}
