/**
 * `node:perf_hooks`: the clock of the web platform.
 */

const platform = globalThis as unknown as Record<string, unknown>;
export const { performance, Performance, PerformanceEntry, PerformanceMark, PerformanceMeasure } = platform;
export const constants = {};
export default { performance, Performance, PerformanceEntry, PerformanceMark, PerformanceMeasure, constants };
