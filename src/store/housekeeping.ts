/**
 * Housekeeping of an open store: timers that write buffered log lines and remove old rows.
 */
import type { Audit } from './audit.ts';
import type { DeliveryRetention } from './deliveries/delivery-retention.ts';
import type { LifecycleEvents } from './installations/lifecycle-events.ts';
import type { Logs } from './logs.ts';

/** How long a log line is buffered at most before it can be read. */
const LOG_PASS_MS = 250;
const PRUNE_EVERY_MS = 60_000;

export interface HousekeepingParts {
  readonly logs: Pick<Logs, 'pass' | 'sweep'>;
  readonly lifecycleEvents: Pick<LifecycleEvents, 'prune'>;
  readonly deliveryRetention: Pick<DeliveryRetention, 'prune' | 'stop'>;
  readonly audit: Pick<Audit, 'prune'>;
  /** Receives the error of a run that failed; the next run starts all the same. */
  onError(error: unknown): void;
}

export class Housekeeping {
  readonly #parts: HousekeepingParts;
  readonly #timers: readonly NodeJS.Timeout[];

  /** Starts the timers. */
  constructor(parts: HousekeepingParts) {
    this.#parts = parts;
    const { logs, onError } = parts;
    this.#timers = [
      setInterval(() => logs.pass().catch(onError), LOG_PASS_MS).unref(),
      setInterval(() => this.#prune(), PRUNE_EVERY_MS).unref(),
    ];
  }

  /** Stops the timers. No run starts afterwards. */
  stopTimers(): void {
    for (const timer of this.#timers) clearInterval(timer);
  }

  /** Writes the buffered log lines, and ends a running removal of deliveries. */
  async finish(): Promise<void> {
    const { logs, deliveryRetention, onError } = this.#parts;
    await logs.pass().catch(onError);
    await deliveryRetention.stop();
  }

  #prune(): void {
    const { lifecycleEvents, deliveryRetention, logs, audit, onError } = this.#parts;
    void lifecycleEvents.prune().catch(onError);
    void deliveryRetention.prune().catch(onError);
    void logs.sweep().catch(onError);
    void audit.prune().catch(onError);
  }
}
