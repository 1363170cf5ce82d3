/**
 * The control listener's routes: the API under `/v1` (docs/contract/api.md#listener), its OpenAPI
 * description, health and metrics.
 *
 * One file for each noun, which is passed only the parts that it uses. The description is made from
 * the schemas that validate requests, so it agrees with the code; it contains nothing of a tenant
 * and needs no token.
 */
import swagger from '@fastify/swagger';
import type { FastifyInstance } from 'fastify';
import type { CallLog } from '../../calls/call-log.ts';
import type { Dispatch } from '../../calls/dispatch.ts';
import type { PublishedScripts } from '../../calls/published-scripts.ts';
import type { DatabaseState, IntegrityState } from '../../database/engine.ts';
import type { DeliveryIntake } from '../../delivery/open-delivery.ts';
import type { Egress } from '../../egress/egress.ts';
import { AnnexError } from '../../errors.ts';
import type { LimitName, Limits } from '../../limits.ts';
import type { Publisher } from '../../publish/publish.ts';
import type { Store } from '../../store/store.ts';
import type { RuntimeTokens } from '../../targets/runtime-tokens.ts';
import type { Origins, TargetResolver } from '../../targets/target-resolver.ts';
import { VERSION } from '../../version.ts';
import type { Credentials } from '../credentials.ts';
import { inProcessDepth } from '../loopback-listeners.ts';
import { auditRoutes } from './audit.ts';
import { authenticate } from './authenticate.ts';
import { blockMarkdownRoutes } from './components/block-markdown.ts';
import { blocksRoutes } from './components/blocks.ts';
import { ChoiceFetch } from './components/choice-fetch.ts';
import { integrationRenderRoutes } from './components/integration-render.ts';
import { renderRoutes } from './components/render.ts';
import { Renderer } from './components/renderer.ts';
import { contentSourceRoutes } from './content/content-sources.ts';
import { publishedScriptRoutes } from './content/published-script.ts';
import { visitorAuthenticationRoutes } from './content/visitor-authentication.ts';
import { deliveriesRoutes } from './deliveries/deliveries.ts';
import { deliveryOrdersRoutes } from './deliveries/delivery-orders.ts';
import { described, withOptionalBodies } from './description.ts';
import { eventsRoutes } from './events/events.ts';
import { ingestRoutes } from './events/ingest.ts';
import type { Followers } from './following/followers.ts';
import {
  type BundlerHealth,
  type CellHealth,
  type Exposition,
  healthAndMetricsRoutes,
} from './health-and-metrics.ts';
import { completionsRoutes } from './installations/completions.ts';
import { configurationRoutes } from './installations/configuration.ts';
import { credentialLeasesRoutes } from './installations/credential-leases.ts';
import { EditRate } from './installations/edit-rate.ts';
import { installationTokensRoutes } from './installations/installation-tokens.ts';
import { installationsRoutes } from './installations/installations.ts';
import { usedOAuthStatesRoutes } from './installations/used-oauth-states.ts';
import { webhookSecretRoutes } from './installations/webhook-secret.ts';
import { webhookTestRoutes } from './installations/webhook-test.ts';
import { answerBuiltInNames } from './integrations/built-in-names.ts';
import { imagesRoutes } from './integrations/images.ts';
import { installLinksRoutes } from './integrations/install-links.ts';
import { integrationsRoutes } from './integrations/integrations.ts';
import { limitsRoutes } from './integrations/limits.ts';
import { publishRoutes } from './integrations/publish.ts';
import { secretsRoutes } from './integrations/secrets.ts';
import { tasksRoutes } from './integrations/tasks.ts';
import { versionsRoutes } from './integrations/versions.ts';
import { introspectionRoutes } from './introspection.ts';
import { jsonSchemasRoutes } from './json-schemas.ts';
import { answerListForms } from './list-forms.ts';
import { logsRoutes } from './logs.ts';
import { countOrders } from './order-rate.ts';
import { packagesRoutes } from './packages.ts';
import { type ProductApiParts, productApiRoutes } from './product/product-api.ts';
import { jwksRoute, statementKeysRoutes } from './product/statement-keys.ts';
import { tokensRoutes } from './tokens.ts';
import { withTypedRoutes } from './typed-routes.ts';

export interface ControlRouteParts
  extends Pick<
      Store,
      | 'registry'
      | 'secrets'
      | 'installations'
      | 'installLinks'
      | 'tokens'
      | 'logs'
      | 'lifecycleEvents'
      | 'eventList'
      | 'audit'
      | 'credentialLeases'
      | 'usedOAuthStates'
      | 'installedBlocks'
      | 'deliveryList'
      | 'deliveryFeed'
      | 'webhookSecrets'
      | 'statementKeys'
    >,
    Pick<ProductApiParts, 'product'>,
    DeliveryIntake {
  readonly targets: Pick<TargetResolver, 'named' | 'ofIntegration'>;
  readonly runtimeTokens: Pick<RuntimeTokens, 'read' | 'grant'>;
  readonly followers: Followers;
  readonly origins: Origins;
  readonly publisher: Pick<Publisher, 'publish' | 'check'>;
  readonly dispatch: Pick<Dispatch, 'call'>;
  readonly scripts: Pick<PublishedScripts, 'script'>;
  readonly egress: Pick<Egress, 'fetch'>;
  /** Writes lines to the log of an installation. */
  readonly observer: Pick<CallLog, 'log' | 'productFailed'>;
  readonly limits: Limits;
  /** Monotonic, in milliseconds. */
  readonly clock: () => number;
  readonly metrics: Exposition;
  readonly cells: CellHealth;
  readonly bundlers: BundlerHealth;
  /** Findings of the integrity checks so far. */
  database(): IntegrityState & DatabaseState;
  readonly credentials: Credentials;
  /** Called with each limit that a request met. */
  limitMet(limit: LimitName): void;
}

/** Headers of every answer. */
const HEADERS = {
  // By which a client notices that it was made for another version.
  'annex-version': VERSION,
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cache-control': 'no-store',
};

/** Registers every route of the control listener. */
export function controlRoutes(app: FastifyInstance, parts: ControlRouteParts): void {
  // Attack: markup in manifests, logs or problems, which are text of tenants. Browsers must not
  // treat an answer as a page, run what is in it, frame it, or store it. And no header lets pages
  // of other origins read one.
  app.addHook('onRequest', (_request, reply, done) => {
    reply.headers(HEADERS);
    done();
  });
  // Integrations reach this listener in process. Routes outside the API are the operator's, and
  // answer them as unknown.
  app.addHook('onRequest', (request, _reply, done) => {
    const [path = ''] = request.originalUrl.split('?', 1);
    // A path without a route may be one of the product's API.
    const isApi = (request.routeOptions.url ?? path).startsWith('/v1/');
    if (isApi || inProcessDepth(request.raw.socket) === undefined) return done();
    return done(new AnnexError('ROUTE_UNKNOWN', `No route ${request.method} ${path}.`));
  });
  productApiRoutes(app, parts);
  healthAndMetricsRoutes(app, parts);
  app.register(async (root) => {
    await root.register(swagger, {
      openapi: {
        openapi: '3.1.0',
        info: { title: 'Annex', version: 'v1' },
        components: { securitySchemes: { token: { type: 'http', scheme: 'bearer' } } },
        security: [{ token: [] }],
      },
      transform: described,
      transformObject: (description) => {
        if (!('openapiObject' in description)) return description.swaggerObject;
        withOptionalBodies(description.openapiObject.paths ?? {});
        return description.openapiObject;
      },
    });
    root.get('/v1/openapi.json', { schema: { hide: true } }, async () => root.swagger());
    jsonSchemasRoutes(root);
    packagesRoutes(root, parts.origins);
    jwksRoute(root, parts.statementKeys);
    root.register(
      async (api) => {
        authenticate(api, parts.credentials);
        answerBuiltInNames(api, parts);
        countOrders(api, parts);
        answerListForms(api);
        const typed = withTypedRoutes(api);
        integrationsRoutes(typed, parts);
        publishRoutes(typed, parts);
        imagesRoutes(typed, parts);
        versionsRoutes(typed, parts);
        limitsRoutes(typed, parts);
        secretsRoutes(typed, parts);
        const edits = new EditRate(parts.limits, parts.clock, parts.limitMet);
        installationsRoutes(typed, { ...parts, edits });
        installationTokensRoutes(typed, parts);
        webhookSecretRoutes(typed, { ...parts, edits });
        webhookTestRoutes(typed, { ...parts, edits });
        installLinksRoutes(typed, parts);
        tokensRoutes(typed, parts);
        introspectionRoutes(typed, parts);
        statementKeysRoutes(typed, parts);
        configurationRoutes(typed, parts);
        credentialLeasesRoutes(typed, parts);
        usedOAuthStatesRoutes(typed, { ...parts, edits });
        completionsRoutes(typed, parts);
        const renderer = new Renderer(parts);
        const choices = new ChoiceFetch(parts);
        renderRoutes(typed, { ...parts, renderer, choices });
        integrationRenderRoutes(typed, { ...parts, renderer, choices });
        blocksRoutes(typed, { ...parts, renderer });
        blockMarkdownRoutes(typed, parts);
        publishedScriptRoutes(typed, parts);
        visitorAuthenticationRoutes(typed, parts);
        contentSourceRoutes(typed, parts);
        logsRoutes(typed, parts);
        auditRoutes(typed, parts);
        ingestRoutes(typed, parts);
        tasksRoutes(typed, parts);
        eventsRoutes(typed, parts);
        deliveriesRoutes(typed, parts);
        deliveryOrdersRoutes(typed, { ...parts, edits });
      },
      { prefix: '/v1' },
    );
  });
}
