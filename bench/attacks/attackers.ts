/**
 * The attackers, in a process of their own at a low priority: real ones have machines of their own,
 * and take no core from the service.
 *
 * Run as a child: receives a `Beginning`, publishes and installs what attacks need, and answers `{
 * ready }` with the names of all attacks. Then `{ start: names }` starts some together, and `{
 * stop: true }` ends them; both are answered when done.
 */
import { once } from 'node:events';
import { request } from 'node:http';
import { constants, setPriority } from 'node:os';
import { readAttacks, uploadOf } from '../../test/support/hostile/hostile-attack.ts';
import { Api, ATTACKER, type Place, type Victim } from './api.ts';
import { AUTHORS, LARGE_ANSWER, settle, UPLOADS } from './authors.ts';
import { corpusAttacks } from './corpus.ts';
import { STRANGERS, type Stranger, unreadAnswers } from './strangers.ts';

/** A refused attacker tries again after this time. */
const RETRY_MS = 20;
const UNREAD_PLACES = 4;

export type Order = { readonly start: readonly string[] } | { readonly stop: true };
/** Numbers of answers to the attackers, by attack and status. */
export type Report = Readonly<Record<string, Readonly<Record<string, number>>>>;

setPriority(constants.priority.PRIORITY_LOW);
const report: Record<string, Record<string, number>> = {};

function note(attack: string, answer: string | number): void {
  report[attack] ??= {};
  const counts = report[attack];
  counts[answer] = (counts[answer] ?? 0) + 1;
}

/** Calls an endpoint in a loop, one call at a time. */
async function keepCalling(attack: string, { endpoint }: Place, stop: AbortSignal): Promise<void> {
  while (!stop.aborted) {
    const status = await new Promise<string>((resolve) => {
      const sent = request(endpoint, { method: 'GET', signal: stop, localAddress: ATTACKER }, (response) => {
        response.resume().once('close', () => resolve(String(response.statusCode)));
      });
      sent.once('error', (cause: NodeJS.ErrnoException) => resolve(cause.code ?? cause.name)).end();
    });
    if (!stop.aborted) note(attack, status);
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}

async function keepUploading(attack: string, api: Api, upload: FormData, stop: AbortSignal): Promise<void> {
  while (!stop.aborted) {
    note(attack, (await api.post('/integrations', upload)).status);
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}

async function prepare(victim: Victim, withCorpus: boolean): Promise<Map<string, Stranger>> {
  const api = new Api(victim);
  const attacks = new Map<string, Stranger>(Object.entries(STRANGERS));
  await api.publish('large-answer', { 'index.js': LARGE_ANSWER });
  const large: string[] = [];
  for (let i = 0; i < UNREAD_PLACES; i++)
    large.push((await api.install('large-answer', `large-${i}`)).endpoint);
  attacks.set('unread answers', unreadAnswers(large));
  for (const attack of readAttacks().filter(({ name }) => UPLOADS.some((upload) => upload === name))) {
    const upload = await uploadOf(attack);
    attacks.set(attack.name, (_, stop) => keepUploading(attack.name, api, upload, stop));
  }
  for (const [name, author] of Object.entries(AUTHORS)) {
    const places = await settle(api, name, author);
    const callers = places.flatMap((place) => Array<Place>(author.callers).fill(place));
    attacks.set(name, async (_, stop) => {
      await Promise.all(callers.map((place) => keepCalling(name, place, stop)));
    });
  }
  if (!withCorpus) return attacks;
  for (const [name, places] of await corpusAttacks(api))
    attacks.set(name, async (_, stop) => {
      await Promise.all(places.map((place) => keepCalling(name, place, stop)));
    });
  return attacks;
}

export interface Beginning {
  readonly victim: Victim;
  /** Also prepares the integrations of the hostile corpus. */
  readonly withCorpus: boolean;
}

process.once('disconnect', () => process.exit());
const [{ victim, withCorpus }] = (await once(process, 'message')) as [Beginning];
const attacks = await prepare(victim, withCorpus);
let stopping = new AbortController();
let running: Promise<unknown> = Promise.resolve();
process.on('message', async (order: Order) => {
  if ('start' in order) {
    stopping = new AbortController();
    const chosen = order.start.map((name) => attacks.get(name)?.(victim, stopping.signal));
    running = Promise.allSettled(chosen);
    process.send?.({ started: order.start });
    return;
  }
  stopping.abort();
  await running;
  process.send?.({ report } satisfies { report: Report });
});
process.send?.({ ready: [...attacks.keys()] });
