/**
 * pg-boss on PostgreSQL: one process inserts batches, another fetches and completes them in
 * batches. The polling worker of pg-boss waits between fetches, so a few loops fetch jobs directly,
 * and each job is completed or failed on its own.
 */
import { PgBoss } from 'pg-boss';
import { endWithParent, produce } from '../feed.ts';
import { pause } from '../figures.ts';
import { jobsOf, type PostJob, peerSettings, signedPosts } from './peer.ts';

const NAME = 'deliveries';
const BATCH = 512;
const BATCHES_AT_ONCE = 2;
const FETCHERS = 4;
const AGAIN_MS = 5;

const settings = peerSettings();
const { socket: host, inFlight } = settings;
const server = { host, user: 'postgres', database: 'postgres', max: 8 };
const boss = new PgBoss({ ...server, supervise: false, schedule: false });
boss.on('error', (error: Error) => console.error(error));
await boss.start();
endWithParent();
if (settings.role === 'work') {
  await boss.createQueue(NAME, { retryLimit: 3, retryDelay: 1, retryBackoff: true });
  process.send?.('ready');
  await Promise.all(Array.from({ length: FETCHERS }, work));
} else
  await produce(BATCH, BATCHES_AT_ONCE, (first, count) =>
    boss.insert(
      NAME,
      jobsOf(settings, first, count).map((data) => ({ data })),
    ),
  );

async function work(): Promise<never> {
  const post = signedPosts(settings);
  for (;;) {
    const batchSize = inFlight / FETCHERS;
    const jobs: { id: string; data: PostJob }[] = await boss.fetch(NAME, { batchSize });
    if (jobs.length === 0) await pause(AGAIN_MS);
    const ends = await Promise.allSettled(jobs.map(({ id, data }) => post(id, data)));
    const idsOf = (status: string) =>
      jobs.filter((_, index) => ends[index]?.status === status).map(({ id }) => id);
    const [done, failed] = [idsOf('fulfilled'), idsOf('rejected')];
    if (done.length > 0) await boss.complete(NAME, done, { status: 200 });
    if (failed.length > 0) await boss.fail(NAME, failed, {});
  }
}
