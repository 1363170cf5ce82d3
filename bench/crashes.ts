/**
 * `npm run bench:crashes`: kills the host a hundred times while twenty thousand events are posted,
 * and compares the ledgers of client and receiver: every acknowledged event has arrived, and no
 * other. `--rounds` and `--events` change the numbers.
 *
 * The long version of `test/slow/delivery-crash.test.ts`.
 */
import { parseArgs } from 'node:util';
import { crashRounds } from '../test/support/crash/crash-rounds.ts';

const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '100' }, events: { type: 'string', default: '20000' } },
});

const { lost, neverPosted, postedTwice, misrouted, partialBatches, badSignatures, ...counts } =
  await crashRounds({
    rounds: Number(values.rounds),
    events: Number(values.events),
    random: Math.random,
    onRound: (round, acknowledged) => console.log(`crash ${round}: ${acknowledged} acknowledged`),
  });
console.table({
  ...counts,
  'acknowledged and lost': lost.length,
  'never posted': neverPosted.length,
  'posted twice by one process': postedTwice.length,
  'to a wrong receiver, or as two deliveries': misrouted.length,
  'batches that arrived in part': partialBatches,
  'bad signatures': badSignatures,
});
const wrong = [lost, neverPosted, postedTwice, misrouted].some((list) => list.length > 0);
if (wrong || partialBatches > 0 || badSignatures > 0) process.exitCode = 1;
