/**
 * BullMQ on Redis: one process adds batches, another works on them. Four attempts with growing
 * delays, and the result of each job is kept, as in Annex.
 */
import { Queue, Worker } from 'bullmq';
import { endWithParent, produce } from './feed.ts';
import { jobsOf, type PeerSettings, peerSettings } from './peer.ts';
import { type PostJob, SignedPosts } from './signed-post.ts';

const NAME = 'deliveries';
const BATCH = 256;
const BATCHES_AT_ONCE = 4;

async function main(settings: PeerSettings): Promise<void> {
  const connection = { path: settings.socket, maxRetriesPerRequest: null };
  endWithParent();
  if (settings.role === 'work') return work(settings, connection);
  const queue = new Queue<PostJob>(NAME, {
    connection,
    defaultJobOptions: { attempts: 4, backoff: { type: 'exponential', delay: 1_000, jitter: 0.1 } },
  });
  await produce(BATCH, BATCHES_AT_ONCE, (first, count) =>
    queue.addBulk(jobsOf(settings, first, count).map((job) => ({ name: 'post', ...job }))),
  );
}

async function work(settings: PeerSettings, connection: { path: string; maxRetriesPerRequest: null }) {
  const posts = new SignedPosts(settings.secret, settings.inFlight);
  const worker = new Worker<PostJob>(NAME, (job) => posts.post(job.id, job.data), {
    connection,
    concurrency: settings.inFlight,
  });
  worker.on('error', (error) => console.error(error));
  await worker.waitUntilReady();
  process.send?.('ready');
}

await main(peerSettings());
