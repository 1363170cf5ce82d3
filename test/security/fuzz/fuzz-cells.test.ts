/**
 * Cells that send random frames over the real pipe: the host survives, and every call ends once.
 */

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { IncomingBodies } from '../../../src/host/calls/incoming-body.ts';
import { RefusalPace } from '../../../src/host/calls/refusal-pace.ts';
import { CallTraffic } from '../../../src/host/calls/running-call.ts';
import { CellProcess } from '../../../src/host/cells/cell-process.ts';
import { buildCell, type CellBuild } from '../../../src/host/launch/cell-build.ts';
import { CellLauncher } from '../../../src/host/launch/cell-launch.ts';
import { DEFAULT_LIMITS } from '../../../src/limits.ts';
import { parseCellMessage } from '../../../src/protocol/parse-cell-message.ts';
import { cellSources } from '../../support/built-once.ts';
import { CALL_ID, CELL_MESSAGES, frame, OWNER } from '../../support/cells/cell-messages.ts';
import { type Chance, fuzz } from '../../support/fuzz/fuzz.ts';
import { mutateBytes, mutateJson } from '../../support/fuzz/mutations.ts';
import { newEgress } from '../../support/http/egress.ts';
import { NO_STORAGE } from '../../support/store/temporary-store.ts';

const FRAMES_PER_CELL = 80;
const CALLS = [CALL_ID, CALL_ID + 1, CALL_ID + 2];
/** How long a cell stays after its last frame, in case the host detects a breach. */
const LINGER_MS = 100;

let build: CellBuild;
const folder = mkdtempSync(join(tmpdir(), 'annex-fuzz-'));
beforeAll(async () => {
  build = await buildCell(await cellSources());
});
afterAll(() => {
  build.remove();
  rmSync(folder, { recursive: true, force: true });
});

/** Messages that a cell may send of a call repeatedly. */
const HARMLESS = CELL_MESSAGES.filter(
  (message) => ['log', 'drop', 'pulse', 'ready', 'begun', 'stuck'].includes(message.t) && !('end' in message),
);

/** Mostly well-formed messages about its own calls, because the first breach ends the cell. */
function hostileFrame(random: Chance): Buffer {
  const body = Buffer.alloc(random.pick([0, 0, 1, 100, 65_536, 65_537]), 'x');
  if (random.once(60)) return mutateBytes(random, [frame(mutateJson(random, CELL_MESSAGES), body)]);
  const corpus = random.once(16) ? CELL_MESSAGES : HARMLESS;
  for (let tries = 0; tries < 20; tries += 1) {
    const message = parseCellMessage(JSON.parse(JSON.stringify(mutateJson(random, corpus))));
    if (message === undefined) continue;
    return frame('id' in message ? { ...message, id: random.pick(CALLS) } : message, body);
  }
  return frame({ t: 'ready' });
}

/** All installations that were blamed for a death of a cell. */
const blamed: string[] = [];

/** A cell that sends these bytes at the first message, and stays for a while. */
function launch(bytes: Buffer, at: number, random: Chance, exited: (reason: string) => void): CellProcess {
  const scriptPath = join(folder, `${at}.cjs`);
  const pieceBytes = random.pick([7, 1_000, 100_000]);
  writeFileSync(
    scriptPath,
    `const pipe = new (require('node:net').Socket)({ fd: 3 });
     pipe.on('error', () => process.exit(0));
     pipe.once('data', () => {
       const bytes = Buffer.from('${bytes.toString('base64')}', 'base64');
       for (let at = 0; at < bytes.length; at += ${pieceBytes}) pipe.write(bytes.subarray(at, at + ${pieceBytes}));
       setTimeout(() => process.exit(0), ${LINGER_MS});
     });`,
  );
  const own = { ...build, scriptPath };
  return new CellProcess(own, new CellLauncher(own), DEFAULT_LIMITS, {
    script: async () => Buffer.from('a source'),
    unwell: (_cell, _reason, suspects) => blamed.push(...suspects),
    exited: (_cell, how, { suspects }) => {
      blamed.push(...suspects);
      exited(how);
    },
  });
}

test('whatever a cell sends, the host ends each of its calls once, and blames only its installations', async () => {
  const egress = newEgress({ lookup: () => Promise.reject(new Error('no such name')) });
  const reasons = new Set<string>();
  let cells = 0;
  let answers = 0;
  await fuzz('cells', {
    atOnce: 4,
    make: (random) => Array.from({ length: FRAMES_PER_CELL }, () => hostileFrame(random)),
    check: async (frames, random) => {
      const { promise: exited, resolve } = Promise.withResolvers<string>();
      const cell = launch(Buffer.concat(frames), cells++, random, resolve);
      const ends = CALLS.map(() => 0);
      const answered = new Set<number>();
      const collecting = new IncomingBodies();
      const refusals = new RefusalPace();
      CALLS.forEach((id, index) => {
        const traffic = new CallTraffic({
          ...{ id, egress, owner: OWNER, organization: 'acme', limits: DEFAULT_LIMITS, collecting, refusals },
          storage: NO_STORAGE,
          target: { integration: 'own', since: 0, installationId: OWNER, limits: DEFAULT_LIMITS },
          log: () => undefined,
          send: (message, ...bytes) => cell.send(message, ...bytes),
        });
        cell.submit(
          { t: 'probe', id, cpuMs: 1_000, wallMs: 5_000 },
          {
            owner: OWNER,
            script: 'own@1',
            wallMs: 5_000,
            log: () => undefined,
            response: ({ more }) => {
              if (answered.has(id)) return false;
              answered.add(id);
              answers += 1;
              if (more === 'whole') traffic.collectAnswer(() => undefined);
              else if (more) traffic.answer().resume();
              return true;
            },
            stream: (message, bytes) => traffic.stream(message, bytes),
            fetch: (message, bytes) => traffic.fetch(message, bytes),
            store: (message, bytes) => traffic.store(message, bytes),
            end: () => {
              ends[index] = (ends[index] ?? 0) + 1;
              traffic.end('ok');
            },
          },
        );
      });
      reasons.add((await exited).replaceAll(/,.*/g, ''));
      assert.deepEqual(
        ends,
        CALLS.map(() => 1),
      );
    },
  });
  expect(egress.inFlight).toBe(0);
  // A hostile cell cannot have an installation blamed that was not in it.
  expect(blamed.filter((owner) => owner !== OWNER)).toEqual([]);
  // Cells that all fail in one way, or at the first frame, would test little.
  expect(reasons.size).toBeGreaterThan(1);
  expect(answers).toBeGreaterThan(0);
});
