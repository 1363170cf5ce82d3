/**
 * A cell that has been taken over: the host ends it for each breach of the protocol, and answers
 * its calls.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { CellProcess } from '../../src/host/cells/cell-process.ts';
import type { CellTask } from '../../src/host/cells/in-flight-task.ts';
import { CpuClaims } from '../../src/host/cells/in-flight-tasks.ts';
import { buildCell, type CellBuild } from '../../src/host/launch/cell-build.ts';
import { CellLauncher } from '../../src/host/launch/cell-launch.ts';
import { DEFAULT_LIMITS } from '../../src/limits.ts';
import type { CallEnd } from '../../src/protocol/wire.ts';
import { cellSources } from '../support/built-once.ts';

/** So long that a cell has started and attacked before, on a busy machine too. */
const WALL_MS = 60_000;

let build: CellBuild;
const folder = mkdtempSync(join(tmpdir(), 'annex-forged-'));
beforeAll(async () => {
  build = await buildCell(await cellSources());
});
afterAll(() => {
  build.remove();
  rmSync(folder, { recursive: true, force: true });
});

/** Runs a forged cell. @param attack JavaScript that may use `send(head, body)` and `pipe` */
async function forged(
  name: string,
  attack: string,
  task: Partial<CellTask> = {},
): Promise<{ reason: string; suspects: readonly string[]; end: CallEnd }> {
  const scriptPath = join(folder, `${name}.cjs`);
  writeFileSync(
    scriptPath,
    `const pipe = new (require('node:net').Socket)({ fd: 3 });
     const frame = (head, body = Buffer.alloc(0)) => {
       const text = Buffer.from(typeof head === 'string' ? head : JSON.stringify(head));
       const prefix = Buffer.alloc(8); prefix.writeUInt32LE(text.length, 0); prefix.writeUInt32LE(body.length, 4);
       return Buffer.concat([prefix, text, body]);
     };
     const send = (head, body) => pipe.write(frame(head, body));
     pipe.once('data', () => { ${attack} });`,
  );
  const { promise: exited, resolve } = Promise.withResolvers<{
    reason: string;
    suspects: readonly string[];
  }>();
  const forged = { ...build, scriptPath };
  const cell = new CellProcess(forged, new CellLauncher(forged), DEFAULT_LIMITS, {
    script: async () => Buffer.from('secret source'),
    unwell: () => undefined,
    exited: (_cell, reason, { suspects }) => resolve({ reason, suspects }),
  });
  const ended = new Promise<CallEnd>((end) =>
    cell.submit(
      { t: 'probe', id: 7, cpuMs: 1_000, wallMs: WALL_MS },
      { owner: 'probe-7', script: 'own@1', wallMs: WALL_MS, log: () => undefined, ...task, end },
    ),
  );
  const watching = setInterval(() => cell.check(performance.now(), false), 50);
  const fate = await exited;
  clearInterval(watching);
  return { ...fate, end: await ended };
}

test.each([
  ['no JSON', `send('{');`, 'broken frame'],
  ['a length of four gigabytes', `pipe.write(Buffer.alloc(8, 0xff));`, 'broken frame'],
  [
    'a head over its bound',
    `send(JSON.stringify({ t: 'need', script: 'x'.repeat(300000) }));`,
    'broken frame',
  ],
  ['an unknown message', `send({ t: 'shell', id: 7 });`, 'malformed message'],
  [
    'a call that the cell does not have',
    `send({ t: 'end', id: 8, end: { outcome: 'ok', cpuMs: 1 } });`,
    'unknown call',
  ],
  [
    'an outcome that only the host may decide',
    `send({ t: 'end', id: 7, end: { outcome: 'cellCrashed', cpuMs: 1 } });`,
    'malformed',
  ],
  ['CPU without end', `send({ t: 'end', id: 7, end: { outcome: 'ok', cpuMs: 1e308 } });`, 'malformed'],
  [
    'an hour of CPU in a moment',
    `send({ t: 'end', id: 7, end: { outcome: 'ok', cpuMs: 3600000 } });`,
    'reported more CPU than possible',
  ],
  [
    'an answer to a probe',
    `send({ t: 'response', id: 7, status: 200, headers: [] });`,
    'answered a call twice',
  ],
  [
    'a header with a line break',
    `send({ t: 'response', id: 7, status: 200, headers: [['x', 'a\\r\\nset-cookie: b']] });`,
    'malformed',
  ],
  [
    'an isolate for debuggers, in production',
    `send({ t: 'inspectable', target: 1, isolate: 'probe-7/own@1', script: 'own@1' });`,
    'malformed message',
  ],
  [
    'a message for a debugger, in production',
    `send({ t: 'inspected', target: 1 }, Buffer.from('{"method":"Debugger.paused"}'));`,
    'malformed message',
  ],
  [
    'a reason with a line break',
    `send({ t: 'response', id: 7, status: 200, statusText: 'OK\\r\\nset-cookie: b', headers: [] });`,
    'malformed',
  ],
  ['an invalid status', `send({ t: 'response', id: 7, status: 99, headers: [] });`, 'malformed'],
  ["another tenant's script", `send({ t: 'need', script: 'other@1' });`, 'script of none of its calls'],
  [
    'the same script over and over',
    `for (let i = 0; i < 100; i++) send({ t: 'need', script: 'own@1' });`,
    'requested a script twice',
  ],
  [
    'a flood of log lines',
    `for (let i = 0; i < 1000; i++) send({ t: 'log', id: 7, level: 'info' }, Buffer.from('x'));`,
    'flooded',
  ],
  [
    'log lines of megabytes',
    `for (let i = 0; i < 9; i++) send({ t: 'log', id: 7, level: 'info' }, Buffer.alloc(2 ** 20));`,
    'flooded',
  ],
])('%s ends the cell, and its call is answered as crashed', async (name, attack, reason) => {
  const fate = await forged(name.replaceAll(/\W+/g, '-'), attack);
  expect(fate.reason).toContain(reason);
  expect(fate.end.outcome).toBe('cellCrashed');
});

test('an unknown member of a message does not survive, nor does __proto__', async () => {
  const fate = await forged(
    'proto',
    `send('{"t":"probed","id":7,"__proto__":{"polluted":1},"extra":true,"end":{"outcome":"ok","cpuMs":1,"__proto__":{"outcome":"x"}}}'); setTimeout(() => process.exit(0), 50);`,
  );
  expect(fate.end).toEqual({ outcome: 'ok', cpuMs: 1 });
  expect(Object.prototype).not.toHaveProperty('polluted');
});

test('a call takes one answer: a second one ends the cell', async () => {
  const answers: number[] = [];
  const fate = await forged(
    'twice',
    `const response = { t: 'response', id: 7, headers: [] };
     send({ ...response, status: 201 }); send({ ...response, status: 202 });`,
    {
      response({ status }) {
        answers.push(status);
        return answers.length === 1;
      },
    },
  );
  expect(fate.reason).toContain('answered a call twice');
  expect(fate.end.outcome).toBe('cellCrashed');
  expect(answers).toEqual([201, 202]);
});

test('CPU that a cell claims for its calls counts as far as there was time for it', () => {
  const claims = new CpuClaims(2, 1_000);
  expect(claims.take(30, 1_000, 1_020)).toBe(30);
  // A call with two threads cannot have used the time of three.
  expect(claims.take(60, 1_080, 1_100)).toBe(40);
  // Many calls together cannot have used more than all cores.
  for (let call = 0; call < 20; call += 1) claims.take(200, 1_000, 1_200);
  expect(claims.take(200, 1_000, 1_200)).toBe(0);
  expect(claims.take(200, 1_000, 1_250)).toBe(100);
  expect(claims.take(5_000, 1_300, 1_300)).toBe(0);
  expect(claims.take(5_001, 1_300, 1_300)).toBeUndefined();
});

// Attack: a cell that has been taken over blames a tenant of another cell for its end, to have it
// put into quarantine.
test('a cell can blame owners of its calls for its end, and no others', async () => {
  const record = (number: number, owner: string) =>
    `require('node:fs').writeSync(4, Buffer.from('\\x01\\x${owner.length.toString(16).padStart(2, '0')}${owner}', 'latin1'), 0, ${owner.length + 2}, ${number * 64});`;
  const fate = await forged(
    'blame',
    `${record(1, 'ins_another')} ${record(2, 'probe-7')} ${record(3, 'probe-8')} process.exit(1);`,
  );
  expect(fate.suspects).toEqual(['probe-7']);
});

test('a cell that writes more than its execution journal is ended before it fills the disk', async () => {
  const fate = await forged(
    'disk',
    `setInterval(() => require('node:fs').writeSync(4, Buffer.alloc(65536), 0, 65536, 65536), 10);`,
  );
  expect(fate.reason).toContain('wrote more than its execution journal');
});
