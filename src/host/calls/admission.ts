/**
 * Admission: how many calls run at once and how many may wait, of one installation and of all
 * (docs/contract/limits.md#calls).
 *
 * Within an installation it is first come, first served. Between installations it is one each in
 * turn, so one with many waiting calls does not delay the first of another. The last quarter of all
 * places is for installations without a running call, so that a few which hold theirs for long
 * cannot shut out the others. Uploads, calls whose bodies are still being sent, have at most half
 * of the places, of an installation and of all: their senders decide how long they take. Every
 * operation takes constant time, except that the waiting uploads of one installation are searched.
 * No clock: the caller ends a wait.
 */
import { isFairPlace, type Limits } from '../../limits.ts';

/** Share of all places that only an installation's first call may have. */
const SHARE_FOR_FIRST = 1 / 4;

export type CallLimits = Pick<Limits, 'callsInFlight' | 'callsWaiting'>;
export type InstallationLimits = Pick<Limits, 'callsInFlightPerInstallation' | 'callsWaitingPerInstallation'>;

/** Why a call is not admitted. */
export type Refusal =
  /** Too many calls of its installation wait. */
  | 'installation'
  /** Too many calls of all installations wait. */
  | 'all'
  /** Too many uploads of all installations, or of its sender, are in flight. */
  | 'uploads'
  /** Too many uploads of its installation, or of its sender to it, wait. */
  | 'uploadsOfInstallation'
  /** No call is admitted any more. */
  | 'closed'
  /** Its caller ended the wait. */
  | 'left';

/** A call that waits for a place. */
export class Waiting {
  /** The limit that makes it wait. */
  readonly behind: 'callsInFlight' | 'callsInFlightPerInstallation';
  /** The lower one came first. */
  readonly order: number;
  /** Key of the sender of its body, where the body is still being sent. */
  readonly uploader: string | undefined;
  /** A call in flight waits for it. */
  readonly isNested: boolean;
  readonly #leave: (waiting: Waiting) => void;
  readonly #settled = Promise.withResolvers<'admitted' | Refusal>();

  constructor(
    { behind, order, uploader, isNested }: Pick<Waiting, 'behind' | 'order' | 'uploader' | 'isNested'>,
    leave: (waiting: Waiting) => void,
  ) {
    this.behind = behind;
    this.order = order;
    this.uploader = uploader;
    this.isNested = isNested;
    this.#leave = leave;
  }

  /** With `admitted`, the call holds a place, which `Admission.leave` gives back. */
  get settled(): Promise<'admitted' | Refusal> {
    return this.#settled.promise;
  }

  /** Leaves the queue; without effect once it has settled. */
  leave(): void {
    this.#leave(this);
  }

  /** For `Admission` alone. */
  settle(outcome: 'admitted' | Refusal): void {
    this.#settled.resolve(outcome);
  }
}

/** The calls of one installation; forgotten when there are none. */
interface Queue {
  readonly tenant: string;
  /** The limits of its last call. */
  limits: InstallationLimits;
  running: number;
  /** Calls whose bodies are complete or absent. */
  readonly waiting: Set<Waiting>;
  /** Made with the first upload. */
  uploads: Uploads | undefined;
}

/** The uploads of one installation. */
interface Uploads {
  readonly running: UploadShare;
  readonly waiting: Set<Waiting>;
  readonly places: UploadShare;
}

export class Admission {
  readonly #limits: CallLimits;
  /** How many may run before only first calls are admitted. */
  readonly #sharedMax: number;
  readonly #queues = new Map<string, Queue>();
  /** Installations with waiting calls and none running, in turn. */
  readonly #idle = new Set<Queue>();
  /** Installations with waiting calls and some running, which may have more, in turn. */
  readonly #busy = new Set<Queue>();
  /** Uploads of all installations, running or waiting. */
  readonly #uploads = new UploadShare();
  #running = 0;
  #waiting = 0;
  #arrived = 0;
  #closed = false;

  constructor(limits: CallLimits) {
    this.#limits = limits;
    this.#sharedMax = limits.callsInFlight - Math.floor(limits.callsInFlight * SHARE_FOR_FIRST);
  }

  /** Calls that wait, of all installations. */
  get waiting(): number {
    return this.#waiting;
  }

  /**
   * Asks for a place.
   *
   * @param uploader key of the sender of the body, where the body is still being sent
   * @param isNested whether a call in flight waits for this one
   * @returns `admitted`: the call holds a place; or its place in the queue; or why there is neither
   */
  enter(
    tenant: string,
    limits: InstallationLimits,
    uploader?: string,
    isNested = false,
  ): 'admitted' | Waiting | Refusal {
    if (this.#closed && !isNested) return 'closed';
    if (uploader !== undefined && !this.#uploads.hasRoom(this.#limits.callsInFlight, uploader))
      return 'uploads';
    let queue = this.#queues.get(tenant);
    if (queue === undefined) {
      queue = { tenant, limits, running: 0, waiting: new Set(), uploads: undefined };
      this.#queues.set(tenant, queue);
    }
    queue.limits = limits;
    if (!this.#hasRoom(queue) || !hasUploadRoom(queue, uploader))
      return this.#wait(queue, uploader, isNested);
    if (uploader !== undefined) this.#uploads.take(uploader);
    this.#run(queue, uploader);
    return 'admitted';
  }

  /**
   * Gives a place back, to the next call in turn.
   *
   * @param uploader as given to `enter`; absent where `uploaded` was called since
   */
  leave(tenant: string, uploader?: string): void {
    const queue = this.#queues.get(tenant);
    if (queue === undefined) return;
    if (uploader !== undefined) this.#endUpload(queue, uploader);
    queue.running -= 1;
    this.#running -= 1;
    this.#sort(queue);
    this.#admitNext();
  }

  /** The body of a running call is complete: its place no longer counts as an upload's. */
  uploaded(tenant: string, uploader: string): void {
    const queue = this.#queues.get(tenant);
    if (queue === undefined) return;
    this.#endUpload(queue, uploader);
    this.#sort(queue);
    this.#admitNext();
  }

  /**
   * Admits no further calls, and refuses those that wait, except the nested ones: calls in flight
   * are served to their end.
   */
  close(): void {
    this.#closed = true;
    for (const queue of this.#queues.values()) {
      for (const waiting of allWaiting(queue)) {
        if (waiting.isNested || !this.#unqueue(queue, waiting)) continue;
        if (waiting.uploader !== undefined) this.#uploads.giveBack(waiting.uploader);
        waiting.settle('closed');
      }
      this.#sort(queue);
    }
  }

  /**
   * A free place passes over no waiting call: one that could have it is admitted as soon as it is
   * free.
   */
  #hasRoom({ running, limits }: Queue): boolean {
    if (running >= limits.callsInFlightPerInstallation) return false;
    return this.#running < (running === 0 ? this.#limits.callsInFlight : this.#sharedMax);
  }

  #run(queue: Queue, uploader: string | undefined): void {
    queue.running += 1;
    this.#running += 1;
    if (uploader !== undefined) uploadsOf(queue).running.take(uploader);
  }

  #endUpload(queue: Queue, uploader: string): void {
    queue.uploads?.running.giveBack(uploader);
    this.#uploads.giveBack(uploader);
  }

  #wait(queue: Queue, uploader: string | undefined, isNested: boolean): Waiting | Refusal {
    const { callsInFlightPerInstallation } = queue.limits;
    const waitingUploads = queue.uploads?.waiting.size ?? 0;
    const refusal = this.#fullQueue(queue, waitingUploads, uploader);
    if (refusal !== undefined) {
      this.#sort(queue);
      return refusal;
    }
    const isOwn = queue.running >= callsInFlightPerInstallation || !hasUploadRoom(queue, uploader);
    const behind = isOwn ? 'callsInFlightPerInstallation' : 'callsInFlight';
    const waiting = new Waiting({ behind, order: this.#arrived++, uploader, isNested }, (one) => {
      if (!this.#unqueue(queue, one)) return;
      if (uploader !== undefined) this.#uploads.giveBack(uploader);
      this.#sort(queue);
      one.settle('left');
    });
    if (uploader === undefined) queue.waiting.add(waiting);
    else {
      this.#uploads.take(uploader);
      uploadsOf(queue).places.take(uploader);
      uploadsOf(queue).waiting.add(waiting);
    }
    this.#waiting += 1;
    this.#sort(queue);
    return waiting;
  }

  /** @returns why the call cannot wait; undefined where it can */
  #fullQueue(queue: Queue, waitingUploads: number, uploader: string | undefined): Refusal | undefined {
    const { callsWaitingPerInstallation } = queue.limits;
    if (queue.waiting.size + waitingUploads >= callsWaitingPerInstallation) return 'installation';
    if (uploader !== undefined && !uploadsOf(queue).places.hasRoom(callsWaitingPerInstallation, uploader))
      return 'uploadsOfInstallation';
    return this.#waiting >= this.#limits.callsWaiting ? 'all' : undefined;
  }

  /** Takes a call out of the queue. @returns false where it was not in it */
  #unqueue(queue: Queue, waiting: Waiting): boolean {
    const { uploader } = waiting;
    const found =
      uploader === undefined ? queue.waiting.delete(waiting) : queue.uploads?.waiting.delete(waiting);
    if (found !== true) return false;
    if (uploader !== undefined) queue.uploads?.places.giveBack(uploader);
    this.#waiting -= 1;
    return true;
  }

  #admitNext(): void {
    for (;;) {
      const queue = this.#next();
      const waiting = queue && firstOf(queue);
      if (queue === undefined || waiting === undefined) return;
      this.#unqueue(queue, waiting);
      this.#run(queue, waiting.uploader);
      // To the end of the turn: one call each.
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

  /**
   * Puts an installation into the set where it belongs. One that is in it already keeps its turn.
   */
  #sort(queue: Queue): void {
    const { running, limits } = queue;
    const waits = queue.waiting.size > 0 || (queue.uploads !== undefined && firstOf(queue) !== undefined);
    const isBusy = waits && running > 0 && running < limits.callsInFlightPerInstallation;
    if (waits && running === 0) this.#idle.add(queue);
    else this.#idle.delete(queue);
    if (isBusy) this.#busy.add(queue);
    else this.#busy.delete(queue);
    const isEmpty = running === 0 && queue.waiting.size === 0 && !queue.uploads?.waiting.size;
    if (isEmpty) this.#queues.delete(queue.tenant);
  }
}

function uploadsOf(queue: Queue): Uploads {
  queue.uploads ??= { running: new UploadShare(), waiting: new Set(), places: new UploadShare() };
  return queue.uploads;
}

/**
 * Whether there is room for this call among the uploads of its installation; true where it is no
 * upload.
 */
function hasUploadRoom({ uploads, limits }: Queue, uploader: string | undefined): boolean {
  if (uploader === undefined || uploads === undefined) return true;
  return uploads.running.hasRoom(limits.callsInFlightPerInstallation, uploader);
}

/** The next call of an installation: the first to come of those that may run. */
function firstOf(queue: Queue): Waiting | undefined {
  const [call] = queue.waiting;
  if (!queue.uploads?.waiting.size) return call;
  for (const upload of queue.uploads.waiting) {
    if (call !== undefined && call.order < upload.order) return call;
    if (hasUploadRoom(queue, upload.uploader)) return upload;
  }
  return call;
}

const allWaiting = ({ waiting, uploads }: Queue): Waiting[] => [...waiting, ...(uploads?.waiting ?? [])];

/** Share of the places that uploads may have. */
const UPLOAD_SHARE = 1 / 2;

/**
 * The share of places that uploads may have: calls whose bodies are still being sent.
 *
 * Attack: a stranger sends bodies to one endpoint so slowly that each call runs until its time is
 * over, and holds all places of the installation. So uploads have half of the places, and one
 * sender no more than it leaves free of that half. This file only counts; `admission.ts` gives
 * places.
 */
class UploadShare {
  readonly #bySender = new Map<string, number>();
  #taken = 0;

  /**
   * @param places of which this is a share @returns whether there is room for one more upload of
   * the sender
   */
  hasRoom(places: number, sender: string): boolean {
    const left = Math.max(1, Math.floor(places * UPLOAD_SHARE)) - this.#taken - 1;
    return isFairPlace(this.#bySender.get(sender) ?? 0, left);
  }

  take(sender: string): void {
    this.#taken += 1;
    this.#bySender.set(sender, (this.#bySender.get(sender) ?? 0) + 1);
  }

  giveBack(sender: string): void {
    const own = (this.#bySender.get(sender) ?? 1) - 1;
    this.#taken -= 1;
    if (own === 0) this.#bySender.delete(sender);
    else this.#bySender.set(sender, own);
  }
}
