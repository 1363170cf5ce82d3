/**
 * `node:timers`: the timers of the isolate, and `setImmediate` as the shortest of them.
 */

type Task = (...values: unknown[]) => void;

export const setImmediate = (task: Task, ...values: unknown[]): unknown => setTimeout(task, 0, ...values);
export const clearImmediate = (timer: number): void => clearTimeout(timer);
const { clearInterval, clearTimeout, setInterval, setTimeout } = globalThis;

export { default as promises } from './timers-promises.ts';
export { clearInterval, clearTimeout, setInterval, setTimeout };

export default { setTimeout, clearTimeout, setInterval, clearInterval, setImmediate, clearImmediate };
