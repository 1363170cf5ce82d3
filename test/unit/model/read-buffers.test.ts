/** Buffers of bodies that pass through the host are freed young. */
import { constants, PerformanceObserver } from 'node:perf_hooks';
import { expect, onTestFinished, test } from 'vitest';
import { countRead } from '../../../src/host/cells/cell-pipe.ts';

const MIB = 1024 * 1024;
const READ_BYTES = MIB / 16;
const READS = (120 * MIB) / READ_BYTES;

// An answer of 10 MiB made the engine collect everything, and other requests waited.
test('the young generation is collected after every twelve megabytes that were read', async () => {
  const { NODE_PERFORMANCE_GC_MINOR: YOUNG, NODE_PERFORMANCE_GC_FLAGS_FORCED: ASKED_FOR } = constants;
  let young = 0;
  const observer = new PerformanceObserver((list) => {
    for (const { detail } of list.getEntries() as unknown as { detail: unknown }[]) {
      const { kind, flags } = detail as { kind: number; flags: number };
      if (kind === YOUNG && (flags & ASKED_FOR) === ASKED_FOR) young += 1;
    }
  });
  observer.observe({ entryTypes: ['gc'] });
  onTestFinished(() => observer.disconnect());
  for (let reads = 0; reads < READS; reads += 1) countRead(new Uint8Array(READ_BYTES));
  // The engine may finish a collection of everything, which it had begun, in the place of one.
  await expect.poll(() => young).toBeGreaterThan(7);
});
