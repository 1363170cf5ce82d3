/**
 * `setTimeout`, `setInterval` and their `clear…` (HTML, section 8.6). The clock is the cell's: a timer is a message out
 * and an entry back. A timer belongs to the call that set it and ends with it. The cell hears of a timer some microtasks
 * late, so that one that is cleared meanwhile costs nothing: most that are cleared guard a promise that is settled soon.
 *
 * A handler that is no function is refused: the standard would compile its text, and no text is compiled for a timer here.
 */
import type { Emit } from '../src/protocol/bridge.ts';
import type { Call, Calls, Timer } from './call.ts';
import { reportException } from './web/events/uncaught.ts';
import {
  apply,
  MapIntrinsic,
  mapDelete,
  mapForEach,
  mapGet,
  mapSet,
  mapSize,
  now,
} from './web/primordials.ts';
import type { TimerSource } from './web/time/timer-source.ts';

/** From this depth of timers that set timers on, none comes due at once ("timer initialization steps"). */
const NESTING_FREE = 5;
const NESTED_DELAY_MS_MIN = 4;
/** An id is a `long`. */
const ID_MAX = 2 ** 31 - 1;
/** The cell is told of timers once so many turns of the microtask queue have set none. */
const MICROTASKS_APART_MAX = 16;

type SetTimer = (handler: unknown, timeout?: unknown, ...parameters: unknown[]) => number;
type ClearTimer = (id?: unknown) => void;

export interface Timers {
  /** Runs a timer that the cell says is due. */
  fire(call: number, timer: number): void;
  /** Timers of our own, which no script can clear. */
  readonly later: TimerSource;
  readonly globals: {
    setTimeout: SetTimer;
    setInterval: SetTimer;
    clearTimeout: ClearTimer;
    clearInterval: ClearTimer;
  };
}

/** A timer that the cell has not been told of. */
interface Untold {
  readonly call: Call;
  readonly delayMs: number;
  readonly setAt: number;
}

/** Tells the cell of timers, but for those that have been cleared by then. */
class Announcer {
  readonly #calls: Calls;
  readonly #emit: Emit;
  /** By id, in the order in which they were set. */
  #untold = new MapIntrinsic<number, Untold>();
  /** Turns of the microtask queue that are still waited for; 0 while none is. */
  #patience = 0;

  constructor(calls: Calls, emit: Emit) {
    this.#calls = calls;
    this.#emit = emit;
  }

  /** @throws RangeError where this entry has set too many already */
  add(call: Call, id: number, delayMs: number): void {
    // Attack: a loop of timers that the cell hears of. What is cleared before that is taken off again.
    if (!this.#calls.operate()) throw new RangeError('Too many timers were set and cleared in a row.');
    mapSet(this.#untold, id, { call, delayMs, setAt: now() });
    const isWaiting = this.#patience > 0;
    this.#patience = MICROTASKS_APART_MAX;
    if (!isWaiting) void this.#tellSoon();
  }

  /** Forgets a timer that is cleared. */
  remove(call: Call, id: number): void {
    // The timers that the cell knows are bounded, and so are these messages.
    if (!mapDelete(this.#untold, id)) this.#emit('clear-timer', call.id, id);
    else this.#calls.operate(-1);
  }

  /** `await` of a primitive looks nothing up that a tenant could have replaced. */
  async #tellSoon(): Promise<void> {
    while (this.#patience > 0) {
      this.#patience -= 1;
      await undefined;
    }
    const untold = this.#untold;
    this.#untold = new MapIntrinsic();
    const at = now();
    mapForEach(untold, ({ call, delayMs, setAt }, id) => {
      if (this.#calls.get(call.id) === call) this.#emit('timer', call.id, id, restMs(delayMs, at - setAt));
    });
  }
}

export function createTimers(calls: Calls, emit: Emit): Timers {
  const announcer = new Announcer(calls, emit);
  let nextId = 1;
  let nesting = 0;

  function set(timer: Timer, delayMs: number): number {
    const call = calls.running();
    const id = nextId;
    nextId = id < ID_MAX ? id + 1 : 1;
    // Code that a call left behind may still set timers; they never run.
    if (call === undefined) return id;
    // A flood of timers would queue up outside the isolate's heap.
    call.timers ??= new MapIntrinsic();
    const pending = call.timers;
    const { timersPerCall } = calls.settings;
    if (mapSize(pending) >= timersPerCall) {
      calls.meet(call, 'timersPerCall');
      throw new RangeError(
        `Too many timers are pending in this call; the limit is ${timersPerCall} (timersPerCall).`,
      );
    }
    announcer.add(call, id, timer.clearable ? effectiveMs(delayMs, timer.nesting) : delayMs);
    mapSet(pending, id, timer);
    return id;
  }

  function setForScript(
    callback: unknown,
    timeout: unknown,
    parameters: readonly unknown[],
    repeats: boolean,
  ): number {
    if (typeof callback !== 'function') throw new TypeError('A timer needs a function to call.');
    const delayMs = toLong(timeout);
    const everyMs = repeats ? delayMs : undefined;
    return set({ callback, parameters, everyMs, nesting, clearable: true }, delayMs);
  }

  function clear(timer: unknown): void {
    const id = toLong(timer);
    const call = calls.running();
    const pending = call?.timers;
    if (call === undefined || pending === undefined || !mapGet(pending, id)?.clearable) return;
    mapDelete(pending, id);
    announcer.remove(call, id);
  }

  return {
    fire(callId, id) {
      const pending = calls.get(callId)?.timers;
      const timer = pending && mapGet(pending, id);
      if (pending === undefined || timer === undefined) return;
      nesting = timer.nesting + 1;
      if (timer.everyMs === undefined) mapDelete(pending, id);
      else {
        timer.nesting = nesting;
        emit('timer', callId, id, effectiveMs(timer.everyMs, nesting));
      }
      try {
        apply(timer.callback, globalThis, timer.parameters as unknown[]);
      } catch (thrown) {
        reportException(thrown);
      }
      // What its microtasks set is not nested in it.
      nesting = 0;
    },
    later(callback, delayMs) {
      set({ callback, parameters: [], everyMs: undefined, nesting: 0, clearable: false }, delayMs);
    },
    globals: {
      setTimeout(handler, timeout = 0, ...parameters) {
        return setForScript(handler, timeout, parameters, false);
      },
      setInterval(handler, timeout = 0, ...parameters) {
        return setForScript(handler, timeout, parameters, true);
      },
      clearTimeout: (id = 0) => clear(id),
      clearInterval: (id = 0) => clear(id),
    },
  };
}

/** Web IDL `long`: whatever is no number is 0, and a large one wraps around, as browsers have it. */
const toLong = (value: unknown): number => +(value as number) | 0;

/** What is left of a delay. The operating system may set its clock back; 0 is kept for what is due at once. */
function restMs(delayMs: number, elapsedMs: number): number {
  if (delayMs < 1 || !(elapsedMs > 0)) return delayMs;
  return delayMs - elapsedMs < 1 ? 1 : delayMs - elapsedMs;
}

/** The delay of a timer of the script: at least a millisecond. */
function effectiveMs(delayMs: number, nesting: number): number {
  const leastMs = nesting > NESTING_FREE ? NESTED_DELAY_MS_MIN : 1;
  return delayMs < leastMs ? leastMs : delayMs;
}
