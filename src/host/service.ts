/**
 * The composition root: passes each part what it needs, starts the parts in order and stops them in
 * the reverse order. `startService` shows the start order, `stopService` the order of a stop.
 *
 * No decision is made here. A part can reach only what this file passes to it.
 */
import { randomBytes } from 'node:crypto';
import type { Registry } from '@prometheus-io/client';
import type { Logger } from 'pino';
import { within } from '../model/bounded-wait.ts';
import { wholeInstallation } from '../model/installation.ts';
import { withoutTokens } from '../model/redaction.ts';
import { MACHINE_TIME, type ServiceTime } from '../model/service-time.ts';
import { SmallChunkRate } from '../model/small-chunks.ts';
import { integrationKeyIn } from '../model/target.ts';
import { CallLog } from './calls/call-log.ts';
import { CallMetrics } from './calls/call-metrics.ts';
import { Dispatch } from './calls/dispatch.ts';
import { HeavyInstallations } from './calls/heavy-installations.ts';
import { Pool } from './cells/pool.ts';
import type { SuspicionChange } from './cells/suspicion.ts';
import type { Config } from './config.ts';
import type { Engine } from './database/engine.ts';
import { noticeClient } from './delivery/notice-delivery.ts';
import { type OpenDelivery, openDelivery } from './delivery/open-delivery.ts';
import type { Connect } from './egress/connector.ts';
import { Egress } from './egress/egress.ts';
import { watchEgress } from './egress/egress-metrics.ts';
import { WebhookClient } from './egress/webhook/webhook-client.ts';
import { chunkedRequests } from './http/chunked-request.ts';
import { ClientConnections } from './http/client-connections.ts';
import type { Exposition } from './http/control/open-routes.ts';
import { hangUp, listen, listener } from './http/listener.ts';
import { listenerWithPort, loopbackListeners } from './http/loopback-listeners.ts';
import type { RequestWatch } from './http/public/request-watch.ts';
import { CONTROL_HOSTS, controlHosts, PUBLIC_HOSTS, publicHosts, sharedBase } from './http/request-head.ts';
import { ServiceOrigins } from './http/service-origins.ts';
import type { InspectionSettings } from './inspector/inspection-settings.ts';
import type { Inspector } from './inspector/inspector.ts';
import { CellLauncher } from './launch/cell-launch.ts';
import { publishBuiltIns } from './publish/built-ins.ts';
import { Publisher } from './publish/publish.ts';
import { engineOf, reported } from './service-engine.ts';
import { bundlersOf, type Processes, prepareProcesses } from './service-processes.ts';
import { createProduct, type RouteDeps, registerRoutes } from './service-routes.ts';
import { openStore, type Store } from './store/store.ts';
import { openTargets } from './targets/open-targets.ts';
import type { TargetResolver } from './targets/target-resolver.ts';

/** How long a start waits for the database check: the first `/healthz` can report damage. */
const INTEGRITY_WAIT_MS = 2_000;

export interface Service {
  readonly controlUrl: string;
  readonly publicUrl: string;
  readonly store: Store;
  readonly targets: TargetResolver;
  readonly pool: Pool;
  readonly delivery: OpenDelivery;
  /** Host and port for debuggers, where the start lets them in. */
  readonly inspector: string | undefined;
  /** Calls that have not ended. */
  readonly callsInFlight: number;
  /** The first admin token, if this start has created it. */
  readonly firstAdminToken: string | undefined;
  /** Finishes what is in flight within `limits.stopMs`, then releases all resources. Idempotent. */
  stop(): Promise<void>;
}

/** What a start may be given by the process that it is in. */
export interface StartOptions {
  /**
   * What cells and bundlers start from, for callers that start many services; the caller removes
   * it. Without it, the service prepares its own.
   */
  readonly prepared?: Processes;
  /** Whether an author is at work, so that the process of the first upload starts now. */
  readonly expectsUploads?: boolean;
  /** Lets debuggers into the isolates: `annex dev --inspect` alone. */
  readonly inspect?: InspectionSettings;
  /** Is told of requests and of fetches: the session of `annex dev` alone. */
  readonly watch?: RequestWatch;
  /** What `/metrics` answers instead of the metrics of this node. */
  exposition?(registry: Registry): Exposition;
  /** Keeps the first admin token, before the database has it. */
  readonly keepAdminToken?: Parameters<Store['tokens']['firstAdmin']>[0];
  /** The time of a test kit, which sets it forward; else that of this machine. */
  readonly time?: ServiceTime;
  /**
   * Connects outbound requests in place of the network. For the service of a test kit, whose
   * process passes it: no setting, file or request reaches it.
   */
  readonly connect?: Connect;
}

/** What every step of the start uses. */
export interface Base extends ServiceTime {
  readonly signingClock: Engine['signingClock'];
  readonly config: Config;
  readonly limits: Config['limits'];
  readonly log: Logger;
  readonly metrics: CallMetrics;
  /** What `/metrics` answers. */
  readonly exposition: Exposition;
  readonly origins: ServiceOrigins;
  readonly inspector: Inspector | undefined;
  readonly watch?: RequestWatch;
  readonly connect?: Connect;
}

type Stop = () => void | Promise<void>;

/**
 * Starts the service: confinement, store, cells, listeners, deliveries.
 *
 * @throws if a port is taken, the database cannot be used, or a cell cannot be started; every part
 *   that was started is stopped before
 */
export async function startService(
  config: Config,
  log: Logger,
  {
    prepared,
    expectsUploads,
    inspect,
    exposition,
    keepAdminToken,
    time = MACHINE_TIME,
    ...given
  }: StartOptions = {},
): Promise<Service> {
  const engine = await engineOf(config, { log, time });
  const metrics = new CallMetrics();
  const base: Base = {
    config,
    limits: config.limits,
    log,
    metrics,
    exposition: exposition?.(metrics.registry) ?? metrics.registry,
    origins: new ServiceOrigins(config),
    // Loaded here: `annex dev --inspect` alone has it.
    inspector: inspect && new (await import('./inspector/inspector.ts')).Inspector(inspect, config),
    ...time,
    // Nodes agree on that of their database.
    wallNow: engine.wallNow,
    signingClock: engine.signingClock,
    ...given,
  };
  let stopping: Promise<void> | undefined;
  // Run last to first, when the start fails and at the end of a stop.
  const stops: Stop[] = [];
  const unwind = async () => {
    for (const stop of stops.reverse().splice(0)) await stop();
  };
  try {
    const processes = prepared ?? (await prepareProcesses(config));
    if (prepared === undefined) stops.push(() => processes.build.remove());
    log.info({ layers: processes.cells.layers }, 'cells are confined');
    log.info({ layers: processes.bundlers.layers }, 'bundlers are confined');
    // They listen at the end of the start; the egress needs them earlier, for fetches of this
    // service.
    const listeners = createListeners(base, () => stopping !== undefined);
    const outbound = createOutbound(base, listeners);
    const store = await openServiceStore(base, engine, outbound.webhooks);
    stops.push(() => store.close());
    await declareEventTypes(base, store);
    const targets = openTargets(store, { ...base, ...base.config });
    // In parallel with the start of the cells. A large database is still checked when the service
    // listens.
    const integrityChecked = within(INTEGRITY_WAIT_MS, store.integrityChecked);
    const calls = startCalls(base, { processes, store, egress: outbound.egress });
    stops.push(() => calls.pool.stop());
    stops.push(() => calls.log.close());
    // Closed before the store: attempts in flight end, and their outcomes are written.
    stops.push(() => outbound.egress.close());
    stops.push(() => outbound.webhooks.close());
    stops.push(() => outbound.notices.client.close());
    const bundlers = bundlersOf(processes, base.after);
    stops.push(() => bundlers.close());
    if (expectsUploads) bundlers.expectUploads();
    const publisher = createPublisher(base, { bundlers, store, calls });
    const delivery = createDelivery(base, { store, targets, calls, ...outbound });
    const product = createProduct(base, store, stops);
    registerRoutes(base, {
      ...{ processes, store, targets, listeners, calls, publisher, delivery },
      egress: outbound.egress,
      ...product,
    });
    stops.push(() => listeners.control.close());
    stops.push(() => listeners.public.close());
    await calls.pool.ready();
    if (expectsUploads) calls.pool.expectProbe();
    await integrityChecked;
    await publishConfigured(base, { publisher, store });
    const urls = await listenOnBoth(base, listeners);
    stops.push(() => base.inspector?.close());
    // Not before the URLs are known: they are part of the environments that handlers receive.
    await delivery.start();
    return {
      ...urls,
      store,
      targets: targets.targets,
      pool: calls.pool,
      delivery,
      inspector: await base.inspector?.listen(store.registry),
      get callsInFlight() {
        return calls.dispatch.inFlight;
      },
      firstAdminToken: await store.tokens.firstAdmin(keepAdminToken),
      stop: () => {
        stopping ??= stopService(base, { delivery, listeners, calls }).then(unwind);
        return stopping;
      },
    };
  } catch (cause) {
    await unwind();
    throw cause;
  }
}

/** Ends deliveries, calls and connections. The rest is released by the stops of the start. */
async function stopService(
  { limits, log, inspector }: Base,
  { delivery, listeners, calls }: { delivery: OpenDelivery; listeners: Listeners; calls: Calls },
): Promise<void> {
  // Calls that a debugger holds go on, and can end.
  await inspector?.close();
  const deliveryStopped = delivery.stop(limits.stopMs);
  const closed = listeners.public.close();
  const drained = await within(limits.stopMs, calls.dispatch.drain());
  if (!drained)
    log.warn({ inFlight: calls.dispatch.inFlight }, 'calls were still in flight at the end of the stop');
  // Calls that did not end in time are answered before their connections are closed.
  const cellsStopped = calls.pool.stop();
  await deliveryStopped;
  await hangUp(listeners.public, closed);
  await hangUp(listeners.control, listeners.control.close());
  await cellsStopped;
}

/** Both listeners, without routes; they do not listen yet. */
function createListeners(
  { config, limits, log, metrics, monotonicNow, watch }: Base,
  isStopping: () => boolean,
) {
  const { apiUrl, publicUrl, contentUrl, oauthCallback, controlHost, controlNames, trustedProxies } = config;
  const apiHost = apiUrl === undefined ? undefined : new URL(apiUrl).hostname;
  const requests = chunkedRequests({
    rate: new SmallChunkRate(limits, monotonicNow),
    trustedProxies,
    held: (address) => {
      metrics.limitMet('smallChunksPerSecond');
      log.info({ address, limit: 'smallChunksPerSecond' }, 'a body in too many small chunks is held back');
    },
  });
  const answersTo = controlHosts([...controlNames, controlHost.toLowerCase(), apiHost]);
  const shared = { log, limits, requests, isStopping, ...(watch && { idOf: watch.idOf }) };
  const control = listener({ ...shared, answersTo, hostSetting: CONTROL_HOSTS });
  const oauthUrl = oauthCallback === 'on' ? undefined : oauthCallback;
  const named = { answersTo: publicHosts(publicUrl, contentUrl, oauthUrl), hostSetting: PUBLIC_HOSTS };
  const open = listener({ ...shared, ...named, base: sharedBase(publicUrl) });
  new ClientConnections({ limits, trustedProxies, monotonicNow }).guard(open.server);
  return { control, public: open };
}
export type Listeners = ReturnType<typeof createListeners>;

/** The clients of outbound connections: `fetch` of integrations, and webhooks. */
function createOutbound({ config, limits, metrics, origins, after, connect }: Base, listeners: Listeners) {
  const { control, public: open } = listeners;
  const shared = {
    policy: config.egress,
    limits,
    findLoopback: loopbackListeners({ origins, control: control.server, open: open.server }),
    ownListener: listenerWithPort({ control: control.server, public: open.server }),
    proxy: config.egressProxy,
    ...(connect && { connect }),
  };
  const egress = new Egress({ ...shared, hostsRequired: config.egressManifest === 'required' });
  watchEgress(metrics.registry, egress);
  const allowHttp = config.webhookHttp === 'allow';
  const webhooks = new WebhookClient({
    ...shared,
    ...{ allowHttp, after },
    certificate: config.webhookCertificate,
  });
  const { noticeReceiver: receiver } = config;
  const notices = {
    receiver,
    scheme: config.webhookSignature,
    client:
      receiver === undefined ? webhooks : noticeClient(receiver.url, { ...shared, proxy: undefined, after }),
  };
  return { egress, webhooks, notices };
}

function openServiceStore(base: Base, engine: Engine, webhooks: WebhookClient) {
  const { config, limits, log, wallNow, monotonicNow } = base;
  return openStore({
    makeEngine: () => engine,
    folder: config.dataFolder,
    limits,
    wallNow,
    monotonicNow,
    randomBytes,
    keys: config.vaultKeys,
    webhookUrlRefusal: (url) => webhooks.refusalOf(url),
    webhookRules: config.webhookRules,
    marketplace: config.marketplace,
    hasNoticeReceiver: config.noticeReceiver !== undefined,
    onReseal: ({ level, message, details }) => log[level](details, message),
    onError: reported(log, 'log lines were lost'),
  });
}

/** The call log, the cells and the dispatch. The cells start at once. */
function startCalls(
  base: Base,
  { processes, store, egress }: { processes: Processes; store: Store; egress: Egress },
) {
  const { config, limits, log, metrics, monotonicNow, inspector } = base;
  const { build, cells } = processes;
  const load = new HeavyInstallations(monotonicNow);
  const callLog = createCallLog(base, store);
  const pool = new Pool({
    build,
    launcher: new CellLauncher(build, cells.confinement),
    limits,
    cells: config.cells,
    ...(inspector && { inspect: inspector.targets.inspectCell }),
    script: (key) => store.registry.script(key),
    isHeavy: (id) => load.isHeavy(id),
    events: {
      cellDied: (reason, how, lastWords, suspects) => {
        metrics.cellDied(reason);
        log.warn({ reason, how, lastWords: withoutTokens(lastWords), suspects }, 'a cell died');
      },
      cellUnwell: (how) => log.warn({ how }, 'a cell is being replaced'),
      contained: (change, script) => {
        callLog.contained(change, script);
        if (change.now === 'quarantined') void tellOfQuarantine(base, store, change, script);
      },
      callMoved: () => metrics.callMoved(),
    },
  });
  const dispatch = new Dispatch({
    limits,
    observer: callLog,
    egress,
    storage: store.storage,
    load,
    cellFor: (id, target) => pool.cellFor(id, target),
    refusal: (id) => pool.refusal(id),
  });
  store.changes.on('removed', (...tenants) => dispatch.removed(tenants));
  metrics.watch(pool, dispatch, store.activity);
  return { pool, dispatch, log: callLog };
}
export type Calls = ReturnType<typeof startCalls>;

/** Each node finds out by itself; an installation is told of once in this time. */
const QUARANTINE_QUIET_MS = 600_000;

/** Tells the product that an installation crashes cells. Never rejects. */
async function tellOfQuarantine(
  { log }: Base,
  { installations, registry, productNotices }: Store,
  { tenant, deaths }: SuspicionChange,
  script: string,
): Promise<void> {
  const integration = script.slice(0, script.lastIndexOf('@'));
  const name = wholeInstallation(tenant);
  try {
    const installed = integrationKeyIn(tenant) === undefined ? await installations.read(name) : undefined;
    const organization = (installed ?? (await registry.integration(integration)))?.organization;
    // Deleted meanwhile.
    if (organization === undefined) return;
    const about = { organization, integration, target: installed && name, details: { deaths } };
    await productNotices.tell({ type: 'integration.quarantined', ...about }, QUARANTINE_QUIET_MS);
  } catch (cause) {
    reported(log, 'a notice of a quarantine was not written')(cause);
  }
}

function createCallLog(
  { limits, log, metrics, wallNow, monotonicNow, after, watch }: Base,
  store: Store,
): CallLog {
  return new CallLog({
    logs: store.logs,
    registry: store.registry,
    secrets: store.webhookSecrets,
    metrics,
    wallNow,
    monotonicNow,
    after,
    linesKept: limits.logLinesPerInstallation,
    ...(watch && { fetched: (requestId, fetch) => watch.watcher.fetched(requestId, fetch) }),
    contained: (change) => log.warn(change, 'an installation may be crashing cells'),
    failed: ({ tenant, integration, version }, requestId, { detail, ...end }) => {
      // An exception of an integration quotes its input. It is in the integration's own log.
      const shown = end.outcome === 'exception' ? end : { ...end, detail };
      log.info({ requestId, tenant, integration, version, ...shown }, 'a call failed');
    },
  });
}

function createPublisher(
  { config, limits }: Base,
  { bundlers, store, calls }: { bundlers: ReturnType<typeof bundlersOf>; store: Store; calls: Calls },
): Publisher {
  return new Publisher({
    registry: store.registry,
    limits,
    rules: {
      egressRequired: config.egressManifest === 'required',
      internalOrganizations: config.internalOrganizations,
    },
    eventTypes: () => store.eventTypes.catalog(),
    organizations: store.organizations,
    bundlers,
    probe: (script) => calls.pool.probe(script),
    expectProbe: () => calls.pool.expectProbe(),
  });
}

/**
 * Makes the event types of the store those of the file, if there is one.
 *
 * @throws if stored events do not fit a change, or a type that is used is not in the file
 */
async function declareEventTypes({ config: { eventTypes } }: Base, store: Store): Promise<void> {
  // Nodes that start at once declare them once.
  if (eventTypes !== undefined)
    await store.alone('event-types', () => store.eventTypes.declareAll(eventTypes));
}

/** Publishes the built-in integrations, unless the setting says otherwise. */
async function publishConfigured(
  { config, log }: Base,
  { publisher, store }: { publisher: Publisher; store: Store },
): Promise<void> {
  if (config.builtIns !== 'publish') return;
  // Nodes that start at once publish them once.
  await store.alone('built-ins', () =>
    publishBuiltIns({
      publisher,
      builtIns: store.builtIns,
      registry: store.registry,
      levelNames: config.levelNames,
      report: (level, details, message) => log[level](details, message),
    }),
  );
}

/** @returns the URLs of both listeners, as seen from this machine */
async function listenOnBoth({ config, origins }: Base, listeners: Listeners) {
  const controlUrl = await listen(listeners.control, 'control', config.controlHost, config.controlPort);
  const publicUrl = await listen(listeners.public, 'public', config.publicHost, config.publicPort);
  origins.listening(controlUrl, publicUrl);
  return { controlUrl, publicUrl };
}

interface DeliverDeps extends Pick<RouteDeps, 'store' | 'targets' | 'calls'> {
  readonly webhooks: WebhookClient;
  readonly notices: Parameters<typeof openDelivery>[0]['notices'];
}

function createDelivery(
  { config, limits, log, metrics, wallNow, signingClock, monotonicNow, after }: Base,
  { store, targets: { targets }, calls, webhooks, notices }: DeliverDeps,
): OpenDelivery {
  return openDelivery({
    store,
    targets,
    dispatch: calls.dispatch,
    webhookClient: webhooks,
    headerPrefix: config.webhookHeaderPrefix,
    notices,
    callLog: calls.log,
    metrics: metrics.registry,
    ...{ limits, wallNow, signingClock, monotonicNow, after },
    randomBytes,
    random: Math.random,
    limitMet: (limit) => metrics.limitMet(limit),
    onError: (cause, what) => reported(log, what)(cause),
  });
}
