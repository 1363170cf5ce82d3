/**
 * How much attacks on the service affect others. Four bystanders, each in an organization of its
 * own, are called all the time: beside each attack alone, after a quiet phase, or beside random
 * combinations of strangers and of the whole hostile corpus (`attacks:together`).
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import { startTemporaryService } from '../../src/local/temporary-service.ts';
import { Chance } from '../../test/support/fuzz/chance.ts';
import { type Bench, type Figure, pause, quantile, type Round } from '../figures.ts';
import { Client, type Installed } from '../rig.ts';
import type { Beginning, Order } from './attacks/attackers.ts';
import type { Bystanders, Seen } from './attacks/bystanders.ts';

const BYSTANDERS = 4;
const EVERY_MS = 25;
const QUIET_MS = 4_000;
const ATTACK_MS = 8_000;
const TOGETHER = 'together';
const TOGETHER_MAX = 3;
const CHECK_EVERY_MS = 250;
const MINUTES = 10;

const BYSTANDER = `
import { createIntegration } from '@annex/sdk';
export default createIntegration({
  async fetch(request) {
    return Response.json({ bytes: (await request.arrayBuffer()).byteLength });
  },
});`;

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
    return ((await answer) as [Answer])[0];
  }

  end(): void {
    this.#process.kill('SIGKILL');
  }
}

type Phase = Seen & { readonly loopPauseMs: number };

export const attacks: Bench = async function* (round) {
  // In this process: quarantine and the event loop are seen from inside alone.
  const { service, end } = await startTemporaryService({ logLevel: 'silent' });
  const [bystanders, attackers] = [new Child('bystanders.ts'), new Child('attackers.ts')];
  try {
    const { controlUrl: control, firstAdminToken: adminToken = '' } = service;
    const client = new Client(control, adminToken);
    await client.publish('bystander', { 'index.js': BYSTANDER });
    const places: Installed[] = [];
    for (let i = 0; i < BYSTANDERS; i++) places.push(await client.install('bystander', `quiet-${i}`));
    const endpoints = places.map(({ url }) => url.href);
    const { ready } = await attackers.ask<{ ready: string[] }>({
      victim: { control, adminToken, bystander: endpoints[0] ?? '' },
      ...(round.part !== '' && { part: round.part === TOGETHER ? '' : round.part }),
    } satisfies Beginning);
    bystanders.send({ endpoints, everyMs: EVERY_MS } satisfies Bystanders);
    const quarantine = watchQuarantine(
      () => places.filter(({ id }) => service.pool.isQuarantined(id)).length,
    );
    const loop = monitorEventLoopDelay({ resolution: 10 });
    loop.enable();
    const phase = async (names: readonly string[], ms: number): Promise<Phase> => {
      await bystanders.ask<Seen>({ take: true });
      loop.reset();
      if (names.length > 0) await attackers.ask({ start: names } satisfies Order);
      await pause(ms);
      const loopPauseMs = loop.max / 1e6;
      const seen = await bystanders.ask<Seen>({ take: true });
      if (names.length > 0) await attackers.ask({ stop: true } satisfies Order);
      for (const failure of new Set(seen.failures)) console.error(`${names.join(' + ')}: ${failure}`);
      return { ...seen, loopPauseMs };
    };
    await phase([], QUIET_MS);
    for (const [what, names] of chosen(ready, round)) {
      const quiet = await phase([], QUIET_MS);
      yield* rows(what, await phase(names, ATTACK_MS), quiet);
    }
    const { longestMs, now } = quarantine();
    yield absolute('bystanders: longest quarantine', 's', longestMs / 1_000, 60);
    yield absolute('bystanders: in quarantine at the end', '', now, 0);
  } finally {
    for (const child of [bystanders, attackers]) child.end();
    await end();
  }
};

/** The attacks of each phase, and the name of its rows. */
function* chosen(ready: readonly string[], { part, size, isQuick }: Round): Generator<[string, string[]]> {
  if (part !== TOGETHER) {
    for (const name of ready.filter((one) => one.includes(part))) yield [name, [name]];
    return;
  }
  const random = new Chance(Math.floor(Math.random() * 2 ** 31));
  const phases = ((size ?? (isQuick ? 1 : MINUTES)) * 60_000) / (QUIET_MS + ATTACK_MS);
  for (let at = 0; at < phases; at += 1) {
    const names = Array.from({ length: 1 + random.below(TOGETHER_MAX) }, () => random.pick(ready));
    console.error(names.join(' + '));
    yield ['attacks together', [...new Set(names)]];
  }
}

function* rows(what: string, attacked: Phase, quiet: Phase): Generator<Figure> {
  const [annex, other] = [attacked, quiet].map(({ latenciesMs }) => quantile(latenciesMs, 0.99));
  yield {
    row: `${what}: p99 of bystanders`,
    unit: 'ms',
    annex: annex ?? 0,
    to: 'quiet',
    other,
    aim: { most: 5 },
  };
  yield absolute(`${what}: failed calls of bystanders`, '', attacked.failures.length, 0);
  yield absolute(`${what}: longest pause of the event loop`, 'ms', attacked.loopPauseMs, 250);
}

const absolute = (row: string, unit: string, annex: number, most: number): Figure => ({
  ...{ row, unit, annex, aim: { most, isAbsolute: true } },
});

/** How long any bystander has been in quarantine at most, and how many are now. */
function watchQuarantine(count: () => number): () => { longestMs: number; now: number } {
  let [longestMs, since] = [0, performance.now()];
  const check = () => {
    if (count() === 0) since = performance.now();
    longestMs = Math.max(longestMs, performance.now() - since);
    return { longestMs, now: count() };
  };
  setInterval(check, CHECK_EVERY_MS).unref();
  return check;
}
