/**
 * Inspection where it must not be, and cells that abuse it: a production cell that is told to let a
 * debugger in, and an inspected cell that has been taken over.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { CellProcess, type InspectedCell } from '../../src/host/cells/cell-process.ts';
import { InspectedTargets } from '../../src/host/inspector/inspector.ts';
import { buildCell, type CellBuild } from '../../src/host/launch/cell-build.ts';
import { CellLauncher } from '../../src/host/launch/cell-launch.ts';
import { DEFAULT_LIMITS } from '../../src/limits.ts';
import { type HostInspection, INSPECTION_BOUNDS } from '../../src/protocol/inspection.ts';
import { cellSources } from '../support/built-once.ts';

let build: CellBuild;
beforeAll(async () => {
  build = await buildCell(await cellSources());
});
afterAll(() => build.remove());

test('a cell of production that is told to let a debugger in ends, and lets none in', async () => {
  const exited = Promise.withResolvers<CellProcess>();
  const cell = new CellProcess(build, new CellLauncher(build), DEFAULT_LIMITS, {
    script: async () => undefined,
    unwell: () => undefined,
    exited: (dead) => exited.resolve(dead),
  });
  await cell.ready;
  // No type allows the host to send it.
  const message = { t: 'inspect', target: 1 } as never;
  cell.send(message, Buffer.from('{"id":1,"method":"Runtime.enable"}'));
  expect((await exited.promise).lastWords).toContain('This cell was not started for inspection.');
});

/** A cell under inspection, with one isolate, and what the host sends it. */
function inspected(): { targets: InspectedTargets; cell: InspectedCell; sent: HostInspection[] } {
  const targets = new InspectedTargets();
  const sent: HostInspection[] = [];
  const cell = targets.inspectCell((message) => sent.push(message));
  const opened = { t: 'inspectable', target: 1, isolate: 'ins_1/own@1', script: 'own@1' };
  expect(cell.receive(opened, Buffer.alloc(0))).toBe(true);
  return { targets, cell, sent };
}

test.each([
  ['an unknown message', { t: 'inspector', target: 1 }],
  ['an isolate that it does not have', { t: 'inspected', target: 2 }],
  ['the isolate of another cell', { t: 'inspect-gone', target: 7 }],
  ['a number that is none', { t: 'inspected', target: '1' }],
  ['a number twice', { t: 'inspectable', target: 1, isolate: 'ins_1/own@1', script: 'own@1' }],
  ['an isolate without a name', { t: 'inspectable', target: 2, isolate: '', script: 'own@1' }],
  ['a name of a kilobyte', { t: 'inspectable', target: 2, isolate: 'x'.repeat(1_024), script: 'own@1' }],
])('%s is a breach, for which an inspected cell is ended', (_, head) => {
  const { cell, targets } = inspected();
  expect(cell.receive(head, Buffer.from('{}'))).toBe(false);
  expect(targets.list).toHaveLength(1);
});

test('a message over the bound is a breach, and so is one without credit', () => {
  const { cell, targets } = inspected();
  const tooLong = Buffer.alloc(INSPECTION_BOUNDS.messageBytes + 1);
  expect(cell.receive({ t: 'inspected', target: 1 }, tooLong)).toBe(false);
  // A debugger that does not read: nothing is credited.
  targets.list[0]?.take({ message: () => undefined, released: () => undefined });
  const whole = Buffer.alloc(INSPECTION_BOUNDS.bytesInFlight);
  expect(cell.receive({ t: 'inspected', target: 1 }, whole)).toBe(true);
  expect(cell.receive({ t: 'inspected', target: 1 }, Buffer.from('{}'))).toBe(false);
});

test('messages for a debugger that has left are credited and go nowhere', () => {
  const { cell, sent } = inspected();
  const body = Buffer.from('{"method":"Debugger.paused"}');
  for (let turn = 0; turn < 3; turn++) expect(cell.receive({ t: 'inspected', target: 1 }, body)).toBe(true);
  expect(sent).toEqual(Array(3).fill({ t: 'inspect-credit', bytes: body.byteLength }));
});

test('a cell cannot fill the list without end', () => {
  const { cell } = inspected();
  const open = (target: number) =>
    cell.receive({ t: 'inspectable', target, isolate: 'ins_1/own@1', script: 'own@1' }, Buffer.alloc(0));
  for (let target = 2; target <= INSPECTION_BOUNDS.targets; target++) expect(open(target)).toBe(true);
  expect(open(INSPECTION_BOUNDS.targets + 1)).toBe(false);
});
