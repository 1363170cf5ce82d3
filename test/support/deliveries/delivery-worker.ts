/**
 * A delivery worker with a real store and real posts, and without a cell: payloads are stored
 * before. The test advances the time.
 */

import { randomBytes } from 'node:crypto';
import { onTestFinished } from 'vitest';
import { AnnexError } from '../../../src/errors.ts';
import { CallLog } from '../../../src/host/calls/call-log.ts';
import { CallMetrics } from '../../../src/host/calls/call-metrics.ts';
import { Dispatch } from '../../../src/host/calls/dispatch.ts';
import type { EventAcceptance } from '../../../src/host/delivery/accept/event-acceptance.ts';
import type { TaskAcceptance } from '../../../src/host/delivery/accept/task-acceptance.ts';
import { Attempts } from '../../../src/host/delivery/attempts.ts';
import { DeliveryActions } from '../../../src/host/delivery/delivery-actions.ts';
import type { DeliveryMetrics } from '../../../src/host/delivery/delivery-metrics.ts';
import { DeliveryWorker, type DeliveryWorkerDeps } from '../../../src/host/delivery/delivery-worker.ts';
import { HandlerDelivery } from '../../../src/host/delivery/handler-delivery.ts';
import { NoticeDelivery, type NoticeReceiver } from '../../../src/host/delivery/notice-delivery.ts';
import { type IntakeDeps, openIntake, USER_AGENT } from '../../../src/host/delivery/open-delivery.ts';
import { WebhookDelivery } from '../../../src/host/delivery/webhook-delivery.ts';
import type { Lookup } from '../../../src/host/egress/name-resolution.ts';
import { EgressPolicy } from '../../../src/host/egress/policy.ts';
import { WebhookClient } from '../../../src/host/egress/webhook/webhook-client.ts';
import type { Delivery, PostedEvent, WaitingDelivery } from '../../../src/host/store/deliveries/delivery.ts';
import { openStore, type Store, type StoreOptions } from '../../../src/host/store/store.ts';
import type { LimitMet, Limits } from '../../../src/limits.ts';
import type { TargetName } from '../../../src/model/installation.ts';
import { publishedManifest } from '../../../src/model/manifest/manifest.ts';
import type { WrittenSchedule } from '../../../src/model/retry-schedule.ts';
import { HEADER_PREFIX, headerNames, type SignatureScheme } from '../../../src/model/signature.ts';
import { putEmptyDatabase } from '../store/empty-database.ts';
import { publication } from '../store/installed.ts';
import { targetsOf } from '../store/targets.ts';
import {
  manifestYaml,
  NO_STORAGE,
  OPERATOR,
  parsed,
  storeOptions,
  temporaryFolder,
} from '../store/temporary-store.ts';
import { databaseIdle } from '../store/test-engine.ts';

interface Timer {
  readonly at: number;
  readonly run: () => void;
}

/** Time that a test advances. Setting the wall clock (`now`) moves no timer. */
export class VirtualTime {
  now = Date.UTC(2026, 0, 1);
  #ticks = 0;
  readonly #timers = new Set<Timer>();

  wallNow = (): number => this.now;

  monotonicNow = (): number => this.#ticks;

  after = (ms: number, run: () => void): (() => void) => {
    const timer = { at: this.#ticks + ms, run };
    this.#timers.add(timer);
    return () => void this.#timers.delete(timer);
  };

  /** When the next timer is due, in ticks; undefined if there is none. */
  get nextAt(): number | undefined {
    return this.#next()?.at;
  }

  /** Advances the time, and runs timers in order. */
  pass(ms: number): void {
    const until = this.#ticks + ms;
    for (let next = this.#next(); next !== undefined && next.at <= until; next = this.#next()) {
      this.#go(next.at);
      this.#timers.delete(next);
      next.run();
    }
    this.#go(until);
  }

  #go(ticks: number): void {
    this.now += ticks - this.#ticks;
    this.#ticks = ticks;
  }

  #next(): Timer | undefined {
    let first: Timer | undefined;
    for (const timer of this.#timers) if (first === undefined || timer.at < first.at) first = timer;
    return first;
  }
}

/** What the manifest says of webhooks beside the settings. */
interface Choices {
  readonly retries?: WrittenSchedule;
  readonly signature?: SignatureScheme;
  readonly rate?: number;
}

const manifestWith = (choices: Choices) => `configurations:
  site:
    properties:
      url: {type: string, title: URL}
      types: {type: string, title: Types, enum: [site_view], multiple: true}
    required: [url, types]
webhook: ${JSON.stringify({ url: 'url', eventTypes: 'types', ...choices })}
`;

/**
 * Lets pending work go on for some turns of the event loop, without advancing the time. Turns in
 * which a database works do not count.
 */
export const turns = async (count = 20): Promise<void> => {
  for (let turn = 0; turn < count; turn += 1) {
    await new Promise(setImmediate);
    if (await databaseIdle()) turn = -1;
  }
};

export class Delivering {
  readonly time = new VirtualTime();
  readonly limits: Limits;
  /** Data folder of the store. */
  readonly folder: string;
  readonly store: Store;
  /** States of settled deliveries, in order. */
  readonly settled: string[] = [];
  /** Lateness of attempts. */
  readonly lateMs: number[] = [];
  /** Failures of the store. */
  readonly errors: unknown[] = [];
  /** Orders for deliveries; the latest worker is woken. */
  readonly orders: DeliveryActions;
  readonly #acceptance: EventAcceptance;
  readonly #tasks: TaskAcceptance;
  readonly #made: WaitingDelivery[] = [];
  #events = 0;
  /** The latest worker. */
  #worker: DeliveryWorker | undefined;

  private constructor(time: VirtualTime, limits: Limits, store: Store, folder: string) {
    this.folder = folder;
    this.time = time;
    this.limits = limits;
    this.store = store;
    const worker: IntakeDeps['worker'] = {
      add: (made) => void this.#made.push(...made),
      addLater: (made, dueAt) => {
        this.#made.push(made);
        this.#worker?.addLater(made, dueAt);
      },
    };
    const intake = openIntake({
      ...{ store, worker, limits, randomBytes },
      wallNow: time.wallNow,
      onError: (error) => this.errors.push(error),
    });
    this.#acceptance = intake.acceptance;
    this.#tasks = intake.taskAcceptance;
    this.orders = new DeliveryActions({
      rows: store.deliveryActionRows,
      worker: { add: (made) => this.#worker?.add(made) },
      limits,
    });
  }

  /** A store with an integration that posts webhooks, by the choices of its manifest. */
  static async begin(
    limits: Partial<Limits> = {},
    {
      retries,
      signature,
      rate,
      ...more
    }: Pick<StoreOptions, 'webhookRules' | 'hasNoticeReceiver'> & Choices = {},
  ): Promise<Delivering> {
    const time = new VirtualTime();
    const folder = await temporaryFolder({ inMemory: true });
    await putEmptyDatabase(folder);
    const options = {
      ...storeOptions(folder, limits),
      ...more,
      wallNow: time.wallNow,
    };
    const store = await openStore(options);
    onTestFinished(() => store.close());
    const yaml = manifestYaml(
      { name: 'hooks' },
      manifestWith({
        ...(retries && { retries }),
        ...(signature && { signature }),
        ...(rate && { rate }),
      }),
    ).replace('scopes: []', "scopes: ['site:views:read']");
    const manifest = publishedManifest(parsed(yaml).manifest);
    await store.registry.publish({ ...publication(''), manifest }, OPERATOR);
    return new Delivering(time, options.limits, store, folder);
  }

  /** Installs the integration in these sites. @returns the id of the installation */
  async install(organization: string, sites: readonly string[]): Promise<string> {
    const { installations } = this.store;
    const { installationId } = await installations.install(
      { integration: 'hooks', organization, externalIds: [] },
      OPERATOR,
    );
    for (const place of sites) {
      const target = { installationId, level: 'site', place } as const;
      await installations.installBelow({ ...target, externalIds: [] }, OPERATOR);
      const configuration = { url: 'https://example.com/hook', types: ['site_view'] };
      await installations.edit(target, { configuration }, {}, OPERATOR);
    }
    return installationId;
  }

  /**
   * Accepts an event for each of these URLs, and stores its payload.
   *
   * @returns ids of the deliveries, in order
   */
  async accept(organization: string, site: string, urls: readonly string[]): Promise<string[]> {
    const { deliveryClaims } = this.store;
    const { targets } = targetsOf(this.store);
    const before = this.#made.length;
    await this.#acceptance.accept(urls.map(() => this.#event(organization, site)));
    const ids = this.#made.slice(before).map(({ id }) => id);
    const claims = await deliveryClaims.claim(ids);
    for (const [index, claim] of claims.entries()) {
      const { revision = '' } = (await targets.named(claim.target as TargetName)) ?? {};
      const kept = { destination: urls[index] ?? '', payload: claim.eventBody, revision };
      await deliveryClaims.keepPayload(claim, kept);
    }
    await deliveryClaims.release(claims);
    this.#worker?.add(this.#made.slice(before));
    return ids;
  }

  /**
   * Queues a task for a target, or for the own level of the integration.
   *
   * @returns the id of its delivery, or the limit that was met
   */
  async queueTask(
    name: TargetName | 'integration',
    delayMs: number,
    task = '1',
    behind = 0,
  ): Promise<string | LimitMet> {
    const { targets } = targetsOf(this.store);
    const target = await (name === 'integration' ? targets.ofIntegration('hooks') : targets.named(name));
    if (target === undefined) throw new Error('There is no such target.');
    return (await this.#tasks.accept(target, task, delayMs, behind)) ?? this.#made.at(-1)?.id ?? '';
  }

  /**
   * A worker that has not been started.
   *
   * @param lookup resolves receivers; to this machine by default
   * @param attempting replaces the attempts
   * @param watching replaces methods of the store, to observe them or to make them fail
   * @param isShared whether it is one of several nodes
   * @param callForHelp asks the other nodes to look for due deliveries
   * @param notices receiver of notices to the product
   */
  worker({
    lookup = () => Promise.resolve(['127.0.0.1']),
    random = Math.random,
    attempting,
    watching = (deliveries: WorkerStore): WorkerStore => deliveries,
    isShared = false,
    callForHelp = () => undefined,
    notices: receiver,
  }: {
    lookup?: Lookup;
    random?: () => number;
    attempting?: Attempts['make'];
    watching?: (deliveries: WorkerStore) => WorkerStore;
    isShared?: boolean;
    callForHelp?: () => void;
    notices?: NoticeReceiver;
  } = {}): DeliveryWorker {
    const { store, limits, time } = this;
    const { wallNow, monotonicNow, after } = time;
    const { policy } = EgressPolicy.parse({ allow: '127.0.0.0/8' });
    const webhookClient = new WebhookClient({ policy, limits, allowHttp: true, lookup, after });
    onTestFinished(() => webhookClient.close());
    const callLog = this.#callLog();
    const dispatch = new Dispatch({
      limits,
      observer: callLog,
      egress: { fetch: () => Promise.reject(new Error('Nothing is fetched here.')) },
      storage: NO_STORAGE,
      load: { add: () => undefined },
      cellFor: () => new AnnexError('INSTALLATION_QUARANTINED', 'No cell.', { retryAfterS: 3 }),
    });
    const onError = (error: unknown) => void this.errors.push(error);
    const deliveries = watching(workerStore(store));
    const webhooks = new WebhookDelivery({
      dispatch,
      claims: store.deliveryClaims,
      secrets: store.webhookSecrets,
      webhookClient,
      limits,
      after,
      wallNow,
      signingClock: wallNow,
      userAgent: USER_AGENT,
      headerNames: headerNames(HEADER_PREFIX),
      limitMet: () => undefined,
    });
    const handlers = new HandlerDelivery({ dispatch, callLog });
    const notices = new NoticeDelivery({
      ...{ receiver, client: webhookClient, wallNow, signingClock: wallNow, userAgent: USER_AGENT },
      scheme: 'platform',
      headerNames: headerNames(HEADER_PREFIX),
    });
    const posts = new Attempts({
      targets: targetsOf(store).targets,
      ...{ handlers, webhooks, notices, onError },
    });
    const attempts = attempting === undefined ? posts : { make: attempting };
    const metrics: DeliveryMetrics = {
      begins: (lateMs) => void this.lateMs.push(lateMs),
      attempted: () => undefined,
      settled: (_, state) => void this.settled.push(state),
    };
    const worker = new DeliveryWorker({
      ...{ queue: deliveries, claims: deliveries, attempts, callLog, metrics, limits },
      ...{ wallNow, monotonicNow, after, random, onError, isShared, callForHelp },
    });
    this.#worker = worker;
    store.changes.on('notices', (deliveries) => worker.add(deliveries));
    return worker;
  }

  async read(id: string): Promise<Delivery> {
    const found = await this.store.deliveryList.read(id);
    if (found === undefined) throw new Error(`There is no delivery ${id}.`);
    return found;
  }

  /** Outcomes of the attempts of a delivery. */
  async outcomes(id: string): Promise<string[]> {
    return (await this.store.deliveryList.attempts(id)).map(({ outcome }) => outcome);
  }

  #event(organization: string, site: string): PostedEvent {
    this.#events += 1;
    const eventId = `evt_${this.#events}`;
    const body = JSON.stringify({ eventId, type: 'site_view', siteId: site });
    return { eventId, organization, type: 'site_view', level: 'site', place: site, body, bodyHash: eventId };
  }

  #callLog(): CallLog {
    const { logs, registry, webhookSecrets } = this.store;
    return new CallLog({
      logs,
      registry,
      secrets: webhookSecrets,
      metrics: new CallMetrics(),
      wallNow: this.time.wallNow,
      monotonicNow: this.time.monotonicNow,
      after: this.time.after,
      linesKept: this.limits.logLinesPerInstallation,
      contained: () => undefined,
      failed: () => undefined,
    });
  }
}

/** What a worker asks of the store. */
export type WorkerStore = DeliveryWorkerDeps['queue'] & DeliveryWorkerDeps['claims'];

/** The methods of a store, so that a test can replace some. */
function workerStore({ deliveryQueue: queue, deliveryClaims: claims }: Store): WorkerStore {
  return {
    claim: claims.claim.bind(claims),
    settle: claims.settle.bind(claims),
    release: claims.release.bind(claims),
    renew: claims.renew.bind(claims),
    recover: claims.recover.bind(claims),
    waitingEndpoints: queue.waitingEndpoints.bind(queue),
    dueEndpoints: queue.dueEndpoints.bind(queue),
    due: queue.due.bind(queue),
    waitsSince: queue.waitsSince.bind(queue),
  };
}
