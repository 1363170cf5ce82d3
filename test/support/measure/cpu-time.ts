/** Measures the cost of work in CPU time: wall time depends on what else the machine does. */

/** Milliseconds of CPU that this process spends on the work. */
export function cpuMs(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}
