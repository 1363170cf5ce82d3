/**
 * Housekeeping of an open store: timers that write buffered log lines, last uses of tokens and the
 * activity of the minute, and remove old rows. Old rows are removed by one node at a time.
 */
import type { GoesOn } from '../database/batches.ts';
import type { Engine } from '../database/engine.ts';
import type { Activity } from './activity.ts';
import type { Audit } from './audit.ts';
import type { DeliveryRetention } from './deliveries/delivery-retention.ts';
import type { LifecycleEvents } from './installations/lifecycle-events.ts';
import type { Logs } from './logs.ts';
import type { SpentSignatures } from './spent-signatures.ts';
import type { Storage } from './storage/storage.ts';
import type { Tokens } from './tokens.ts';

/** How long a log line is buffered at most before it can be read. */
const LOG_PASS_MS = 250;
const PRUNE_EVERY_MS = 60_000;

export interface HousekeepingDeps {
  readonly engine: Pick<Engine, 'unlessElsewhere'>;
  readonly logs: Pick<Logs, 'pass' | 'sweep' | 'stopFollowing'>;
  readonly lifecycleEvents: Pick<LifecycleEvents, 'prune'>;
  readonly deliveryRetention: Pick<DeliveryRetention, 'prune' | 'stop'>;
  readonly audit: Pick<Audit, 'prune'>;
  readonly spentSignatures: Pick<SpentSignatures, 'prune'> | undefined;
  readonly storage: Pick<Storage, 'prune'>;
  readonly activity: Pick<Activity, 'write' | 'finish' | 'prune'>;
  readonly tokens: Pick<Tokens, 'writeUses'>;
  /** Receives the error of a run that failed; the next run starts all the same. */
  onError(error: unknown): void;
}

export class Housekeeping {
  readonly #deps: HousekeepingDeps;
  readonly #timers: readonly NodeJS.Timeout[];
  #finished: Promise<void> | undefined;

  /** Starts the timers. */
  constructor(deps: HousekeepingDeps) {
    this.#deps = deps;
    const { logs, tokens, activity, onError } = deps;
    this.#timers = [
      setInterval(() => logs.pass().catch(onError), LOG_PASS_MS).unref(),
      setInterval(() => void this.#prune(), PRUNE_EVERY_MS).unref(),
      setInterval(() => tokens.writeUses().catch(onError), PRUNE_EVERY_MS).unref(),
      setInterval(() => activity.write().catch(onError), PRUNE_EVERY_MS).unref(),
    ];
  }

  /** Stops the timers. No run starts afterwards. */
  stopTimers(): void {
    for (const timer of this.#timers) clearInterval(timer);
    this.#deps.logs.stopFollowing();
  }

  /** Writes what is buffered, once, and ends a running removal of deliveries. */
  finish(): Promise<void> {
    this.#finished ??= this.#finish();
    return this.#finished;
  }

  async #finish(): Promise<void> {
    const { logs, tokens, activity, deliveryRetention, onError } = this.#deps;
    await logs.pass().catch(onError);
    await tokens.writeUses().catch(onError);
    await activity.finish().catch(onError);
    await deliveryRetention.stop();
  }

  /** Never rejects: a part that fails is run again in a minute, and the others run all the same. */
  async #prune(): Promise<void> {
    const { engine, lifecycleEvents, deliveryRetention, logs, audit, spentSignatures, storage } = this.#deps;
    const { activity, onError } = this.#deps;
    // On PostgreSQL a transaction is behind the work: what was removed meanwhile, its vacuum keeps.
    const removals = async (goesOn: GoesOn) => {
      await lifecycleEvents.prune().catch(onError);
      await deliveryRetention.prune(goesOn).catch(onError);
      await logs.sweep().catch(onError);
      await audit.prune(goesOn).catch(onError);
      await spentSignatures?.prune(goesOn).catch(onError);
      await storage.prune(goesOn).catch(onError);
      await activity.prune().catch(onError);
    };
    await engine.unlessElsewhere('housekeeping', removals).catch(onError);
  }
}
