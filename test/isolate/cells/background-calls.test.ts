/**
 * Background calls in a cell: foreground calls go first, also where isolates have to be made for
 * hundreds of the others.
 */

import { afterAll, beforeAll, expect, test } from 'vitest';
import { CellCall } from '../../../src/cell/calls/cell-call.ts';
import { IsolateCalls } from '../../../src/cell/calls/isolate-calls.ts';
import { IsolateOpenings, type Opening } from '../../../src/cell/isolates/isolates.ts';
import { Caller } from '../../../src/host/calls/call.ts';
import { Dispatch } from '../../../src/host/calls/dispatch.ts';
import { CellProcess } from '../../../src/host/cells/cell-process.ts';
import { buildCell, type CellBuild } from '../../../src/host/launch/cell-build.ts';
import { CellLauncher } from '../../../src/host/launch/cell-launch.ts';
import { DEFAULT_LIMITS, type Limits } from '../../../src/limits.ts';
import type { Target } from '../../../src/model/target.ts';
import { cellSources } from '../../support/built-once.ts';
import { NO_STORAGE } from '../../support/store/temporary-store.ts';

const QUEUED = 120;

/** Openings, and a list of the isolates made, each with its kind. */
function openings(backgroundMax: number) {
  const made: string[] = [];
  const gate = new IsolateOpenings<string>(backgroundMax);
  const enter = (isolate: string, opening: Opening) =>
    void gate.enter(isolate, opening).then((as) => made.push(`${isolate} ${as}`));
  /** The list, after those that may begin have been added to it. */
  const seen = async () => {
    await new Promise(setImmediate);
    return made;
  };
  return { gate, enter, seen };
}

test('isolates for background calls are made a few at a time, in order', async () => {
  const { gate, enter, seen } = openings(2);
  for (const isolate of ['a', 'b', 'c', 'd']) enter(isolate, 'background');
  expect(await seen()).toEqual(['a background', 'b background']);
  gate.leave('background');
  expect((await seen()).slice(2)).toEqual(['c background']);
});

test('isolates for foreground calls are made at once, and no other one begins meanwhile', async () => {
  const { gate, enter, seen } = openings(1);
  enter('first', 'foreground');
  enter('backlog', 'background');
  enter('second', 'foreground');
  expect(await seen()).toEqual(['first foreground', 'second foreground']);
  gate.leave('foreground');
  expect(await seen()).toHaveLength(2);
  gate.leave('foreground');
  expect((await seen()).slice(2)).toEqual(['backlog background']);
});

test('after eight foreground openings in a row, a background one begins, too', async () => {
  const { enter, seen } = openings(1);
  enter('held', 'foreground');
  enter('backlog', 'background');
  for (let i = 0; i < 7; i += 1) enter(`other ${i}`, 'foreground');
  expect(await seen()).not.toContain('backlog background');
  enter('eighth', 'foreground');
  expect(await seen()).toContain('backlog background');
});

test('a waiting isolate is made at once when a foreground call needs it, and takes no place of the others', async () => {
  const { gate, enter, seen } = openings(1);
  for (const isolate of ['a', 'b', 'c']) enter(isolate, 'background');
  gate.promote('c');
  gate.promote('unknown');
  expect(await seen()).toEqual(['a background', 'c foreground']);
  gate.leave('foreground');
  gate.leave('background');
  expect((await seen()).slice(2)).toEqual(['b background']);
});

test('an isolate is scheduled by the most urgent of its calls', () => {
  const calls = new IsolateCalls();
  const call = (id: number, background?: true) =>
    new CellCall({ id, cpuMs: 1, wallMs: 1, ...(background && { background }) });
  expect(calls.background).toBe(false);
  calls.add(call(1, true));
  expect(calls.background).toBe(true);
  calls.add(call(2));
  expect(calls.background).toBe(false);
  calls.delete(3);
  calls.delete(2);
  calls.delete(2);
  expect(calls.background).toBe(true);
});

let build: CellBuild;
beforeAll(async () => {
  build = await buildCell(await cellSources());
});
afterAll(() => build.remove());

/** Calls installations in one real cell, each with an isolate of its own. */
async function dispatching(limits: Partial<Limits> = {}) {
  const script =
    '(async function (__run) { let n = 0; __run({ default: { fetch: () => new Response(String(++n)) } }); })';
  const held: Limits = { ...DEFAULT_LIMITS, ...limits };
  const cell = new CellProcess(build, new CellLauncher(build), held, {
    script: async () => Buffer.from(script),
    unwell: () => undefined,
    exited: () => undefined,
  });
  const silent = () => undefined;
  const dispatch = new Dispatch({
    limits: held,
    observer: {
      ...{ ended: silent, endedByClient: silent, log: silent, waits: silent },
      ...{ shed: silent, cooling: silent, turnedAway: silent },
    },
    egress: { fetch: () => Promise.reject(new Error('Nothing is fetched here.')) },
    storage: NO_STORAGE,
    load: { add: silent },
    cellFor: () => cell,
  });
  await cell.ready;
  const request = { method: 'GET', url: 'https://a.example/', headers: {} };
  const envelope = {
    event: Buffer.from(JSON.stringify({ eventId: 'e', type: 'fetch', request })),
    environment: Buffer.from('{}'),
  };
  /** @returns how many calls its isolate has had by then */
  const call = async (tenant: string, isBackground: boolean) => {
    const caller = new Caller();
    caller.background = isBackground;
    const isolate = `${tenant}/a@1`;
    const target = { tenant, integration: 'a', version: 1, isolate, limits: held } as Target;
    return Number((await dispatch.call(target, envelope, 'r', caller)).response?.body);
  };
  return { call, end: () => cell.kill('is not needed any more', 'retired') };
}

// Attack: one organization, or many, have so many deliveries waiting that the cells are full of
// their calls.
test('a foreground call is answered before most of the background calls that arrived earlier', async () => {
  const { call, end } = await dispatching();
  let answered = 0;
  const queued = Array.from({ length: QUEUED }, async (_, index) => {
    const count = await call(`backlog-${index}`, true);
    answered += 1;
    return count;
  });
  expect(await call('other', false)).toBe(1);
  expect(answered).toBeLessThan(QUEUED / 4);
  // It promotes an isolate that waits behind the others, together with the background call that
  // waits for it.
  expect(await call(`backlog-${QUEUED - 1}`, false)).toBe(2);
  expect(answered).toBeLessThan(QUEUED / 2);
  expect(await Promise.all(queued)).toEqual(Array(QUEUED).fill(1));
  end();
});

test('the isolate of a foreground call outlives a backlog of more installations than there are places', async () => {
  const { call, end } = await dispatching({ isolatesPerCell: 8 });
  expect(await call('kept', false)).toBe(1);
  const backlog = Array.from({ length: 40 }, (_, index) => call(`backlog-${index}`, true));
  expect(await Promise.all(backlog)).toEqual(Array(40).fill(1));
  expect(await call('kept', false)).toBe(2);
  end();
});
