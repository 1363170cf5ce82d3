/**
 * How much attacks of authors affect others: a bystander in an organization of its own is called
 * beside attacks of the hostile corpus, one after the other, or beside random combinations of all
 * (`attacks:together`), after a quiet phase each. That each is stopped, and that no bystander fails
 * for good, is what `test/security/hostile/` tests.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { Chance } from '../../test/support/fuzz/chance.ts';
import { cellCode, readAttacks, uploadOf } from '../../test/support/hostile/hostile-attack.ts';
import type { Attacks } from '../attackers.ts';
import { type Bench, pause, type Round } from '../figures.ts';
import { measure } from '../load.ts';
import { type Client, withRig } from '../rig.ts';
import { TINY } from './calls.ts';

/** Connections of the bystander. */
const CONNECTIONS = 4;
/** Installations of each attack, each in an organization of its own, and callers of each. */
const PLACES = 4;
const CALLERS = 4;
const TOGETHER = 'together';
const TOGETHER_MAX = 3;
/** How long a cell may take to come back after the last attack. */
const SETTLED_MS = 2_000;
/** Those that cost bystanders the most. */
const USUAL = new Set([
  ...[
    'boundary-edit-errors',
    'boundary-large-answers',
    'cpu-crash-every-call',
    'cpu-domains',
    'cpu-log-bytes',
  ],
  ...['cpu-loop', 'cpu-thenables', 'memory-segments-over-calls', 'network-loopback'],
]);

export const attacks: Bench = async function* (round) {
  const found = await withRig({}, async (rig) => {
    await rig.client.publish('bystander', TINY);
    const { url } = await rig.client.install('bystander', 'quiet');
    const attackers = await installAttacks(rig.client, round);
    const bystander = () => measure({ url }, round.seconds, CONNECTIONS);
    const results = [];
    await bystander();
    for (const [what, urls] of attackers) {
      const quiet = await bystander();
      const child = fork(fileURLToPath(new URL('../attackers.ts', import.meta.url)));
      child.send({ urls, callers: CALLERS } satisfies Attacks);
      await once(child, 'message');
      await pause(round.warmupSeconds * 1_000);
      results.push({ what, quiet, attacked: await bystander() });
      child.kill('SIGKILL');
      await pause(SETTLED_MS);
    }
    return results;
  });
  for (const { what, quiet, attacked } of found) {
    const beside = { unit: 'ms', to: 'quiet', aim: { most: 5 } };
    yield { ...beside, row: `beside ${what}: p99`, annex: attacked.p99Ms, other: quiet.p99Ms };
    const none = { most: 0, isAbsolute: true };
    yield { row: `beside ${what}: failed calls`, unit: '', annex: attacked.failures, aim: none };
  }
};

/** @returns endpoints of attackers by the name of their rows */
async function installAttacks(client: Client, { part, size = 10 }: Round): Promise<[string, string[]][]> {
  const found: [string, string[]][] = [];
  for (const attack of readAttacks()) {
    const { name, category } = attack;
    const isChosen = part === '' ? USUAL.has(name) : part === TOGETHER || name.includes(part);
    if (!isChosen || category === 'publishing' || cellCode(attack) !== undefined) continue;
    // The service has refused the upload: there is no attack to measure.
    if ((await client.post('/integrations', await uploadOf(attack))).status !== 201) continue;
    const urls: string[] = [];
    for (let at = 0; at < PLACES; at += 1) urls.push((await client.install(name, `${name}-${at}`)).url.href);
    found.push([name, urls]);
  }
  if (part !== TOGETHER) return found;
  const random = new Chance(Math.floor(Math.random() * 2 ** 31));
  return Array.from({ length: size }, () => {
    const chosen = Array.from({ length: 1 + random.below(TOGETHER_MAX) }, () => random.pick(found));
    return [chosen.map(([name]) => name).join(' + '), chosen.flatMap(([, urls]) => urls)];
  });
}
