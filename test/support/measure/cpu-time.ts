/** What a piece of work costs: CPU time and not time, which says more of a machine's other work than of this. */

/** Milliseconds of CPU that this process spends on it. */
export function cpuMs(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}
