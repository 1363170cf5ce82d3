/**
 * `npm run bench:attacks`: how much attacks on the service affect other tenants.
 *
 *   (default)        every attack alone, one after the other, each after a quiet phase
 *   --minutes N      random combinations of all attacks and of the hostile corpus, for N minutes;
 *                    `--seed S` repeats an order
 *
 * Four bystanders, each in an organization of its own, are called all the time. Shown for each
 * phase: their calls, failures and latencies, and the longest pause of the host's event loop. Aims:
 * no failure, a p99 of at most five times the quiet one of the same run, no pause of the event loop
 * over 250 ms, no bystander in quarantine for longer than a minute, and none in the end. It exits
 * with 1 where an aim is missed.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { startTemporaryService } from '../src/local/temporary-service.ts';
import { Chance } from '../test/support/fuzz/chance.ts';
import { Api, type Victim } from './attacks/api.ts';
import type { Beginning, Order, Report } from './attacks/attackers.ts';
import type { Bystanders, Seen } from './attacks/bystanders.ts';

const BYSTANDERS = 4;
const EVERY_MS = 25;
const QUIET_MS = 4_000;
const ATTACK_MS = 8_000;
/** Duration of a random combination. */
const COMBINATION_MS = 6_000;
const TOGETHER_MAX = 3;
const P99_RATIO_MAX = 5;
const LOOP_PAUSE_MS_MAX = 250;
const QUARANTINE_MS_MAX = 60_000;
const CHECK_EVERY_MS = 250;

const BYSTANDER = `
import { createIntegration } from '@annex/sdk';
export default createIntegration({
  async fetch(request) {
    return Response.json({ bytes: (await request.arrayBuffer()).byteLength });
  },
});`;

const { values } = parseArgs({
  options: {
    minutes: { type: 'string' },
    seed: { type: 'string' },
    only: { type: 'string' },
    flag: { type: 'string', multiple: true },
  },
});

interface Phase {
  readonly what: string;
  readonly calls: number;
  readonly failures: readonly string[];
  readonly latenciesMs: readonly number[];
  readonly loopPauseMs: number;
}

/** A child process that answers each message. */
class Child {
  readonly #process: ChildProcess;

  constructor(file: string) {
    this.#process = fork(fileURLToPath(new URL(`attacks/${file}`, import.meta.url)));
  }

  send(message: object): void {
    this.#process.send(message);
  }

  async ask<Answer>(message: object): Promise<Answer> {
    const answer = once(this.#process, 'message');
    this.send(message);
    const [received] = (await answer) as [Answer];
    return received;
  }

  end(): void {
    this.#process.kill('SIGKILL');
  }
}

/** Watches what only the operator's side sees: quarantine, and pauses of the event loop. */
class Watch {
  readonly loop = monitorEventLoopDelay({ resolution: 10 });
  readonly #isKeptApart: (id: string) => boolean;
  readonly #ids: readonly string[];
  readonly #since = new Map<string, number>();
  longestQuarantineMs = 0;

  constructor(ids: readonly string[], isKeptApart: (id: string) => boolean) {
    this.#ids = ids;
    this.#isKeptApart = isKeptApart;
    this.loop.enable();
    setInterval(() => this.#check(), CHECK_EVERY_MS).unref();
  }

  /** Bystanders that are in quarantine now. */
  get inQuarantine(): number {
    return this.#since.size;
  }

  #check(): void {
    for (const id of this.#ids) {
      if (!this.#isKeptApart(id)) this.#since.delete(id);
      else if (!this.#since.has(id)) this.#since.set(id, performance.now());
      const since = this.#since.get(id);
      if (since !== undefined)
        this.longestQuarantineMs = Math.max(this.longestQuarantineMs, performance.now() - since);
    }
  }
}

const NS_PER_MS = 1e6;
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

function percentile(latenciesMs: readonly number[], share: number): number {
  const sorted = latenciesMs.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length * share)] ?? Number.NaN;
}

async function main(): Promise<number> {
  const { service, end } = await startTemporaryService({ logLevel: 'silent', flags: values.flag ?? [] });
  const bystanders = new Child('bystanders.ts');
  const attackers = new Child('attackers.ts');
  try {
    const victim: Victim = {
      control: service.controlUrl,
      open: service.publicUrl,
      adminToken: service.firstAdminToken ?? '',
      bystander: '',
    };
    const api = new Api(victim);
    await api.publish('bystander', { 'index.js': BYSTANDER });
    const places = [];
    for (let i = 0; i < BYSTANDERS; i++) places.push(await api.install('bystander', `quiet-${i}`));
    const beginning: Beginning = {
      victim: { ...victim, bystander: places[0]?.endpoint ?? '' },
      withCorpus: values.minutes !== undefined,
    };
    const { ready } = await attackers.ask<{ ready: string[] }>(beginning);
    const endpoints = places.map(({ endpoint }) => endpoint);
    bystanders.send({ endpoints, everyMs: EVERY_MS } satisfies Bystanders);
    const { pool } = service;
    const watch = new Watch(
      places.map(({ id }) => id),
      (id) => pool.isQuarantined(id),
    );
    const run = async (what: string, attacks: readonly string[], ms: number): Promise<Phase> => {
      await bystanders.ask<Seen>({ take: true });
      watch.loop.reset();
      if (attacks.length > 0) await attackers.ask({ start: attacks } satisfies Order);
      await pause(ms);
      const loopPauseMs = watch.loop.max / NS_PER_MS;
      const seen = await bystanders.ask<Seen>({ take: true });
      if (attacks.length > 0) last = (await attackers.ask<{ report: Report }>({ stop: true })).report;
      const { latenciesMs, failures } = seen;
      return { what, calls: latenciesMs.length, failures, latenciesMs, loopPauseMs };
    };
    let last: Report = {};
    await run('warm-up', [], QUIET_MS);
    const phases =
      values.minutes === undefined
        ? await oneByOne(values.only === undefined ? ready : values.only.split(','), run)
        : await combined(ready, Number(values.minutes), run);
    console.log('Answers to the attackers:', JSON.stringify(last));
    return report(phases, watch);
  } finally {
    bystanders.end();
    attackers.end();
    await end();
  }
}

type Run = (what: string, attacks: readonly string[], ms: number) => Promise<Phase>;

async function oneByOne(names: readonly string[], run: Run): Promise<Phase[]> {
  const phases: Phase[] = [];
  for (const name of names) {
    phases.push(await run('quiet', [], QUIET_MS));
    phases.push(await run(name, [name], ATTACK_MS));
    const phase = phases.at(-1);
    if (phase) console.error(`${name}: ${phase.failures.length} failures of ${phase.calls}`);
  }
  return phases;
}

async function combined(names: readonly string[], minutes: number, run: Run): Promise<Phase[]> {
  const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 31));
  console.log(`Seed ${seed}.`);
  const random = new Chance(seed);
  const phases = [await run('quiet', [], QUIET_MS)];
  const endAt = performance.now() + minutes * 60_000;
  while (performance.now() < endAt) {
    const count = 1 + random.below(TOGETHER_MAX);
    const chosen = Array.from({ length: count }, () => random.pick(names));
    phases.push(await run([...new Set(chosen)].join(' + '), [...new Set(chosen)], COMBINATION_MS));
  }
  phases.push(await run('quiet', [], QUIET_MS));
  return phases;
}

/** Prints the results. @returns the exit code */
function report(phases: readonly Phase[], watch: Watch): number {
  const quiet = phases.filter(({ what }) => what === 'quiet').flatMap(({ latenciesMs }) => latenciesMs);
  const quietP99 = percentile(quiet, 0.99);
  const rows = phases.map((phase) => {
    const p99 = percentile(phase.latenciesMs, 0.99);
    const ratio = p99 / quietP99;
    const misses = [
      ...(phase.failures.length > 0 ? ['failures'] : []),
      ...(phase.what !== 'quiet' && !(ratio <= P99_RATIO_MAX) ? ['p99'] : []),
      ...(phase.loopPauseMs > LOOP_PAUSE_MS_MAX ? ['event loop'] : []),
    ];
    return {
      attack: phase.what,
      calls: phase.calls,
      failures: phase.failures.length,
      'p50 ms': percentile(phase.latenciesMs, 0.5).toFixed(1),
      'p99 ms': p99.toFixed(1),
      'p99 ratio': ratio.toFixed(1),
      'loop pause ms': phase.loopPauseMs.toFixed(0),
      missed: misses.join(', '),
    };
  });
  console.table(rows.filter(({ attack }) => attack !== 'quiet'));
  const failures = new Map<string, number>();
  for (const { failures: some } of phases)
    for (const failure of some) failures.set(failure, (failures.get(failure) ?? 0) + 1);
  for (const [failure, times] of [...failures].sort(([, a], [, b]) => b - a).slice(0, 10))
    console.log(`${times} × ${failure}`);
  console.log(
    `Quiet: p99 ${quietP99.toFixed(1)} ms of ${quiet.length} calls. Longest quarantine of a bystander: ${(watch.longestQuarantineMs / 1_000).toFixed(1)} s; in quarantine at the end: ${watch.inQuarantine}.`,
  );
  const isMissed = rows.some(({ missed }) => missed !== '');
  const isFramed = watch.longestQuarantineMs > QUARANTINE_MS_MAX || watch.inQuarantine > 0;
  return isMissed || isFramed ? 1 : 0;
}

process.exitCode = await main();
