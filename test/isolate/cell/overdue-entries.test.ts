/**
 * A call that passes a limit while an entry of it runs: the entry has time until the watchdog
 * checks again, and a call whose entry has ended by then ends alone. Real isolates; the test takes
 * the watchdog's place and checks when it needs to.
 */

import { openSync } from 'node:fs';
import ivm from 'isolated-vm';
import { afterEach, describe, expect, test } from 'vitest';
import { CellCall } from '../../../src/cell/calls/cell-call.ts';
import { CryptoThreads } from '../../../src/cell/crypto/crypto-jobs.ts';
import type { Engine } from '../../../src/cell/engine.ts';
import { ExecutionJournal } from '../../../src/cell/execution-journal.ts';
import { BlankIsolates } from '../../../src/cell/isolates/blank-isolates.ts';
import type { CellDeps } from '../../../src/cell/isolates/cell-deps.ts';
import { CompileQueue } from '../../../src/cell/isolates/compile-queue.ts';
import { CompiledScript } from '../../../src/cell/isolates/compiled-script.ts';
import { MainThread } from '../../../src/cell/isolates/main-thread.ts';
import { RecentCpuOfIsolates } from '../../../src/cell/isolates/recent-cpu.ts';
import { Slots } from '../../../src/cell/isolates/slots.ts';
import type { IsolateListener } from '../../../src/cell/isolates/tenant-isolate.ts';
import { TenantIsolate } from '../../../src/cell/isolates/tenant-isolate.ts';
import type { Watched } from '../../../src/cell/isolates/watchdog.ts';
import { DEFAULT_LIMITS } from '../../../src/limits.ts';
import type { CallEnd } from '../../../src/protocol/wire.ts';
import { cellSources } from '../../support/built-once.ts';

const engine = ivm as unknown as Engine;
const blanks = new BlankIsolates({
  engine,
  sources: (await cellSources()).isolate,
  limits: DEFAULT_LIMITS,
  inspectable: false,
  onCatastrophe: () => undefined,
});

/** `wait` has one short entry and never answers; `loop` never ends its entry. */
const SCRIPT = `(async function (run) {
  LOADING;
  run({ default: { fetch() {}, [Symbol.for('annex.integration')]: {
    components: [], events: [],
    async handle({ event }) {
      if (event.kind === 'loop') for (;;);
      return new Promise(() => {});
    },
  } } });
})`;

/** After this, every call with an ordinary budget is overdue, and none with a patient one. */
const LATER_MS = 3_600_000;
const PATIENT = { cpuMs: 3_600_000, wallMs: 1_000 * LATER_MS };

/** A cell with one isolate. */
class Lone {
  readonly ends = new Map<number, CallEnd>();
  readonly isolate: TenantIsolate;
  /** For how long the cell has had no core. */
  starvedMs = 0;
  readonly #waiting = new Set<() => void>();
  #checks: Watched | undefined;
  #loaded = false;
  #logged = false;
  #disposed = false;

  constructor(script: string) {
    const changed = () => {
      for (const check of this.#waiting) check();
    };
    const end = ({ id }: CellCall, ended: CallEnd) => {
      this.ends.set(id, ended);
      changed();
    };
    const listener: IsolateListener = {
      log: () => {
        this.#logged = true;
        changed();
      },
      answered: (call, _answer, ended) => void (ended && end(call, ended)),
      ended: end,
      sent: () => undefined,
      loaded: () => {
        this.#loaded = true;
        changed();
      },
      disposed: () => {
        this.#disposed = true;
        changed();
      },
      begun: changed,
      stuck: () => undefined,
    };
    const starvedMs = () => this.starvedMs;
    const cell: CellDeps = {
      engine,
      slots: new Slots(2, 2),
      journal: new ExecutionJournal(openSync('/dev/null', 'w'), () => true),
      memory: { forget: () => undefined },
      recentCpu: new RecentCpuOfIsolates(),
      mainThread: new MainThread(),
      watchdog: {
        usedMs: Number.POSITIVE_INFINITY,
        get lateMs() {
          return starvedMs();
        },
        watch: (checks) => {
          this.#checks = checks;
        },
        unwatch: () => undefined,
      },
      limits: DEFAULT_LIMITS,
      cryptoThreads: new CryptoThreads(),
    };
    this.isolate = new TenantIsolate({
      key: 'owner@1',
      script: 'script@1',
      cell,
      limits: DEFAULT_LIMITS,
      listener,
    });
    void blanks
      .take(DEFAULT_LIMITS.isolateHeapMib, true)
      .then((blank) => this.isolate.load(blank, new CompiledScript(script, new CompileQueue())));
  }

  begin(id: number, kind: string, budget: { cpuMs: number; wallMs: number; elapsedMs?: number }): CellCall {
    const call = new CellCall(
      { id, ...budget },
      {
        url: 'https://x.example/v1',
        event: JSON.stringify({ kind }),
        environment: '{}',
        body: undefined,
        more: false,
      },
    );
    this.isolate.begin(call);
    return call;
  }

  until(holds: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      const check = () => {
        if (!holds()) return;
        this.#waiting.delete(check);
        resolve();
      };
      this.#waiting.add(check);
      check();
    });
  }

  loaded = (): Promise<void> => this.until(() => this.#loaded);
  /** Until its script has written a line to the log. */
  logged = (): Promise<void> => this.until(() => this.#logged);
  idle = (): Promise<void> => expect.poll(() => this.checks.running).toBe(false);

  get disposed(): boolean {
    return this.#disposed;
  }

  /** What the isolate has handed to the watchdog. */
  get checks(): Watched {
    if (this.#checks === undefined) throw new Error('The isolate is not watched.');
    return this.#checks;
  }

  outcomes(): Record<number, string> {
    return Object.fromEntries([...this.ends].map(([id, { outcome }]) => [id, outcome]));
  }
}

let lone: Lone;
afterEach(() => lone.isolate.end('canceled', {}));

/** An isolate with one call that waits, and nothing that runs. */
async function withNeighbour(): Promise<Lone> {
  lone = new Lone(SCRIPT.replace('LOADING', ''));
  lone.begin(1, 'wait', PATIENT);
  await lone.loaded();
  await lone.idle();
  return lone;
}

const WALL = { ...PATIENT, wallMs: 1_000 };
/** Its CPU is used up before it begins. */
const CPU = { ...PATIENT, cpuMs: -1 };

describe.each([
  {
    limit: 'wall time',
    budget: WALL,
    outcome: 'exceededWallTime',
    check: () => lone.checks.checkWall(performance.now() + LATER_MS),
  },
  {
    limit: 'CPU',
    budget: CPU,
    outcome: 'exceededCpu',
    check: () => lone.checks.checkCpu(performance.now(), 1),
  },
])('$limit', ({ budget, outcome, check }) => {
  test('a call that is checked during a short entry ends alone, as soon as that entry has ended', async () => {
    await withNeighbour();
    lone.begin(2, 'wait', budget);
    expect(lone.checks.running).toBe(true);
    check();
    await lone.until(() => lone.ends.has(2));
    expect(lone.outcomes()).toEqual({ 2: outcome });
    expect(lone.disposed).toBe(false);
  });

  test('a call whose entry still runs at the next check ends the isolate', async () => {
    await withNeighbour();
    lone.begin(2, 'loop', budget);
    check();
    expect(lone.outcomes()).toEqual({});
    check();
    expect(lone.outcomes()).toEqual({ 1: outcome, 2: outcome });
    expect(lone.disposed).toBe(true);
  });

  test('a caller that leaves during an endless entry does not prevent the end of the isolate', async () => {
    await withNeighbour();
    lone.begin(2, 'loop', budget);
    lone.isolate.cancel(2);
    check();
    check();
    expect(lone.disposed).toBe(true);
    expect(lone.outcomes()[2]).toBe(outcome);
  });
});

describe('a script that is loading', () => {
  test('is not ended when only a call that waits for it exceeds its wall time', async () => {
    lone = new Lone(
      SCRIPT.replace(
        'LOADING',
        'console.log(); for (let i = 0; i < 20; i++) await new Promise((next) => setTimeout(next, 1))',
      ),
    );
    lone.begin(1, 'wait', { ...WALL, elapsedMs: 1_001 });
    lone.begin(2, 'wait', PATIENT);
    await lone.logged();
    await lone.idle();
    lone.checks.checkWall(performance.now());
    expect(lone.outcomes()).toEqual({ 1: 'exceededWallTime' });
    await lone.loaded();
    expect([lone.disposed, lone.outcomes()]).toEqual([false, { 1: 'exceededWallTime' }]);
  });

  test('is ended when it takes longer than a call may', async () => {
    lone = new Lone(SCRIPT.replace('LOADING', 'console.log(); await new Promise(() => {})'));
    lone.begin(1, 'wait', WALL);
    lone.begin(2, 'wait', PATIENT);
    await lone.logged();
    await lone.idle();
    lone.checks.checkWall(performance.now() + LATER_MS);
    expect([lone.disposed, lone.outcomes()]).toEqual([
      true,
      { 1: 'exceededWallTime', 2: 'exceededWallTime' },
    ]);
  });

  // It has not used up its CPU: other work of the machine has the cores.
  test('is no fault of the author where it still executes', async () => {
    lone = new Lone(SCRIPT.replace('LOADING', 'console.log(); for (;;);'));
    lone.begin(1, 'wait', { ...WALL, elapsedMs: 1_001 });
    lone.begin(2, 'wait', PATIENT);
    await lone.logged();
    lone.checks.checkWall(performance.now());
    expect(lone.outcomes()).toEqual({ 1: 'internalError' });
    lone.checks.checkWall(performance.now() + LATER_MS);
    expect([lone.disposed, lone.outcomes()]).toEqual([true, { 1: 'internalError', 2: 'internalError' }]);
  });

  // Its timer was due long ago, and would have ended the load.
  test('is no fault of the author where it waits, and its cell had no core for most of the time', async () => {
    lone = new Lone(SCRIPT.replace('LOADING', 'console.log(); await new Promise(() => {})'));
    lone.begin(1, 'wait', WALL);
    await lone.logged();
    await lone.idle();
    lone.starvedMs = (LATER_MS * 2) / 3;
    lone.checks.checkWall(performance.now() + LATER_MS);
    expect([lone.disposed, lone.outcomes()]).toEqual([true, { 1: 'internalError' }]);
  });

  test('is a fault of the author where its cell had a core for most of the time', async () => {
    lone = new Lone(SCRIPT.replace('LOADING', 'console.log(); await new Promise(() => {})'));
    lone.begin(1, 'wait', WALL);
    await lone.logged();
    await lone.idle();
    lone.starvedMs = LATER_MS / 3;
    lone.checks.checkWall(performance.now() + LATER_MS);
    expect(lone.outcomes()).toEqual({ 1: 'exceededWallTime' });
  });
});
