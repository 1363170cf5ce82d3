/**
 * Runs `annex dev`: service, watch, rounds, keys and page, started in this order and stopped in the
 * reverse one. No decision is made here.
 */
import { resolve } from 'node:path';
import type { CommandContext } from '../../cli/command.ts';
import { prepareUpload } from '../../cli/upload/prepared-upload.ts';
import type { DevEvent, ProblemReport } from './dev-event.ts';
import { EventFeed, KEYS_HELP, type Listener, showEvent } from './dev-event.ts';
import { openDevFolder, pageToken } from './dev-folder.ts';
import { DevKeys } from './dev-keys.ts';
import { type DevService, type OwnServiceRequest, ownService, runningService } from './dev-service.ts';
import { type DevInput, DevSession, type Following, followTraffic } from './dev-session.ts';
import { DevTraffic } from './dev-traffic.ts';
import { ChangeRounds, FolderWatch } from './folder-watch.ts';
import { pageOperations } from './page/page-operations.ts';
import { startPageServer } from './page/page-server.ts';

export interface DevOptions extends DevInput {
  /** Whether a running service is used in place of an own one. */
  readonly isRunning: boolean;
  readonly port: number;
  readonly pagePort: number;
  readonly egressAllow: string | undefined;
  /** File of the event types of the product. */
  readonly eventTypes: string | undefined;
  /** Port for debuggers; undefined lets none in. */
  readonly inspectPort: number | undefined;
}

/** @returns when the signal or the key `q` has ended it, and everything is stopped */
export async function runDev(given: CommandContext, options: DevOptions): Promise<void> {
  const quit = new AbortController();
  const context = { ...given, signal: AbortSignal.any([given.signal, quit.signal]) };
  const folder = resolve(context.cwd, options.folder ?? '.');
  const stops: (() => unknown)[] = [];
  try {
    await start(context, { options, folder, stops, quit: () => quit.abort() });
    await abortOf(context.signal);
  } catch (error) {
    // What fails after the end was asked for is a consequence of it.
    if (!context.signal.aborted) throw error;
  } finally {
    for (const stop of stops.reverse()) await stop();
  }
}

interface Start {
  readonly options: DevOptions;
  readonly folder: string;
  /** Run last to first at the end. */
  readonly stops: (() => unknown)[];
  readonly quit: () => void;
}

async function start(context: CommandContext, { options, folder, stops, quit }: Start): Promise<void> {
  const { output, signal, isTerminal } = context;
  // A folder that is none of an integration is reported before anything is started.
  const { upload } = await prepareUpload(context, options);
  const devFolder = await openDevFolder(folder);
  const organization = upload.manifest?.organization;
  const feed = new EventFeed();
  const emit = (event: DevEvent, report?: ProblemReport): Promise<void> => {
    feed.emit(event);
    return output.item(event, () => showEvent(output, event, report));
  };
  const own = { data: devFolder, folder, organization, traffic: new DevTraffic(emit) };
  const service = await serviceFor(context, options, own);
  stops.push(() => service.end());
  const { annex, traffic } = service;
  const monotonicNow = () => performance.now();
  const session = new DevSession({
    ...{ context, annex, emit, monotonicNow },
    input: { ...options, overwriteSecrets: traffic !== undefined || options.overwriteSecrets },
    uploaded: (origins) => watch.watchAlso(origins),
  });
  const page = await startPageServer({
    port: options.pagePort,
    token: await pageToken(devFolder),
    feed,
    operations: pageOperations({ annex, session, emit, ...(traffic && { traffic }) }),
  });
  stops.push(() => page.close());
  const rounds = new ChangeRounds({ round: (since) => session.round(since), monotonicNow, after: later });
  stops.push(() => rounds.close());
  const watch = await FolderWatch.start(folder, (isEmpty) => rounds.changed(isEmpty));
  stops.push(() => watch.close());
  await emit({
    ...{ event: 'started', folder, service: service.url, page: page.url },
    ...(service.inspector !== undefined && { inspector: service.inspector }),
  });
  stops.push(feed.listen(trafficFollower(session, { annex, emit, signal }, context)));
  rounds.changed();
  if (!isTerminal.stdin || output.isJson) return;
  output.talk(KEYS_HELP);
  stops.push(new DevKeys({ context, annex, session, page: page.url, emit, quit }).start());
}

/** Follows log and deliveries from the first version that is live, and again after a failure. */
function trafficFollower(session: DevSession, following: Following, context: CommandContext): Listener {
  const { emit, signal } = following;
  let isFollowing = false;
  return ({ event }) => {
    const { live } = session;
    if (event !== 'live' || live === undefined || isFollowing) return;
    isFollowing = true;
    followTraffic(following, live).catch((error: unknown) => {
      isFollowing = false;
      if (!signal.aborted) void emit({ event: 'failed', message: context.explain(error).message });
    });
  };
}

async function serviceFor(
  context: CommandContext,
  { isRunning, port, egressAllow, eventTypes, inspectPort }: DevOptions,
  own: Pick<OwnServiceRequest, 'data' | 'folder' | 'organization' | 'traffic'>,
): Promise<DevService> {
  if (isRunning) return runningService(context);
  return ownService(context, { ...own, port, egressAllow, eventTypes, inspectPort });
}

function later(ms: number, run: () => void): () => void {
  const timer = setTimeout(run, ms);
  return () => clearTimeout(timer);
}

function abortOf(signal: AbortSignal): Promise<void> {
  const { promise, resolve: aborted } = Promise.withResolvers<void>();
  if (signal.aborted) aborted();
  else signal.addEventListener('abort', () => aborted(), { once: true });
  return promise;
}
