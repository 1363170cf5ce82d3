/**
 * Scale: ten thousand installations are rows, and only as many isolates as the limit allows are in
 * memory.
 */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { startTestService } from '../support/service.ts';
import { OPERATOR, temporaryFolder } from '../support/store/temporary-store.ts';

const INSTALLATIONS = 10_000;
/** Installations that are made together, and share commits. */
const TOGETHER = 100;
const CALLED = 200;
const ROOM = 50;
const ROUNDS = 3;

/** Each isolate holds enough memory to distinguish 50 of them from 200. */
const WORKER = `
  const kept = new Array(200_000).fill(0).map((_, i) => i);
  export default {
    async fetch(request) {
      const { installation } = JSON.parse((await request.formData()).get('environment'));
      return new Response(installation.id + ' ' + kept.length);
    },
  };`;

const rssMib = (pid: number): number =>
  (Number(readFileSync(`/proc/${pid}/statm`, 'latin1').split(' ')[1]) * 4_096) / 2 ** 20;

test('of 10,000 installations 200 are called in turn with room for 50 isolates: every answer right, memory bounded', async () => {
  const data = await temporaryFolder({ inMemory: true });
  const annex = await startTestService({ limits: { isolatesPerCell: ROOM }, flags: ['--data', data] });
  await annex.publish('worker', { 'index.js': WORKER });
  const { installations, changes } = annex.service.store;
  // No lifecycle events: they would be 10,000 further calls.
  changes.removeAllListeners('lifecycle');
  const installed: { id: string; endpoint: string }[] = [];
  const install = (i: number) =>
    installations.install(
      { integration: 'worker', organization: `organization-${i}`, externalIds: [] },
      OPERATOR,
    );
  for (let first = 0; first < INSTALLATIONS; first += TOGETHER) {
    const made = await Promise.all(Array.from({ length: TOGETHER }, (_, i) => install(first + i)));
    for (const { installationId: id, endpointKey } of made.slice(0, CALLED / (INSTALLATIONS / TOGETHER))) {
      installed.push({ id, endpoint: `${annex.service.publicUrl}/${endpointKey}` });
    }
  }
  expect(installed).toHaveLength(CALLED);

  const [pid = 0] = annex.cellPids;
  const rssAfterRound: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    for (const { id, endpoint } of installed) {
      expect(await (await fetch(endpoint)).text()).toBe(`${id} 200000`);
    }
    rssAfterRound.push(rssMib(pid));
  }
  expect(annex.cellPids).toEqual([pid]);
  await expect.poll(() => annex.metric('annex_isolates')).toBeLessThanOrEqual(ROOM);
  // Later rounds make another 400 isolates; memory would grow if they were kept.
  const [first = 0] = rssAfterRound;
  expect(rssAfterRound.at(-1)).toBeLessThan(first * 1.5);
}, 900_000);
