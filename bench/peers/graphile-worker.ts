/**
 * graphile-worker on PostgreSQL, with the settings of its own performance test: one process adds
 * batches, another fetches them into a queue of its own and completes them in batches.
 */
import { Logger, makeWorkerUtils, run } from 'graphile-worker';
import { endWithParent, produce } from '../feed.ts';
import { jobsOf, type PostJob, peerSettings, signedPosts } from './peer.ts';

const BATCH = 512;
const BATCHES_AT_ONCE = 2;

const settings = peerSettings();
const { socket, inFlight } = settings;
const connectionString = `postgres://postgres@localhost/postgres?host=${encodeURIComponent(socket)}`;
const logger = new Logger(() => (level: string, message: string) => {
  if (level === 'error') console.error(message);
});
endWithParent();
if (settings.role === 'work') {
  const post = signedPosts(settings);
  const batches = { completeJobBatchDelay: 0, failJobBatchDelay: 0 };
  const worker = { connectionString, concurrentJobs: inFlight, maxPoolSize: 8, ...batches };
  await run({
    preset: { worker: { ...worker, localQueue: { size: 2 * inFlight } } },
    noHandleSignals: true,
    logger,
    taskList: {
      post: async (data: unknown, { job }: { job: { id: string } }) =>
        void (await post(job.id, data as PostJob)),
    },
  });
  process.send?.('ready');
} else {
  const utils = await makeWorkerUtils({ connectionString, logger });
  await produce(BATCH, BATCHES_AT_ONCE, (first, count) =>
    utils.addJobs(
      jobsOf(settings, first, count).map((payload) => ({ identifier: 'post', payload, maxAttempts: 4 })),
    ),
  );
}
