/**
 * `npm run bench:crashes`: the host is killed a hundred times while twenty thousand events pour in, and the ledgers of client and
 * receiver are compared: what was acknowledged has arrived, and nothing else has. `--rounds` and `--events` ask for others.
 *
 * The same as `test/slow/delivery-crash.test.ts`, for as long as it takes.
 */
import { parseArgs } from 'node:util';
import { crashRounds } from '../test/support/crash/crash-rounds.ts';

const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '100' }, events: { type: 'string', default: '20000' } },
});

const { lost, outOfThinAir, twiceInOneLife, astray, torn, badSignatures, ...counts } = await crashRounds({
  rounds: Number(values.rounds),
  events: Number(values.events),
  chance: Math.random,
  onRound: (round, acknowledged) => console.log(`crash ${round}: ${acknowledged} acknowledged`),
});
console.table({
  ...counts,
  'acknowledged and lost': lost.length,
  'never posted': outOfThinAir.length,
  'twice in one life of the host': twiceInOneLife.length,
  'to somebody else, or as two deliveries': astray.length,
  'batches torn apart': torn,
  'bad signatures': badSignatures,
});
const wrong = [lost, outOfThinAir, twiceInOneLife, astray].some((list) => list.length > 0);
if (wrong || torn > 0 || badSignatures > 0) process.exitCode = 1;
