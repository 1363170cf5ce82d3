/**
 * Lifecycle poll: finds installations with due events of which no node knows, where several
 * share the database.
 *
 * A node learns only of the events of its own commits, and of those that wait when it starts.
 * If it ends with events pending, the others find them here. The poll walks the waiting
 * installations page by page with a pause after each, so that a hundred thousand of them are no
 * load. It claims nothing and decides nothing: what it finds is added to the lifecycle worker.
 */
import type { LifecycleEvents } from '../../store/installations/lifecycle-events.ts';
import { withJitter } from '../delays.ts';

/** From the end of one walk to the next, without jitter. */
export const LIFECYCLE_POLL_MS = 5_000;
/** Installations looked at in one statement. */
const PAGE = 100;
/** Between two pages of a walk. */
const PAGE_PAUSE_MS = 100;

export interface LifecyclePollParts {
  readonly events: Pick<LifecycleEvents, 'dueInstallations'>;
  /** From 0 to 1. */
  readonly chance: () => number;
  /** Runs a function later. @returns a function that cancels it */
  readonly after: (ms: number, run: () => void) => () => void;
  /** Receives installations that have a due event. */
  found(installationIds: readonly string[]): void;
  /** Receives failures of the store. */
  onError(error: unknown): void;
}

export class LifecyclePoll {
  readonly #parts: LifecyclePollParts;
  #cancel: (() => void) | undefined;
  #page: Promise<void> | undefined;
  #isStopped = false;

  constructor(parts: LifecyclePollParts) {
    this.#parts = parts;
  }

  /** The first walk begins after an interval. */
  start(): void {
    this.#schedule(undefined);
  }

  /** @returns when no page is being read */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancel?.();
    await this.#page;
  }

  /** @param cursor of the next page; undefined for a new walk */
  #schedule(cursor: string | undefined): void {
    if (this.#isStopped) return;
    const { after, chance } = this.#parts;
    // With jitter, nodes that were started together do not all ask at once.
    const ms = cursor === undefined ? withJitter(LIFECYCLE_POLL_MS, chance()) : PAGE_PAUSE_MS;
    this.#cancel = after(ms, () => {
      this.#page = this.#read(cursor);
    });
  }

  /** Never rejects. */
  async #read(cursor: string | undefined): Promise<void> {
    const { events, found, onError } = this.#parts;
    let next: string | undefined;
    try {
      const page = await events.dueInstallations({ cursor, limit: PAGE });
      next = page.next;
      if (!this.#isStopped && page.items.length > 0) found(page.items);
    } catch (error) {
      onError(error);
    }
    this.#schedule(next);
  }
}
