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
import { cellCode, readAttacks, uploadOf } from '../../../test/support/hostile/hostile-attack.ts';
import { Client, type Installed } from '../../rig.ts';
import { ATTACKER, STRANGERS, type Stranger, unreadAnswers, type Victim } from './strangers.ts';

/** A refused attacker tries again after this time. */
const RETRY_MS = 20;
const UNREAD_PLACES = 4;

/** Installations of each attack, each in an organization of its own, and callers of each. */
const PLACES = 4;
const CALLERS = 2;
/** Of the hostile corpus: those that once cost bystanders the most. */
const USUAL = new Set([
  ...[
    'boundary-edit-errors',
    'boundary-large-answers',
    'cpu-crash-every-call',
    'cpu-domains',
    'cpu-log-bytes',
  ],
  ...[
    'cpu-loop',
    'cpu-thenables',
    'memory-segments-over-calls',
    'network-loopback',
    'publishing-glob-import',
  ],
  ...['publishing-link-flood', 'publishing-yaml-aliases', 'publishing-yaml-flood', 'publishing-yaml-nesting'],
]);
const LARGE_ANSWER = `export default {
  fetch: () => new Response(new Uint8Array(10 * 1024 * 1024 - 1)),
};`;

export type Order = { readonly start: readonly string[] } | { readonly stop: true };

setPriority(constants.priority.PRIORITY_LOW);

/** Calls an endpoint in a loop, one call at a time. */
async function keepCalling({ url }: Installed, stop: AbortSignal): Promise<void> {
  while (!stop.aborted) {
    await new Promise<void>((resolve) => {
      const sent = request(url, { method: 'GET', signal: stop, localAddress: ATTACKER }, (response) => {
        response.resume().once('close', resolve);
      });
      sent.once('error', () => resolve()).end();
    });
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}

async function keepUploading(client: Client, upload: FormData, stop: AbortSignal): Promise<void> {
  while (!stop.aborted) {
    await client.post('/integrations', upload);
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}

/**
 * What strangers do, and authors: what each attack of the hostile corpus does, in several calls at
 * once.
 */
async function prepare({ victim, part }: Beginning): Promise<Map<string, Stranger>> {
  const client = new Client(victim.control, victim.adminToken);
  const attacks = new Map<string, Stranger>(Object.entries(STRANGERS));
  await client.publish('large-answer', { 'index.js': LARGE_ANSWER });
  const large: string[] = [];
  for (let i = 0; i < UNREAD_PLACES; i++)
    large.push((await client.install('large-answer', `large-${i}`)).url.href);
  attacks.set('unread answers', unreadAnswers(large));
  for (const attack of readAttacks().filter((one) => cellCode(one) === undefined)) {
    const { name } = attack;
    if (part === undefined ? !USUAL.has(name) : !name.includes(part)) continue;
    const upload = await uploadOf(attack);
    const { status } = await client.post('/integrations', upload);
    if (attack.category === 'publishing') attacks.set(name, (_, stop) => keepUploading(client, upload, stop));
    // What cannot be published attacks nobody.
    if (attack.category === 'publishing' || status !== 201) continue;
    const places: Installed[] = [];
    for (let i = 0; i < PLACES; i++) places.push(await client.install(name, `org-${name}-${i}`));
    const callers = places.flatMap((place) => Array<Installed>(CALLERS).fill(place));
    attacks.set(name, async (_, stop) => {
      await Promise.all(callers.map((place) => keepCalling(place, stop)));
    });
  }
  return attacks;
}

export interface Beginning {
  readonly victim: Victim;
  /** Attacks of the hostile corpus whose names have it; absent: the usual ones. */
  readonly part?: string;
}

process.once('disconnect', () => process.exit());
const [beginning] = (await once(process, 'message')) as [Beginning];
const attacks = await prepare(beginning);
let stopping = new AbortController();
let running: Promise<unknown> = Promise.resolve();
process.on('message', async (order: Order) => {
  if ('start' in order) {
    stopping = new AbortController();
    running = Promise.allSettled(
      order.start.map((name) => attacks.get(name)?.(beginning.victim, stopping.signal)),
    );
  } else {
    stopping.abort();
    await running;
  }
  process.send?.({ done: true });
});
process.send?.({ ready: [...attacks.keys()] });
