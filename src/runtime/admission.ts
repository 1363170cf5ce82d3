/**
 * How many calls run at once and how many may wait, of one installation and of all (REFERENCE section 8).
 *
 * Within an installation it is first come, first served. Between installations it is one each in turn: one that has many
 * waiting does not keep another from its first. The last quarter of all places is for installations that have nothing
 * running, so that a few which hold on to theirs cannot shut out everybody else. Every operation takes the same time, however
 * many wait. It knows no clock: who waits too long is for its caller to say.
 */
import type { Limits } from '../limits.ts';

/** Of all places, those that only an installation's first call may have. */
const SHARE_FOR_FIRST = 1 / 4;

export type CallLimits = Pick<Limits, 'callsInFlight' | 'callsWaiting'>;
export type InstallationLimits = Pick<Limits, 'callsInFlightPerInstallation' | 'callsWaitingPerInstallation'>;

/** Why a call is not admitted. */
export type Refusal =
  /** Too many calls of its installation wait. */
  | 'installation'
  /** Too many calls of all installations wait. */
  | 'all'
  /** Nobody is admitted any more. */
  | 'closed'
  /** It left the queue by itself. */
  | 'left';

/** A call that waits for a place. */
export class Waiting {
  /** The limit on calls that run, which it waits behind. */
  readonly behind: 'callsInFlight' | 'callsInFlightPerInstallation';
  readonly #leave: (waiting: Waiting) => void;
  readonly #settled = Promise.withResolvers<'admitted' | Refusal>();

  constructor(behind: Waiting['behind'], leave: (waiting: Waiting) => void) {
    this.behind = behind;
    this.#leave = leave;
  }

  /** With `admitted`, a place is in hand, which `Admission.leave` gives back. */
  get settled(): Promise<'admitted' | Refusal> {
    return this.#settled.promise;
  }

  /** Gives its place in the queue up; too late once it has settled. */
  leave(): void {
    this.#leave(this);
  }

  /** For `Admission` alone. */
  settle(how: 'admitted' | Refusal): void {
    this.#settled.resolve(how);
  }
}

/** The calls of one installation; forgotten when there are none. */
interface Queue {
  readonly installationId: string;
  /** What held when its last call came. */
  limits: InstallationLimits;
  running: number;
  readonly waiting: Set<Waiting>;
}

export class Admission {
  readonly #limits: CallLimits;
  /** How many may run before only first calls are admitted. */
  readonly #sharedMax: number;
  readonly #queues = new Map<string, Queue>();
  /** Those that wait and have nothing running, in turn. */
  readonly #idle = new Set<Queue>();
  /** Those that wait, have something running and may have more, in turn. */
  readonly #busy = new Set<Queue>();
  #running = 0;
  #waiting = 0;
  #closed = false;

  constructor(limits: CallLimits) {
    this.#limits = limits;
    this.#sharedMax = limits.callsInFlight - Math.floor(limits.callsInFlight * SHARE_FOR_FIRST);
  }

  /** Calls that wait, of all installations. */
  get waiting(): number {
    return this.#waiting;
  }

  /** @returns `admitted` with a place in hand, a place in the queue, or why there is neither */
  enter(installationId: string, limits: InstallationLimits): 'admitted' | Waiting | Refusal {
    if (this.#closed) return 'closed';
    let queue = this.#queues.get(installationId);
    if (queue === undefined) {
      queue = { installationId, limits, running: 0, waiting: new Set() };
      this.#queues.set(installationId, queue);
    }
    queue.limits = limits;
    if (!this.#hasRoom(queue)) return this.#wait(queue);
    queue.running += 1;
    this.#running += 1;
    return 'admitted';
  }

  /** Gives a place back: to the next call in turn. */
  leave(installationId: string): void {
    const queue = this.#queues.get(installationId);
    if (queue === undefined) return;
    queue.running -= 1;
    this.#running -= 1;
    this.#sort(queue);
    this.#admitNext();
  }

  /** Lets nobody in any more; those that wait are turned away. */
  close(): void {
    this.#closed = true;
    for (const queue of this.#queues.values()) {
      for (const waiting of queue.waiting) waiting.settle('closed');
      queue.waiting.clear();
    }
    this.#waiting = 0;
    this.#idle.clear();
    this.#busy.clear();
  }

  /** Nobody who waits could have had the place: whoever could is admitted as soon as there is one. */
  #hasRoom({ running, limits }: Queue): boolean {
    if (running >= limits.callsInFlightPerInstallation) return false;
    return this.#running < (running === 0 ? this.#limits.callsInFlight : this.#sharedMax);
  }

  #wait(queue: Queue): Waiting | Refusal {
    if (queue.waiting.size >= queue.limits.callsWaitingPerInstallation) return 'installation';
    if (this.#waiting >= this.#limits.callsWaiting) {
      this.#sort(queue);
      return 'all';
    }
    const isOwn = queue.running >= queue.limits.callsInFlightPerInstallation;
    const waiting = new Waiting(isOwn ? 'callsInFlightPerInstallation' : 'callsInFlight', (one) => {
      if (!queue.waiting.delete(one)) return;
      this.#waiting -= 1;
      this.#sort(queue);
      one.settle('left');
    });
    queue.waiting.add(waiting);
    this.#waiting += 1;
    this.#sort(queue);
    return waiting;
  }

  #admitNext(): void {
    for (;;) {
      const queue = this.#next();
      const [waiting] = queue?.waiting ?? [];
      if (queue === undefined || waiting === undefined) return;
      queue.waiting.delete(waiting);
      queue.running += 1;
      this.#waiting -= 1;
      this.#running += 1;
      // Behind the others that wait: one each, in turn.
      this.#idle.delete(queue);
      this.#busy.delete(queue);
      this.#sort(queue);
      waiting.settle('admitted');
    }
  }

  #next(): Queue | undefined {
    const from = this.#idle.size > 0 ? this.#idle : this.#busy;
    const [queue] = from;
    return queue && this.#hasRoom(queue) ? queue : undefined;
  }

  /** Puts an installation where it belongs. One that is there already keeps its turn. */
  #sort(queue: Queue): void {
    const { running, waiting, limits } = queue;
    const waits = waiting.size > 0;
    const isBusy = waits && running > 0 && running < limits.callsInFlightPerInstallation;
    if (waits && running === 0) this.#idle.add(queue);
    else this.#idle.delete(queue);
    if (isBusy) this.#busy.add(queue);
    else this.#busy.delete(queue);
    if (running === 0 && !waits) this.#queues.delete(queue.installationId);
  }
}
