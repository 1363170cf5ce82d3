/** Measures the cost of work in CPU time: wall time depends on what else the machine does. */

/** Milliseconds of CPU that this process spends on the work. */
export function cpuMs(work: () => void): number;
export function cpuMs(work: () => Promise<void>): Promise<number>;
export function cpuMs(work: () => void | Promise<void>): number | Promise<number> {
  const before = process.cpuUsage();
  const spentMs = () => {
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1_000;
  };
  const ended = work();
  return ended instanceof Promise ? ended.then(spentMs) : spentMs();
}
