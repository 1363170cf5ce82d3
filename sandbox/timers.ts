/**
 * `setTimeout`, `setInterval`, `clearTimeout`, `clearInterval` (HTML, section 8.6).
 *
 * The cell has the clock: a timer is an emission, and an entry when it is due. A timer belongs to
 * the call that set it and ends with it. Timers are sent to the cell some microtasks late, so that
 * one that is cleared meanwhile costs nothing: most of those guard a promise that settles soon.
 *
 * A handler that is not a function is refused: no text is compiled for a timer
 * (docs/contract/runtime.md#absent).
 */
import type { Emit } from '../src/protocol/bridge.ts';
import type { Call, Calls, Timer } from './call.ts';
import { currentContext, runInContext } from './web/current-call.ts';
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
import { coded } from './web/web-idl.ts';

/** Beyond this nesting level, delays have a minimum ("timer initialization steps"). */
const NESTING_FREE = 5;
const NESTED_DELAY_MS_MIN = 4;
/** An id is a `long` of Web IDL. */
const ID_MAX = 2 ** 31 - 1;
/**
 * A timeout that is shorter counts as work if its call ends before. A longer one rather guards
 * other work, and libraries leave it behind (docs/contract/calls.md#waituntil).
 */
const GUARD_MS_MIN = 1_000;
/** Timers are sent to the cell after this many microtasks in which none was set. */
const MICROTASKS_APART_MAX = 16;

type SetTimer = (handler: unknown, timeout?: unknown, ...parameters: unknown[]) => number;
type ClearTimer = (id?: unknown) => void;

export interface Timers {
  /** Runs a timer that is due. */
  fire(call: number, timer: number): void;
  /** Sets timers of the prelude, which no script can clear. */
  readonly later: TimerSource;
  readonly globals: {
    setTimeout: SetTimer;
    setInterval: SetTimer;
    clearTimeout: ClearTimer;
    clearInterval: ClearTimer;
  };
}

/** A timer that the cell does not know yet. */
interface UnsentTimer {
  readonly call: Call;
  readonly delayMs: number;
  readonly setAt: number;
}

/** Sends timers to the cell, except those that are cleared before. */
class TimerSender {
  readonly #calls: Calls;
  readonly #emit: Emit;
  /** By id, in the order in which they were set. */
  #unsent = new MapIntrinsic<number, UnsentTimer>();
  /** Microtasks until the timers are sent; 0 if none is unsent. */
  #patience = 0;

  constructor(calls: Calls, emit: Emit) {
    this.#calls = calls;
    this.#emit = emit;
  }

  /** @throws RangeError if this entry has used up its emissions */
  add(call: Call, id: number, delayMs: number): void {
    // Attack: a loop that sets timers, each of which is an emission. `remove` takes back the count
    // of a timer that was not sent.
    if (!this.#calls.operate()) throw new RangeError('Too many timers were set and cleared in a row.');
    mapSet(this.#unsent, id, { call, delayMs, setAt: now() });
    const isWaiting = this.#patience > 0;
    this.#patience = MICROTASKS_APART_MAX;
    if (!isWaiting) void this.#sendSoon();
  }

  /** Removes a timer that is cleared. */
  remove(call: Call, id: number): void {
    // Timers at the cell are bounded, and so are these emissions.
    if (!mapDelete(this.#unsent, id)) this.#emit('clear-timer', call.id, id);
    else this.#calls.operate(-1);
  }

  /** `await` of a primitive looks up nothing that a tenant could have replaced. */
  async #sendSoon(): Promise<void> {
    while (this.#patience > 0) {
      this.#patience -= 1;
      await undefined;
    }
    const unsent = this.#unsent;
    this.#unsent = new MapIntrinsic();
    const at = now();
    mapForEach(unsent, ({ call, delayMs, setAt }, id) => {
      if (this.#calls.get(call.id) === call)
        this.#emit('timer', call.id, id, remainingMs(delayMs, at - setAt));
    });
  }
}

export function createTimers(calls: Calls, emit: Emit): Timers {
  const sender = new TimerSender(calls, emit);
  let nextId = 1;
  let nesting = 0;

  function set(timer: Timer, delayMs: number): number {
    const call = calls.running();
    const id = nextId;
    nextId = id < ID_MAX ? id + 1 : 1;
    // Timers of code that outlives its call never run.
    if (call === undefined) return id;
    // Attack: a flood of timers, which queue up outside the isolate's heap.
    call.timers ??= new MapIntrinsic();
    const pending = call.timers;
    const { timersPerCall } = calls.settings;
    if (mapSize(pending) >= timersPerCall) {
      calls.meet(call, 'timersPerCall');
      throw new RangeError(
        `Too many timers are pending in this call; the limit is ${timersPerCall} (timersPerCall).`,
      );
    }
    sender.add(call, id, timer.clearable ? effectiveMs(delayMs, timer.nesting) : delayMs);
    mapSet(pending, id, timer);
    return id;
  }

  function setForScript(
    callback: unknown,
    timeout: unknown,
    parameters: readonly unknown[],
    called: Function,
  ): number {
    if (typeof callback !== 'function')
      throw coded(new TypeError('A timer needs a function to call.'), 'ERR_INVALID_ARG_TYPE');
    const delayMs = toLong(timeout);
    const repeats = called === globals.setInterval;
    const everyMs = repeats ? delayMs : undefined;
    const isWork = !repeats && delayMs < GUARD_MS_MIN;
    const place = isWork ? calls.placeBehind(called) : undefined;
    return set(
      { callback, parameters, context: currentContext(), everyMs, nesting, clearable: true, isWork, place },
      delayMs,
    );
  }

  function clear(timer: unknown): void {
    const id = toLong(timer);
    const call = calls.running();
    const pending = call?.timers;
    if (call === undefined || pending === undefined || !mapGet(pending, id)?.clearable) return;
    mapDelete(pending, id);
    sender.remove(call, id);
  }

  const globals = {
    setTimeout(handler: unknown, timeout: unknown = 0, ...parameters: unknown[]): number {
      return setForScript(handler, timeout, parameters, globals.setTimeout);
    },
    setInterval(handler: unknown, timeout: unknown = 0, ...parameters: unknown[]): number {
      return setForScript(handler, timeout, parameters, globals.setInterval);
    },
    clearTimeout: (id: unknown = 0) => clear(id),
    clearInterval: (id: unknown = 0) => clear(id),
  };
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
        runInContext(timer.context, () => apply(timer.callback, globalThis, timer.parameters as unknown[]));
      } catch (thrown) {
        reportException(thrown);
      }
      // Timers that its microtasks set are not nested in it.
      nesting = 0;
    },
    later(callback, delayMs) {
      const context = currentContext();
      const ofPrelude = { clearable: false, isWork: false, place: undefined };
      set({ callback, parameters: [], context, everyMs: undefined, nesting: 0, ...ofPrelude }, delayMs);
    },
    globals,
  };
}

/** Web IDL `long`: a value that is not a number is 0, and a large one wraps around. */
const toLong = (value: unknown): number => +(value as number) | 0;

/** Remaining delay. The clock may go back. A delay of 0 stays 0; any other is at least 1. */
function remainingMs(delayMs: number, elapsedMs: number): number {
  if (delayMs < 1 || !(elapsedMs > 0)) return delayMs;
  return delayMs - elapsedMs < 1 ? 1 : delayMs - elapsedMs;
}

/** Delay of a timer of the script: at least a millisecond. */
function effectiveMs(delayMs: number, nesting: number): number {
  const leastMs = nesting > NESTING_FREE ? NESTED_DELAY_MS_MIN : 1;
  return delayMs < leastMs ? leastMs : delayMs;
}
