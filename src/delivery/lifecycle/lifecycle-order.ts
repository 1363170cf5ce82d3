/**
 * Whose turn it is: installations with events that wait, one event of each at a time, and each in turn.
 *
 * An installation whose event was postponed rests until that is due, or until there is news of it, and with it everything
 * behind, because events are told in their order. One with a thousand events comes as often as one with a single event.
 *
 * The attack: a publisher whose handlers take all the time there is, in a hundred installations, so that nobody else hears
 * of anything for minutes. So installations have an owner, and of each owner's only so many have a seat; the others wait
 * for one, and keep nobody waiting. Pure: it knows no clock and holds nothing but ids.
 */

export class LifecycleOrder {
  readonly #busyMax: number;
  /** In turn. */
  readonly #ready = new Set<string>();
  /** Whether there was news of it meanwhile. */
  readonly #busy = new Map<string, boolean>();
  /** Until when. */
  readonly #resting = new Map<string, number>();
  /** Whose seat an installation has; some of them are ready, not busy yet. */
  readonly #seats = new Map<string, string>();
  readonly #seatsTaken = new Map<string, number>();
  /** Waiting for a seat, by owner, in turn. */
  readonly #standing = new Map<string, Set<string>>();
  readonly #allStanding = new Set<string>();
  readonly #seatsMax: number;

  /**
   * @param busyMax of how many installations an event may be under way at once
   * @param seatsMax of how many of one owner's
   */
  constructor(busyMax: number, seatsMax = busyMax) {
    this.#busyMax = busyMax;
    this.#seatsMax = seatsMax;
  }

  /** Installations of which an event is under way. */
  get busy(): number {
    return this.#busy.size;
  }

  /** There may be an event of this installation. */
  tell(installationId: string): void {
    if (this.#busy.has(installationId)) {
      this.#busy.set(installationId, true);
      return;
    }
    // It is looked at when it gets its seat. Were it ready, too, two of its events could be under way at once.
    if (this.#allStanding.has(installationId)) return;
    // What it rests for may have been canceled.
    this.#resting.delete(installationId);
    this.#ready.add(installationId);
  }

  /** Whose turn it is; to be followed by `done` or `rest`. Undefined where nobody may be next. */
  next(): string | undefined {
    if (this.#busy.size >= this.#busyMax) return undefined;
    const [next] = this.#ready;
    if (next === undefined) return undefined;
    this.#ready.delete(next);
    this.#busy.set(next, false);
    return next;
  }

  /**
   * Asks for a seat for one whose turn it is.
   *
   * @returns whether it may go on. Where it may not, its turn is over, and comes again when a seat of its owner's is free.
   */
  sit(installationId: string, owner: string): boolean {
    if (this.#seats.get(installationId) === owner) return true;
    this.#stand(installationId);
    const taken = this.#seatsTaken.get(owner) ?? 0;
    if (taken < this.#seatsMax) {
      this.#seats.set(installationId, owner);
      this.#seatsTaken.set(owner, taken + 1);
      return true;
    }
    this.#busy.delete(installationId);
    const standing = this.#standing.get(owner) ?? new Set();
    this.#standing.set(owner, standing.add(installationId));
    this.#allStanding.add(installationId);
    return false;
  }

  /** Its event is over. @param more whether to look for the next one, where nothing new was heard of */
  done(installationId: string, more: boolean): void {
    const news = this.#busy.get(installationId) === true;
    this.#busy.delete(installationId);
    this.#stand(installationId);
    if (more || news) this.#ready.add(installationId);
  }

  /** Its event is to be tried again, at `until` and no earlier, unless there is news. */
  rest(installationId: string, until: number): void {
    const news = this.#busy.get(installationId) === true;
    this.#busy.delete(installationId);
    this.#stand(installationId);
    if (news) this.#ready.add(installationId);
    else this.#resting.set(installationId, until);
  }

  /** Ends the rest of those that have rested long enough. @returns when the next one has; undefined where none rests */
  wake(now: number): number | undefined {
    let next: number | undefined;
    for (const [installationId, until] of this.#resting) {
      if (until <= now) {
        this.#resting.delete(installationId);
        this.#ready.add(installationId);
      } else if (next === undefined || until < next) next = until;
    }
    return next;
  }

  /** Gives a seat up, to the next of the same owner's. */
  #stand(installationId: string): void {
    const owner = this.#seats.get(installationId);
    if (owner === undefined) return;
    this.#seats.delete(installationId);
    const standing = this.#standing.get(owner);
    const [next] = standing ?? [];
    if (next !== undefined) {
      standing?.delete(next);
      this.#allStanding.delete(next);
      if (standing?.size === 0) this.#standing.delete(owner);
      this.#seats.set(next, owner);
      this.#ready.add(next);
      return;
    }
    const taken = (this.#seatsTaken.get(owner) ?? 0) - 1;
    if (taken > 0) this.#seatsTaken.set(owner, taken);
    else this.#seatsTaken.delete(owner);
  }
}
