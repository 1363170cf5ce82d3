/** The watchdog knows for how long its thread had no core. */
import { expect, test } from 'vitest';
import { Watchdog } from '../../../src/cell/isolates/watchdog.ts';

/** Checks for this many ticks, and does something else in the first one. */
async function lateMs(ticks: number, work: () => void): Promise<number> {
  const watchdog = new Watchdog();
  const { promise, resolve } = Promise.withResolvers<void>();
  let checks = 0;
  const isolate = {
    running: false,
    checkCpu: () => {
      checks += 1;
      if (checks === 1) work();
      if (checks === ticks) resolve();
    },
    checkWall: () => undefined,
  };
  watchdog.watch(isolate);
  await promise;
  watchdog.unwatch(isolate);
  return watchdog.lateMs;
}

test('a tick that comes late counts', async () => {
  const busyMs = 200;
  const late = await lateMs(2, () => {
    const until = performance.now() + busyMs;
    while (performance.now() < until);
  });
  expect(late).toBeGreaterThanOrEqual(busyMs - 20);
});
