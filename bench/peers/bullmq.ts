/**
 * BullMQ on Redis: one process adds batches, another works on them. Four attempts with growing
 * delays, and the result of each job is kept, as in Annex.
 */
import { Queue, Worker } from 'bullmq';
import { endWithParent, produce } from '../feed.ts';
import { jobsOf, type PostJob, peerSettings, signedPosts } from './peer.ts';

const NAME = 'deliveries';
const BATCH = 256;
const BATCHES_AT_ONCE = 4;

const settings = peerSettings();
const connection = { path: settings.socket, maxRetriesPerRequest: null };
endWithParent();
if (settings.role === 'work') {
  const post = signedPosts(settings);
  const run = ({ id = '', data }: { id?: string; data: PostJob }) => post(id, data);
  const worker = new Worker(NAME, run, { connection, concurrency: settings.inFlight });
  worker.on('error', (error: Error) => console.error(error));
  await worker.waitUntilReady();
  process.send?.('ready');
} else {
  const backoff = { type: 'exponential', delay: 1_000, jitter: 0.1 };
  const queue = new Queue(NAME, { connection, defaultJobOptions: { attempts: 4, backoff } });
  await produce(BATCH, BATCHES_AT_ONCE, (first, count) =>
    queue.addBulk(jobsOf(settings, first, count).map((data) => ({ name: 'post', data }))),
  );
}
