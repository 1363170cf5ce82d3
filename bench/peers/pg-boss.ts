/**
 * pg-boss on PostgreSQL: one process inserts batches, another fetches and completes them in
 * batches. The polling worker of pg-boss waits between fetches, so a few loops fetch jobs directly,
 * and each job is completed or failed on its own.
 */
import { type Job, PgBoss } from 'pg-boss';
import { endWithParent, produce } from './feed.ts';
import { jobsOf, type PeerSettings, peerSettings } from './peer.ts';
import { type Posted, type PostJob, SignedPosts } from './signed-post.ts';

const NAME = 'deliveries';
const BATCH = 512;
const BATCHES_AT_ONCE = 2;
const FETCHERS = 4;
const AGAIN_MS = 5;

async function main(settings: PeerSettings): Promise<void> {
  const boss = new PgBoss({
    host: settings.socket,
    user: 'postgres',
    database: 'postgres',
    max: 8,
    supervise: false,
    schedule: false,
  });
  boss.on('error', (error) => console.error(error));
  await boss.start();
  endWithParent();
  if (settings.role === 'work') return work(boss, settings);
  await produce(BATCH, BATCHES_AT_ONCE, (first, count) => boss.insert(NAME, jobsOf(settings, first, count)));
}

async function work(boss: PgBoss, settings: PeerSettings): Promise<void> {
  await boss.createQueue(NAME, { retryLimit: 3, retryDelay: 1, retryBackoff: true });
  const posts = new SignedPosts(settings.secret, settings.inFlight);
  process.send?.('ready');
  const batchSize = settings.inFlight / FETCHERS;
  const run = async () => {
    for (;;) {
      const jobs = await boss.fetch<PostJob>(NAME, { batchSize });
      if (jobs.length === 0) await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
      else
        await finish(boss, jobs, await Promise.allSettled(jobs.map(({ id, data }) => posts.post(id, data))));
    }
  };
  await Promise.all(Array.from({ length: FETCHERS }, run));
}

async function finish(
  boss: PgBoss,
  jobs: readonly Job<PostJob>[],
  ends: readonly PromiseSettledResult<Posted>[],
): Promise<void> {
  const idsOf = (status: 'fulfilled' | 'rejected') =>
    jobs.filter((_, index) => ends[index]?.status === status).map(({ id }) => id);
  const failed = idsOf('rejected');
  await boss.complete(NAME, idsOf('fulfilled'), { status: 200 });
  if (failed.length > 0) await boss.fail(NAME, failed, {});
}

await main(peerSettings());
