/**
 * Order of lifecycle events: installations with waiting events take turns, one event of each at a
 * time.
 *
 * Events of an installation are delivered in order: while a postponed event backs off, all behind
 * it wait, until it is due or the installation is woken. An installation with a thousand events
 * comes as often as one with a single event. Pure: holds ids, and callers pass the time.
 *
 * Attack: a publisher with a hundred installations whose handlers take all the time there is, so
 * that others get no event for minutes. Each owner has a number of seats; installations without a
 * seat wait for one, and delay only installations of the same owner.
 */

export class LifecycleOrder {
  readonly #busyMax: number;
  readonly #seatsMax: number;
  /** Installations in turn. */
  readonly #ready = new Set<string>();
  /** Installations with an event in flight; whether one was woken meanwhile. */
  readonly #busy = new Map<string, boolean>();
  /** Installations that back off, with the time of their retry. */
  readonly #retryAt = new Map<string, number>();
  /** Owner of the seat of each installation that has one; some of these are ready, not busy yet. */
  readonly #seats = new Map<string, string>();
  readonly #seatsTaken = new Map<string, number>();
  /** Installations that wait for a seat, by owner, in turn. */
  readonly #blocked = new Map<string, Set<string>>();
  readonly #allBlocked = new Set<string>();

  /**
   * @param busyMax most installations with an event in flight
   * @param seatsMax most of them with the same owner
   */
  constructor(busyMax: number, seatsMax = busyMax) {
    this.#busyMax = busyMax;
    this.#seatsMax = seatsMax;
  }

  /** Installations with an event in flight. */
  get busy(): number {
    return this.#busy.size;
  }

  /** Adds an installation that may have an event; ends its back-off. */
  add(installationId: string): void {
    if (this.#busy.has(installationId)) {
      this.#busy.set(installationId, true);
      return;
    }
    // It is ready when it gets its seat. If it were ready before, two of its events could be in
    // flight.
    if (this.#allBlocked.has(installationId)) return;
    // The event that it backs off for may have been canceled.
    this.#retryAt.delete(installationId);
    this.#ready.add(installationId);
  }

  /** The next installation; `done` or `backOff` follows. Undefined if none may start. */
  next(): string | undefined {
    if (this.#busy.size >= this.#busyMax) return undefined;
    const [next] = this.#ready;
    if (next === undefined) return undefined;
    this.#ready.delete(next);
    this.#busy.set(next, false);
    return next;
  }

  /**
   * Takes a seat for the next installation in turn.
   *
   * @returns whether it has one. If not, its turn ends, and comes again when its owner has a seat.
   */
  takeSeat(installationId: string, owner: string): boolean {
    if (this.#seats.get(installationId) === owner) return true;
    this.#leaveSeat(installationId);
    const taken = this.#seatsTaken.get(owner) ?? 0;
    if (taken < this.#seatsMax) {
      this.#seats.set(installationId, owner);
      this.#seatsTaken.set(owner, taken + 1);
      return true;
    }
    this.#busy.delete(installationId);
    const blocked = this.#blocked.get(owner) ?? new Set();
    this.#blocked.set(owner, blocked.add(installationId));
    this.#allBlocked.add(installationId);
    return false;
  }

  /** Ends a turn. @param more whether there may be another event, even if it was not woken */
  done(installationId: string, more: boolean): void {
    const isWoken = this.#endTurn(installationId);
    if (more || isWoken) this.#ready.add(installationId);
  }

  /** Ends a turn; the event is retried at `until`, or when the installation is woken. */
  backOff(installationId: string, until: number): void {
    const isWoken = this.#endTurn(installationId);
    if (isWoken) this.#ready.add(installationId);
    else this.#retryAt.set(installationId, until);
  }

  /** Ends the back-offs whose time has come. @returns the time of the next; undefined if none */
  wake(now: number): number | undefined {
    let next: number | undefined;
    for (const [installationId, until] of this.#retryAt) {
      if (until <= now) {
        this.#retryAt.delete(installationId);
        this.#ready.add(installationId);
      } else if (next === undefined || until < next) next = until;
    }
    return next;
  }

  /** @returns whether the installation was woken during its turn */
  #endTurn(installationId: string): boolean {
    const isWoken = this.#busy.get(installationId) === true;
    this.#busy.delete(installationId);
    this.#leaveSeat(installationId);
    return isWoken;
  }

  /** Passes a seat on to the next installation of the same owner. */
  #leaveSeat(installationId: string): void {
    const owner = this.#seats.get(installationId);
    if (owner === undefined) return;
    this.#seats.delete(installationId);
    const blocked = this.#blocked.get(owner);
    const [next] = blocked ?? [];
    if (next !== undefined) {
      blocked?.delete(next);
      this.#allBlocked.delete(next);
      if (blocked?.size === 0) this.#blocked.delete(owner);
      this.#seats.set(next, owner);
      this.#ready.add(next);
      return;
    }
    const taken = (this.#seatsTaken.get(owner) ?? 0) - 1;
    if (taken > 0) this.#seatsTaken.set(owner, taken);
    else this.#seatsTaken.delete(owner);
  }
}
