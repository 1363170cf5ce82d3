/**
 * The composition root: hands each part what it needs, starts them in order, stops them in the reverse order.
 *
 * No decision lives here. What a part does is in the part; what it may reach is what this file passes to it.
 */
import { randomBytes } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import type { Logger } from 'pino';
import { confineBundlers } from './bundle/bundler-confinement.ts';
import { CallLog } from './calls/call-log.ts';
import { CallMetrics } from './calls/call-metrics.ts';
import { CpuLoad } from './calls/cpu-load.ts';
import { Dispatch } from './calls/dispatch.ts';
import { Pool } from './cells/pool.ts';
import type { Config } from './config.ts';
import { confine } from './confinement/confine.ts';
import { Launcher } from './confinement/launch.ts';
import { CELL_USERS } from './confinement/layers.ts';
import { startDelivery, VERSION } from './delivery/start-delivery.ts';
import { Egress } from './egress/egress.ts';
import { watchEgress } from './egress/egress-metrics.ts';
import { WebhookClient } from './egress/webhook/webhook-client.ts';
import { chunkedRequests } from './http/chunked-request.ts';
import { ClientConnections } from './http/client-connections.ts';
import { controlRoutes } from './http/control/control-routes.ts';
import { Credentials } from './http/credentials.ts';
import { controlHosts, publicHosts } from './http/host-header.ts';
import { hangUp, listen, listener } from './http/listener.ts';
import { loopbackListeners } from './http/loopback-listeners.ts';
import { publicRoutes } from './http/public/public-routes.ts';
import { buildCell, type CellSources } from './launch/cell-build.ts';
import { CellLauncher } from './launch/cell-launch.ts';
import { selfTestProgram } from './launch/cell-program.ts';
import { withoutTokens } from './model/redaction.ts';
import { SmallChunkRate } from './model/small-chunks.ts';
import { within } from './model/within.ts';
import { publishBuiltIns } from './publish/built-ins.ts';
import { Publisher } from './publish/publish.ts';
import { openStore, type Store } from './store/store.ts';
import { openTargets } from './targets/open-targets.ts';
import type { TargetResolver } from './targets/target-resolver.ts';

/** How long a start waits for the check of the database, so that the first look at `/healthz` can tell of damage. */
const INTEGRITY_WAIT_MS = 2_000;

export interface Service {
  readonly controlUrl: string;
  readonly publicUrl: string;
  readonly store: Store;
  readonly targets: TargetResolver;
  readonly pool: Pool;
  /** The first admin token, where this start has made it. */
  readonly firstAdminToken: string | undefined;
  /** Stops accepting, finishes what is in flight within `limits.stopMs`, then lets go of everything. Idempotent. */
  stop(): Promise<void>;
}

/**
 * @param built what cells run, where it has been built before
 * @throws where a port is taken, the data folder cannot be used, or a cell cannot be started
 */
export async function startService(config: Config, log: Logger, built?: CellSources): Promise<Service> {
  const { limits } = config;
  const clock = () => Date.now();
  const ticks = () => performance.now();
  const origins = { publicUrl: config.publicUrl ?? '', apiUrl: config.apiUrl ?? '' };
  const stops: (() => void | Promise<void>)[] = [];
  const unwind = async () => {
    for (const stop of stops.reverse().splice(0)) await stop();
  };
  try {
    const build = await buildCell(built);
    stops.push(() => build.remove());
    const hardening = {
      sandbox: config.cellSandbox,
      firstUser: config.cellUser,
      users: CELL_USERS,
      jitless: config.cellJitless,
      cellRssMib: limits.cellRssMib,
    };
    const [{ confinement, layers }, bundlers] = await Promise.all([
      confine('cells', hardening, (tried) => selfTestProgram(build, tried)),
      confineBundlers(hardening, build.bundlerFiles),
    ]);
    log.info({ layers }, 'cells are confined');
    log.info({ layers: bundlers.layers }, 'bundlers are confined');
    const store = await openStore({
      folder: config.dataFolder,
      limits,
      clock,
      randomBytes,
      keys: config.vaultKeys,
      version: VERSION,
      acceptLoss: config.acceptLoss ?? false,
      webhookUrlRefusal: (url) => posting.refusalOf(url),
      onWal: ({ level, message }) => log[level](message),
      onIntegrity: ({ level, message, details }) => log[level](details, message),
      onReseal: ({ level, message, details }) => log[level](details, message),
      onError: (cause) => log.error({ err: cause }, 'log lines were lost'),
    });
    stops.push(() => store.close());
    const { targets, runtimeTokens } = openTargets(store, { origins, limits, clock });
    // Beside the start of the cells. A large database is still being checked when the service listens.
    const checked = within(INTEGRITY_WAIT_MS, store.integrityChecked);
    const { registry, secrets, installations, installLinks, tokens, logs, lifeEvents, audit } = store;
    const metrics = new CallMetrics();
    const load = new CpuLoad(ticks);
    const pool = new Pool({
      build,
      launcher: new CellLauncher(build, confinement),
      limits,
      cells: config.cells,
      script: (key) => registry.script(key),
      isHeavy: (id) => load.isHeavy(id),
      events: {
        cellDied: (reason, how, lastWords, suspects) => {
          metrics.cellDied(reason);
          log.warn({ reason, how, lastWords: withoutTokens(lastWords), suspects }, 'a cell died');
        },
        cellUnwell: (how) => log.warn({ how }, 'a cell is being replaced'),
        contained: (change, script) => journal.contained(change, script),
        callMoved: () => metrics.callMoved(),
      },
    });
    stops.push(() => pool.stop());
    const journal = new CallLog({
      logs,
      registry,
      secrets: store.webhookSecrets,
      metrics,
      clock,
      ticks,
      after: later,
      linesKept: limits.logLinesPerInstallation,
      contained: (change) => log.warn(change, 'an installation may be crashing cells'),
      failed: ({ installationId, integration, version }, requestId, { detail, ...end }) => {
        // What an integration throws quotes what it was called with. It is in its own log.
        const told = end.outcome === 'exception' ? end : { ...end, detail };
        log.info({ requestId, installationId, integration, version, ...told }, 'a call failed');
      },
    });
    stops.push(() => journal.close());
    let stopping: Promise<void> | undefined;
    const isStopping = () => stopping !== undefined;
    const { publicUrl: knownUrl, apiUrl, controlHost, controlNames, trustedProxies } = config;
    const apiHost = apiUrl === undefined ? undefined : new URL(apiUrl).hostname;
    const requests = chunkedRequests({
      rate: new SmallChunkRate(limits, ticks),
      trustedProxies,
      held: (address) => {
        metrics.limitMet('smallChunksPerSecond');
        log.info({ address, limit: 'smallChunksPerSecond' }, 'a body in too many small chunks is held back');
      },
    });
    const control = listener({
      log,
      limits,
      requests,
      isStopping,
      answersTo: controlHosts([...controlNames, controlHost.toLowerCase(), apiHost]),
    });
    const open = listener({ log, limits, requests, isStopping, answersTo: publicHosts(knownUrl) });
    new ClientConnections({ limits, trustedProxies, clock: ticks }).guard(open.server);
    const credentials = new Credentials({ tokens, runtimeTokens, limits, trustedProxies, clock: ticks });
    const outwards = {
      policy: config.egress,
      limits,
      findLoopback: loopbackListeners({ origins, control: control.server, open: open.server }),
      controlPort: () => (control.server.address() as AddressInfo | null)?.port,
    };
    const egress = new Egress({ ...outwards, hostsRequired: config.egressManifest === 'required' });
    watchEgress(metrics.registry, egress);
    stops.push(() => egress.close());
    const posting = new WebhookClient({
      ...outwards,
      allowHttp: config.webhookHttp === 'allow',
      after: later,
    });
    stops.push(() => posting.close());
    const dispatch = new Dispatch({
      limits,
      observer: journal,
      egress,
      load,
      cellFor: (id, target) => pool.cellFor(id, target),
      refusal: (id) => pool.refusal(id),
    });
    metrics.watch(pool, dispatch);

    const publisher = new Publisher({
      registry,
      limits,
      rules: {
        egressRequired: config.egressManifest === 'required',
        internalOrganizations: config.internalOrganizations,
      },
      bundlers: new Launcher(bundlers.program, bundlers.confinement),
      probe: (script) => pool.probe(script),
    });
    controlRoutes(control, {
      limits,
      clock: ticks,
      credentials,
      origins,
      targets,
      runtimeTokens,
      registry,
      secrets,
      installations,
      installLinks,
      tokens,
      logs,
      lifeEvents,
      acceptedEvents: store.acceptedEvents,
      audit,
      credentialLeases: store.credentialLeases,
      spentStates: store.spentStates,
      installedBlocks: store.installedBlocks,
      deliveries: store.deliveries,
      webhookSecrets: store.webhookSecrets,
      webhookTests: store.webhookTests,
      dispatch,
      observer: journal,
      publisher,
      metrics: metrics.registry,
      cells: { count: config.cells, layers },
      bundlers: { layers: bundlers.layers },
      database: () => store.integrity.state,
      limitMet: (limit) => metrics.limitMet(limit),
    });
    stops.push(() => control.close());
    publicRoutes(open, {
      limits,
      targets,
      credentials,
      dispatch,
      observer: journal,
      trustedProxies,
      limitMet: (limit) => metrics.limitMet(limit),
      clock: ticks,
      now: clock,
      ...(knownUrl !== undefined && { publicUrl: knownUrl }),
    });
    stops.push(() => open.close());
    // The cells start while the doors are made.
    await pool.ready();
    await checked;
    if (config.builtIns === 'publish')
      await publishBuiltIns({
        publisher,
        builtIns: store.builtIns,
        tell: (level, details, message) => log[level](details, message),
      });

    const controlUrl = await listen(control, 'control', config.controlHost, config.controlPort);
    const publicUrl = await listen(open, 'public', config.publicHost, config.publicPort);
    origins.publicUrl ||= publicUrl;
    origins.apiUrl ||= `${controlUrl}/v1`;
    // Not before the URLs are known: they are part of what an integration is told.
    const told = await startDelivery({
      store,
      targets,
      dispatch,
      webhookClient: posting,
      callLog: journal,
      metrics: metrics.registry,
      limits,
      clock,
      ticks,
      chance: Math.random,
      after: later,
      limitMet: (limit) => metrics.limitMet(limit),
      onError: (cause, what) => log.error({ err: cause }, what),
    });
    const stop = async () => {
      const silent = told.stop(limits.stopMs);
      const closed = open.close();
      const drained = await within(limits.stopMs, dispatch.drain());
      if (!drained)
        log.warn({ inFlight: dispatch.inFlight }, 'calls were still in flight at the end of the stop');
      // Calls that did not end in time are answered before their connections are.
      const ended = pool.stop();
      await silent;
      await hangUp(open, closed);
      await hangUp(control, control.close());
      await ended;
      await unwind();
    };
    return {
      controlUrl,
      publicUrl,
      store,
      targets,
      pool,
      firstAdminToken: await tokens.firstAdmin(),
      stop: () => {
        stopping ??= stop();
        return stopping;
      },
    };
  } catch (cause) {
    await unwind();
    throw cause;
  }
}

/** Runs something later, without keeping the process for it. @returns what calls it off */
function later(ms: number, run: () => void): () => void {
  const timer = setTimeout(run, ms).unref();
  return () => clearTimeout(timer);
}
