/**
 * Finds deliveries that are due and that no node works on: those of a node that died, or that has
 * more than it can start.
 *
 * Only for engines that are shared. The node that accepts an event delivers it, and other nodes do
 * not know of it; so each node walks through the endpoints with deliveries that have been due for a
 * moment, a page at a time with a pause between, however many there are. A claim decides which node
 * gets a delivery.
 *
 * An endpoint that a node works on is left to that node for a while: two nodes at one endpoint get
 * in each other's way, and its integration runs on both. A node that has much in flight asks the
 * others to help; those that have room do.
 */
import type { DeliveryQueue, DueEndpoint, WaitingEndpoint } from '../store/deliveries/delivery-queue.ts';
import { withJitter } from './delays.ts';
import { PAGE } from './worker-loop.ts';

/** Between two walks, and between two pages of one. */
const WALK_MS = 3_000;
const PAGE_MS = 50;
/** A delivery that is due for less is about to be claimed by the node that accepted it. */
const DUE_FOR_MS = 1_000;
/**
 * An endpoint that a node works on is left to it until a delivery is due for so long: that may be
 * one of a node that died, which no other node knows of. A node that is busy waits for longer:
 * the others will be as busy.
 */
const LATE_MS = 10_000;
const LATE_WHERE_BUSY_MS = 30_000;
/** Between two requests to the other nodes to help. */
const CALL_FOR_HELP_MS = 1_000;

export interface BacklogPollDeps {
  readonly queue: Pick<DeliveryQueue, 'dueEndpoints'>;
  /** Monotonic clock, in milliseconds. */
  readonly monotonicNow: () => number;
  /** Milliseconds since 1970. */
  readonly wallNow: () => number;
  /** Runs a function later. @returns a function that cancels it */
  readonly after: (ms: number, run: () => void) => () => void;
  /** From 0 to 1. */
  readonly random: () => number;
  /** Whether this node has places for deliveries of endpoints that another node works on. */
  hasRoom(): boolean;
  /** Receives endpoints with deliveries that are due and not claimed. */
  found(endpoints: readonly WaitingEndpoint[]): void;
  /** Asks the other nodes to look for due deliveries. Must not throw. */
  callForHelp(): void;
  /** Receives failures of the store. */
  onError(error: unknown): void;
}

export class BacklogPoll {
  readonly #deps: BacklogPollDeps;
  #cancel: (() => void) | undefined;
  #walking: Promise<void> | undefined;
  #isAsked = false;
  /** Whether the walk in progress is to help another node. */
  #isHelping = false;
  #calledForHelpAt = Number.NEGATIVE_INFINITY;
  #isStopped = false;

  constructor(deps: BacklogPollDeps) {
    this.#deps = deps;
  }

  /** Starts the walks, with one at once. */
  start(): void {
    this.#next(0);
  }

  /**
   * Looks for deliveries of a node that asks for help: at once, or after the walk in progress. Does
   * nothing if there is no room.
   */
  help(): void {
    if (!this.#deps.hasRoom()) return;
    this.#isAsked = true;
    if (this.#walking === undefined) this.#next(0);
  }

  /** Asks the other nodes to look now: this one has much in flight. */
  callForHelp(): void {
    const { monotonicNow, callForHelp } = this.#deps;
    if (monotonicNow() - this.#calledForHelpAt < CALL_FOR_HELP_MS) return;
    this.#calledForHelpAt = monotonicNow();
    callForHelp();
  }

  /** @returns once no walk is in progress */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancel?.();
    await this.#walking;
  }

  #next(ms: number): void {
    this.#cancel?.();
    if (this.#isStopped) return;
    const { after, random } = this.#deps;
    this.#cancel = after(withJitter(ms, random()), () => {
      this.#isHelping = this.#isAsked;
      this.#isAsked = false;
      this.#walking = this.#walk().finally(() => {
        this.#walking = undefined;
        this.#next(this.#isAsked ? 0 : WALK_MS);
      });
    });
  }

  /** Never rejects. */
  async #walk(): Promise<void> {
    const { queue, wallNow, found, onError } = this.#deps;
    let cursor: string | undefined;
    try {
      do {
        const { items, next } = await queue.dueEndpoints({ cursor, limit: PAGE }, wallNow() - DUE_FOR_MS);
        if (this.#isStopped) return;
        const left = items.filter((endpoint) => this.#isLeft(endpoint));
        if (left.length > 0) found(left);
        cursor = next;
        if (cursor !== undefined) await this.#pause();
      } while (cursor !== undefined && !this.#isStopped);
    } catch (error) {
      onError(error);
    }
  }

  #isLeft({ dueAt, isWorkedOn }: DueEndpoint): boolean {
    const { wallNow, hasRoom } = this.#deps;
    if (!isWorkedOn) return true;
    const hasPlaces = hasRoom();
    const lateMs = hasPlaces ? LATE_MS : LATE_WHERE_BUSY_MS;
    return (hasPlaces && this.#isHelping) || dueAt <= wallNow() - lateMs;
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => this.#deps.after(PAGE_MS, resolve));
  }
}

/**
 * The endpoints with deliveries that the last process left, for a node that starts alone.
 *
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
