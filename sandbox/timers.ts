/**
 * `setTimeout`, `setInterval` and their `clear…` (HTML, section 8.6). The clock is the cell's: a timer is a message out
 * and an entry back. A timer belongs to the call that set it and ends with it.
 *
 * A handler that is no function is refused: the standard would compile its text, and no text is compiled for a timer here.
 */
import type { Emit } from '../src/bridge.ts';
import type { Calls, Timer } from './call.ts';
import { apply, MapIntrinsic, mapDelete, mapGet, mapSet, mapSize } from './web/primordials.ts';
import type { TimerSource } from './web/timer-source.ts';
import { reportException } from './web/uncaught.ts';

/** From this depth of timers that set timers on, none comes due at once ("timer initialization steps"). */
const NESTING_FREE = 5;
const NESTED_DELAY_MS_MIN = 4;
/** An id is a `long`. */
const ID_MAX = 2 ** 31 - 1;

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

export function createTimers(calls: Calls, emit: Emit): Timers {
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
    if (!calls.operate()) throw new RangeError('Too many timers were set and cleared in a row.');
    mapSet(pending, id, timer);
    emit('timer', call.id, id, effectiveMs(delayMs, timer.nesting));
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
    // One that the cell is not told of comes due there and finds nothing here.
    if (calls.operate()) emit('untimer', call.id, id);
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

/** The delay as the cell gets it: its timers wait for at least a millisecond. */
function effectiveMs(delayMs: number, nesting: number): number {
  const leastMs = nesting > NESTING_FREE ? NESTED_DELAY_MS_MIN : 1;
  return delayMs < leastMs ? leastMs : delayMs;
}
