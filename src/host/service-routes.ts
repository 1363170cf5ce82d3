/**
 * The part of the composition root that registers the routes of both listeners. It names each
 * collaborator of a listener: a route can reach nothing else of the service.
 */
import { randomBytes } from 'node:crypto';
import type { LimitName } from '../limits.ts';
import { PublishedScripts } from './calls/published-scripts.ts';
import type { DeliveryIntake } from './delivery/open-delivery.ts';
import type { Egress } from './egress/egress.ts';
import { ProductClient } from './egress/product-client.ts';
import { watchProduct } from './egress/product-metrics.ts';
import { controlRoutes } from './http/control/control-routes.ts';
import { Followers } from './http/control/following/followers.ts';
import type { Product } from './http/control/product/product-api.ts';
import { Credentials } from './http/credentials.ts';
import { publicRoutes } from './http/public/public-routes.ts';
import type { Publisher } from './publish/publish.ts';
import type { Base, Calls, Listeners } from './service.ts';
import type { Processes } from './service-processes.ts';
import type { Store } from './store/store.ts';
import { CallerStatements } from './targets/caller-statements.ts';
import type { OpenTargets } from './targets/open-targets.ts';

/** What the routes are registered with. */
export interface RouteDeps {
  readonly processes: Processes;
  readonly store: Store;
  readonly targets: OpenTargets;
  readonly listeners: Listeners;
  readonly calls: Calls;
  readonly egress: Egress;
  readonly publisher: Publisher;
  readonly delivery: DeliveryIntake;
  /** Present where the operator has named the product's API. */
  readonly product?: Product;
}

export function registerRoutes(
  { config, limits, metrics, exposition, origins, watch, wallNow, monotonicNow, after }: Base,
  {
    processes,
    store,
    targets: { targets, runtimeTokens, uiTokens },
    listeners,
    calls,
    egress,
    publisher,
    delivery,
    product,
  }: RouteDeps,
): void {
  const { publicUrl, contentUrl, oauthCallback, trustedProxies } = config;
  const { dispatch, log: observer } = calls;
  const { tokens } = store;
  const scripts = new PublishedScripts(dispatch);
  const credentials = new Credentials({
    tokens,
    runtimeTokens,
    uiTokens,
    limits,
    trustedProxies,
    monotonicNow,
  });
  const limitMet = (limit: LimitName) => metrics.limitMet(limit);
  const followers = new Followers({ limits, after, limitMet });
  // Followers of what is gone, or whose token is.
  store.changes.on('installation', (id) => followers.check(id));
  store.changes.on('tokens', () => followers.check());
  store.changes.on('missed', () => followers.check());
  const { registry } = store;
  const shared = {
    limits,
    monotonicNow,
    credentials,
    targets,
    dispatch,
    scripts,
    observer,
    limitMet,
  };
  controlRoutes(listeners.control, {
    ...store,
    ...delivery,
    ...shared,
    wallNow,
    webhookHeaderPrefix: config.webhookHeaderPrefix,
    levelNames: config.levelNames,
    console: config.console,
    settings: config.settings,
    portal: config.portal,
    eventTypesFixed: config.eventTypes !== undefined,
    ...(product && { product }),
    ...{ origins, runtimeTokens, uiTokens, followers, egress, publisher, metrics: exposition },
    cells: { count: config.cells, layers: processes.cells.layers },
    bundlers: { layers: processes.bundlers.layers },
    database: () => ({ ...store.integrity.state, ...store.database.state }),
  });
  watch?.follow(listeners.public, { targets, publicUrl, contentUrl });
  publicRoutes(listeners.public, {
    ...shared,
    ...{ registry, trustedProxies, wallNow },
    spent: store.spentSignatures,
    ...(oauthCallback !== undefined && {
      oauth: { targets, usedOAuthStates: store.usedOAuthStates, origins, hasOwnHost: oauthCallback !== 'on' },
    }),
    ...(publicUrl !== undefined && { publicUrl }),
    ...(contentUrl !== undefined && { contentUrl }),
  });
}

/**
 * What forwards to the product's API, if the operator has named it.
 *
 * @param stops gets the end of the client
 */
export function createProduct(
  { config, limits, metrics, origins, wallNow, after }: Base,
  { registry, statementKeys: keys }: Store,
  stops: (() => void | Promise<void>)[],
): Pick<RouteDeps, 'product'> {
  const { productApi: base, productScopes: scopes } = config;
  if (base === undefined) return {};
  const client = new ProductClient({ base, limits, after });
  stops.push(() => client.close());
  watchProduct(metrics.registry, client);
  const ownerOf = async (name: string) => (await registry.integration(name))?.organization;
  const statements = new CallerStatements({ keys, ownerOf, origins, audience: base, wallNow, randomBytes });
  return { product: { client, statements, ...(scopes && { scopes }) } };
}
