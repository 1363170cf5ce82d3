/**
 * Renews the leases of deliveries in flight, and takes back expired ones
 * (docs/contract/webhooks.md#crashes).
 *
 * One pass runs three times per lease for all deliveries in flight: none has a timer of its own.
 * Each third pass looks for expired leases, and each pass does where other nodes may die. A healthy
 * service has none; the claim of a delivery that could not be settled while the store failed is
 * found here.
 */
import type { Limits } from '../../limits.ts';
import type { WaitingDelivery } from '../store/deliveries/delivery.ts';
import type { DeliveryClaims } from '../store/deliveries/delivery-claims.ts';
import type { DeliveryInFlight } from './in-flight.ts';

/** A renewal that fails is followed by another before the lease expires. */
const PASSES_PER_LEASE = 3;
/**
 * After the database was away, expired leases are left alone for this long: the nodes that hold
 * them have first to renew them, or to write the outcomes that they could not.
 */
const RETURN_MS = 5_000;

export interface LeasesDeps {
  readonly claims: Pick<DeliveryClaims, 'renew' | 'recover'>;
  readonly limits: Pick<Limits, 'deliveryLeaseMs'>;
  /** Whether other nodes, which may die, use the same database. */
  readonly isShared: boolean;
  /** Milliseconds since 1970. */
  readonly wallNow: () => number;
  /** Runs a function later. @returns a function that cancels it */
  readonly after: (ms: number, run: () => void) => () => void;
  /** Receives deliveries that can be claimed again. */
  recovered(deliveries: readonly WaitingDelivery[]): void;
  /** Receives failures of the store. */
  onError(error: unknown): void;
}

export class Leases {
  readonly #deps: LeasesDeps;
  readonly #inFlight = new Set<DeliveryInFlight>();
  #cancel: (() => void) | undefined;
  #passes = 0;
  /** The last pass failed: others may hold leases that they could not renew, either. */
  #hasFailed = false;
  #isReturning = false;

  constructor(deps: LeasesDeps) {
    this.#deps = deps;
  }

  /** Starts the passes. */
  start(): void {
    const { after, limits } = this.#deps;
    const everyMs = Math.ceil(limits.deliveryLeaseMs / PASSES_PER_LEASE);
    this.#cancel = after(everyMs, () => {
      this.start();
      void this.#pass(everyMs).catch(this.#deps.onError);
    });
  }

  stop(): void {
    this.#cancel?.();
  }

  /** Renews all leases at once, and leaves those of other nodes alone for a while. */
  databaseIsBack(): void {
    const { after, onError } = this.#deps;
    this.#renew(0).catch(onError);
    if (this.#isReturning) return;
    this.#isReturning = true;
    after(RETURN_MS, () => (this.#isReturning = false));
  }

  add(delivery: DeliveryInFlight): void {
    this.#inFlight.add(delivery);
  }

  delete(delivery: DeliveryInFlight): void {
    this.#inFlight.delete(delivery);
  }

  /** The deliveries in flight. */
  all(): DeliveryInFlight[] {
    return [...this.#inFlight];
  }

  /** @param renewAfterMs a younger lease needs no renewal yet */
  async #pass(renewAfterMs: number): Promise<void> {
    const { claims, isShared, recovered } = this.#deps;
    const hasFailed = this.#hasFailed;
    this.#hasFailed = true;
    await this.#renew(renewAfterMs);
    this.#passes += 1;
    const isLeft = isShared && (hasFailed || this.#isReturning);
    if (!isLeft && (isShared || this.#passes % PASSES_PER_LEASE === 0))
      recovered(await claims.recover({ all: false }));
    this.#hasFailed = false;
  }

  async #renew(renewAfterMs: number): Promise<void> {
    const { claims, limits, wallNow } = this.#deps;
    const now = wallNow();
    // A claim of the future was made before the clock was set back.
    const old = this.all().filter(({ claimedAt }) => now - claimedAt >= renewAfterMs || claimedAt > now);
    if (old.length > 0) {
      const renewed = new Set(await claims.renew(old.map(({ claim }) => claim)));
      for (const delivery of old) {
        if (!renewed.has(delivery.claim.id)) continue;
        delivery.claimedAt = now;
        delivery.claimedUntil = now + limits.deliveryLeaseMs;
      }
    }
  }
}
