/**
 * `setTimeout`, `setInterval` and their `clear…` (HTML, section 8.6). The clock is the cell's: a timer is a message out
 * and an entry back. A timer belongs to the call that set it and ends with it.
 */
import type { Emit } from '../src/bridge.ts';
import type { Calls } from './call.ts';
import { apply, MapIntrinsic, mapDelete, mapGet, mapSet, mapSize } from './web/primordials.ts';

/** Longest delay: browsers hold it in 32 signed bits, too. */
const DELAY_MS_MAX = 2 ** 31 - 1;

type SetTimer = (callback: unknown, delayMs?: unknown, ...parameters: unknown[]) => number;
type ClearTimer = (timer?: unknown) => void;

export interface Timers {
  /** Runs a timer that the cell says is due. */
  fire(call: number, timer: number): void;
  readonly globals: {
    setTimeout: SetTimer;
    setInterval: SetTimer;
    clearTimeout: ClearTimer;
    clearInterval: ClearTimer;
  };
}

export function createTimers(calls: Calls, emit: Emit, timersPerCall: number): Timers {
  let nextId = 1;

  function set(callback: unknown, delay: unknown, parameters: unknown[], repeats: boolean): number {
    if (typeof callback !== 'function') throw new TypeError('A timer needs a function to call.');
    const number = +(delay as number);
    const delayMs = number >= 1 && number <= DELAY_MS_MAX ? number : 1;
    const call = calls.running();
    const id = nextId++;
    // Code that a call left behind may still set timers; they never run.
    if (call === undefined) return id;
    // A flood of timers would queue up outside the isolate's heap.
    call.timers ??= new MapIntrinsic();
    const pending = call.timers;
    if (mapSize(pending) >= timersPerCall) {
      throw new RangeError(`More than ${timersPerCall} timers are pending in one call.`);
    }
    if (!calls.operate()) throw new RangeError('Too many timers were set and cleared in a row.');
    mapSet(pending, id, { callback, parameters, everyMs: repeats ? delayMs : undefined });
    emit('timer', call.id, id, delayMs);
    return id;
  }

  function clear(timer: unknown): void {
    const id = +(timer as number);
    const call = calls.running();
    const cleared = call?.timers !== undefined && mapDelete(call.timers, id);
    // One that the cell is not told of comes due there and finds nothing here.
    if (call !== undefined && cleared && calls.operate()) emit('untimer', call.id, id);
  }

  return {
    fire(callId, id) {
      const pending = calls.get(callId)?.timers;
      const timer = pending && mapGet(pending, id);
      if (pending === undefined || timer === undefined) return;
      if (timer.everyMs === undefined) mapDelete(pending, id);
      else emit('timer', callId, id, timer.everyMs);
      try {
        apply(timer.callback, undefined, timer.parameters as unknown[]);
      } catch (thrown) {
        calls.reportException(thrown);
      }
    },
    globals: {
      setTimeout: (callback, delayMs, ...parameters) => set(callback, delayMs, parameters, false),
      setInterval: (callback, delayMs, ...parameters) => set(callback, delayMs, parameters, true),
      clearTimeout: clear,
      clearInterval: clear,
    },
  };
}
