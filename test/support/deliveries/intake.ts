/** Acceptance of events and orders over a store of a test, without a worker. */
import { randomBytes } from 'node:crypto';
import { type DeliveryIntake, openIntake } from '../../../src/host/delivery/open-delivery.ts';
import type { WaitingDelivery } from '../../../src/host/store/deliveries/delivery.ts';
import type { Store } from '../../../src/host/store/store.ts';
import { DEFAULT_LIMITS, type Limits } from '../../../src/limits.ts';
import { CLOCK } from '../store/temporary-store.ts';

export interface TestIntake extends DeliveryIntake {
  /** What a worker would have been given, in order. */
  readonly woken: WaitingDelivery[];
  /** What was reported to the operator. */
  readonly errors: unknown[];
}

const OPENED = new WeakMap<Store, TestIntake>();

/** The intake of a store; the same one at each call. */
export function intakeOf(store: Store): TestIntake {
  const opened = OPENED.get(store) ?? openTestIntake(store);
  OPENED.set(store, opened);
  return opened;
}

/** Another intake of a store, with these limits. */
export function openTestIntake(store: Store, limits: Partial<Limits> = {}): TestIntake {
  const woken: WaitingDelivery[] = [];
  const errors: unknown[] = [];
  const intake = openIntake({
    store,
    worker: { add: (made) => void woken.push(...made), addLater: (made) => void woken.push(made) },
    limits: { ...DEFAULT_LIMITS, ...limits },
    wallNow: () => CLOCK.now,
    randomBytes,
    onError: (error) => errors.push(error),
  });
  return { ...intake, woken, errors };
}
