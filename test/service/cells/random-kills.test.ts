/**
 * Cells killed at random under load: no call hangs, none gets an answer that is not its own, and
 * none runs twice.
 *
 * `ANNEX_TEST_KILLS` says how many kills.
 */
import { expect, test } from 'vitest';
import { Chance, UNTHROTTLED } from '../../support/fuzz/fuzz.ts';
import { serve } from '../../support/http/egress.ts';
import { type Installed, startTestService } from '../../support/service.ts';

const KILLS = Number(process.env['ANNEX_TEST_KILLS'] ?? 30);
/** Longer than any call takes on a busy machine: a call that hangs is answered with a 504. */
const CALL_WALL_MS = 60_000;
const STREAMS = 24;

/** Answers with the token of the request: at once, later, or after it was sent to a counter. */
const worker = (counter: string) => `
  export default {
    async fetch(request) {
      const { searchParams } = new URL(JSON.parse((await request.formData()).get('event')).request.url);
      const token = searchParams.get('token');
      const how = Number(searchParams.get('how'));
      if (how === 1) await new Promise((resolve) => setTimeout(resolve, 15));
      if (how === 2) await fetch('${counter}/' + token);
      return new Response(token);
    },
  };`;

interface Answered {
  readonly status: number;
  readonly text: string;
  readonly token: string;
  readonly tookMs: number;
}

async function called({ endpoint }: Installed, token: string, how: number): Promise<Answered> {
  const startedAt = performance.now();
  const response = await fetch(`${endpoint}/?token=${token}&how=${how}`);
  const text = await response.text();
  return { status: response.status, text, token, tookMs: performance.now() - startedAt };
}

const isCrash = ({ status, text }: Answered) =>
  status === 503 && JSON.parse(text).error.code === 'CELL_CRASHED';

test(`${KILLS} kills of random cells under load: no call hangs, each has its own answer or crashed`, async () => {
  const random = new Chance(1_303);
  const seen = new Map<string, number>();
  const counter = await serve(({ url = '' }, response) => {
    seen.set(url, (seen.get(url) ?? 0) + 1);
    response.end('counted');
  });
  const annex = await startTestService({
    cells: 3,
    limits: { ...UNTHROTTLED, callWallMs: CALL_WALL_MS },
    flags: ['--egress-allow', '127.0.0.0/8'],
  });
  await annex.publish('worker', { 'index.js': worker(counter) });
  const installed = await Promise.all(Array.from({ length: 12 }, () => annex.install('worker')));
  let stopped = false;
  let calls = 0;
  let crashed = 0;
  let slowestMs = 0;
  const wrong: Answered[] = [];
  const run = async (stream: number) => {
    for (let turn = 0; !stopped; turn++) {
      const answer = await called(random.pick(installed), `${stream}-${turn}`, random.below(3));
      calls += 1;
      slowestMs = Math.max(slowestMs, answer.tookMs);
      if (isCrash(answer)) crashed += 1;
      else if (answer.status !== 200 || answer.text !== answer.token) wrong.push(answer);
    }
  };
  const streams = Array.from({ length: STREAMS }, (_, stream) => run(stream));
  for (let kill = 0; kill < KILLS; kill++) {
    const until = calls + 5 + random.below(20);
    await expect.poll(() => calls).toBeGreaterThan(until);
    const pids = annex.cellPids;
    if (pids.length > 0) killQuietly(random.pick(pids));
  }
  stopped = true;
  await Promise.all(streams);
  const moved = await annex.metric('annex_calls_moved_total');
  console.log(
    `${KILLS} kills: ${calls} calls, ${crashed} crashed, ${moved} moved unseen, the slowest took ${Math.round(slowestMs)} ms`,
  );
  expect(wrong).toEqual([]);
  // A call that has begun never begins again.
  expect(Math.max(...seen.values())).toBe(1);
  expect(await annex.metric('annex_calls_in_flight')).toBe(0);
  // No installation is blamed for a kill from outside.
  expect(await annex.metric('annex_installations_suspected')).toBe(0);
  for (const target of installed) expect((await called(target, 'last', 0)).text).toBe('last');
}, 900_000);

/** The picked process may have ended meanwhile. */
function killQuietly(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended.
  }
}
