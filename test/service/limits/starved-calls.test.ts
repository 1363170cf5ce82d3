/**
 * Calls on a machine whose cores do other work: what they wait for a core is not charged to them
 * (docs/contract/calls.md#time-and-cpu).
 */
import { setTimeout as passed } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { startTestService } from '../../support/service.ts';

const STOPS = 10;
const STOPPED_MS = 400;

// As long as the cell is stopped, the clock goes on and no thread of it has a core. The work is far
// below the limit, also where the compiler gets no core either; the stops are far above it.
test('a call whose cell gets no core for long has not used that time as CPU', async () => {
  const annex = await startTestService({ limits: { callCpuMs: 600, cellHeartbeatMs: 30_000 } });
  const installed = await annex.deploy(
    'working',
    `export default { async fetch() {
       for (let entry = 0; entry < 300; entry++) {
         for (let i = 0; i < 3e4; i++);
         await new Promise((next) => setTimeout(next, 1));
       }
       return new Response('worked');
     } };`,
  );
  const [pid = 0] = annex.cellPids;
  onTestFinished(() => void process.kill(pid, 'SIGCONT'));
  const called = fetch(`${installed.endpoint}/`).then((response) => response.text());
  let isOver = false;
  void called.finally(() => (isOver = true));
  let stops = 0;
  while (!isOver && stops < STOPS) {
    await passed(7);
    process.kill(pid, 'SIGSTOP');
    await passed(STOPPED_MS);
    process.kill(pid, 'SIGCONT');
    stops += 1;
  }
  expect(await called).toBe('worked');
  expect(stops).toBeGreaterThan(1);
});
