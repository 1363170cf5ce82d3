/**
 * The metrics of the process hold nothing of a service that has stopped; a process may start
 * several.
 */
import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { CallMetrics } from '../../../src/host/calls/call-metrics.ts';
import { collectGarbage } from '../../support/measure/held-buffers.ts';

test('every service of a process reports the metrics of the process', async () => {
  for (const { registry } of [new CallMetrics(), new CallMetrics()]) {
    const text = await registry.metrics();
    for (const name of ['nodejs_eventloop_lag_seconds', 'nodejs_gc_duration_seconds', 'process_open_fds'])
      expect(text).toContain(`# TYPE ${name}`);
  }
});

test('the observers of the process keep no registry of a service that has stopped', async () => {
  const registries = [1, 2, 3].map(() => new WeakRef(new CallMetrics().registry));
  // A target of a new reference is held until the turn ends.
  await turn();
  collectGarbage();
  expect(registries.map((registry) => registry.deref())).toEqual([undefined, undefined, undefined]);
});
