/**
 * The control listener's routes: the API under `/v1` (docs/contract/api.md#listener), its OpenAPI
 * description, health and metrics.
 *
 * One file for each noun. The description is made from the schemas that validate requests, so it
 * agrees with the code; it contains nothing of a tenant and needs no token.
 */
import swagger from '@fastify/swagger';
import type { FastifyInstance } from 'fastify';
import { AnnexError } from '../../../errors.ts';
import { VERSION } from '../../../version.ts';
import { UploadBudget } from '../../publish/upload-budget.ts';
import type { Credentials } from '../credentials.ts';
import { inProcessDepth } from '../loopback-listeners.ts';
import { ACTIVITY_ROUTES } from './activity.ts';
import { AUDIT_ROUTES } from './audit.ts';
import { authenticate, authenticatePortal } from './authenticate.ts';
import { BLOCK_ROUTES } from './blocks.ts';
import { consoleRoutes } from './console.ts';
import { CONTENT_ROUTES } from './content.ts';
import type { Control, ControlDeps } from './control.ts';
import { DELIVERY_ROUTES } from './deliveries.ts';
import { ChoiceFetch } from './drawing/choice-fetch.ts';
import { Renderer } from './drawing/renderer.ts';
import { Unfurling } from './drawing/unfurling.ts';
import { EVENT_TYPE_ROUTES } from './event-types.ts';
import { EVENT_ROUTES } from './events.ts';
import { COMPLETION_ROUTES } from './installations/completions.ts';
import { CONFIGURATION_ROUTES } from './installations/configuration.ts';
import { CREDENTIAL_ROUTES } from './installations/credentials.ts';
import { INSTALLATION_ROUTES } from './installations/installations.ts';
import { SCHEDULE_ROUTES } from './installations/schedules.ts';
import { WEBHOOK_ROUTES } from './installations/webhooks.ts';
import { answerBuiltInNames } from './integrations/built-in-names.ts';
import { INSTALL_LINK_ROUTES } from './integrations/install-links.ts';
import { INTEGRATION_ROUTES } from './integrations/integrations.ts';
import { LIMIT_ROUTES } from './integrations/limits.ts';
import { PUBLISH_ROUTES } from './integrations/publish.ts';
import { SECRET_ROUTES } from './integrations/secrets.ts';
import { TASK_ROUTES } from './integrations/tasks.ts';
import { VERSION_ROUTES } from './integrations/versions.ts';
import { answerListForms } from './lists.ts';
import { LOG_ROUTES } from './logs.ts';
import { NOTICE_ROUTES } from './notices.ts';
import {
  healthAndMetricsRoutes,
  jsonSchemasRoutes,
  jwksRoute,
  type OperationsDeps,
  packagesRoutes,
} from './open-routes.ts';
import { ORGANIZATION_ROUTES } from './organizations.ts';
import { PORTAL_ROUTES, portalPageRoutes } from './portal.ts';
import { type Product, productApiRoutes } from './product/product-api.ts';
import { STATEMENT_KEY_ROUTES } from './product/statement-keys.ts';
import { Rates } from './rates.ts';
import { RENDER_ROUTES } from './render.ts';
import { described, portalRoutes, registerRoutes, withOptionalBodies } from './route.ts';
import { SETTING_ROUTES } from './settings.ts';
import { STORAGE_ROUTES } from './storage.ts';
import { TOKEN_ROUTES } from './tokens.ts';

const ROUTES = [
  ...[...INTEGRATION_ROUTES, ...PUBLISH_ROUTES, ...VERSION_ROUTES, ...LIMIT_ROUTES, ...SECRET_ROUTES],
  ...[...INSTALLATION_ROUTES, ...WEBHOOK_ROUTES, ...INSTALL_LINK_ROUTES, ...TOKEN_ROUTES],
  ...[...STATEMENT_KEY_ROUTES, ...CONFIGURATION_ROUTES, ...CREDENTIAL_ROUTES, ...COMPLETION_ROUTES],
  ...[...RENDER_ROUTES, ...BLOCK_ROUTES, ...CONTENT_ROUTES, ...LOG_ROUTES, ...AUDIT_ROUTES],
  ...[...EVENT_ROUTES, ...EVENT_TYPE_ROUTES, ...TASK_ROUTES, ...DELIVERY_ROUTES, ...STORAGE_ROUTES],
  ...[...NOTICE_ROUTES, ...SCHEDULE_ROUTES, ...ORGANIZATION_ROUTES, ...PORTAL_ROUTES, ...ACTIVITY_ROUTES],
  ...SETTING_ROUTES,
];

export interface ControlRouteDeps extends ControlDeps, OperationsDeps {
  readonly credentials: Credentials;
  /** What forwards to the product's API; absent where the operator has not named it. */
  readonly product?: Product;
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
export function controlRoutes(app: FastifyInstance, deps: ControlRouteDeps): void {
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
  app.addHook('preClose', async () => deps.followers.stop());
  productApiRoutes(app, deps);
  healthAndMetricsRoutes(app, deps);
  if (deps.console) consoleRoutes(app, deps);
  const control = controlOf(deps);
  if (deps.portal !== undefined) {
    portalPageRoutes(app, deps, deps.portal);
    // All that the portal needs is below one path, which a proxy can offer alone.
    app.register(async (api) => portalApiRoutes(api, deps, control), { prefix: '/portal/v1' });
  }
  app.register(async (root) => {
    await root.register(swagger, {
      openapi: {
        openapi: '3.1.0',
        info: { title: 'Annex', version: 'v1' },
        components: { securitySchemes: { token: { type: 'http', scheme: 'bearer' } } },
        security: [{ token: [] }],
      },
      hideUntagged: true,
      transform: described,
      transformObject: (description) => {
        if (!('openapiObject' in description)) return description.swaggerObject;
        withOptionalBodies(description.openapiObject.paths ?? {});
        return description.openapiObject;
      },
    });
    root.get('/v1/openapi.json', async () => root.swagger());
    jsonSchemasRoutes(root);
    packagesRoutes(root, deps.origins);
    jwksRoute(root, deps.statementKeys);
    root.register(async (api) => apiRoutes(api, deps, control), { prefix: '/v1' });
  });
}

/** The parts of the service, with what routes that need a token alone have. */
function controlOf(deps: ControlRouteDeps): Control {
  const { limits } = deps;
  const drawing = { ...deps, renderer: new Renderer(deps) };
  return {
    ...drawing,
    choices: new ChoiceFetch(deps),
    unfurling: new Unfurling(drawing),
    rates: new Rates(deps),
    uploads: new UploadBudget({ name: 'bufferedUploadBytes', max: limits.bufferedUploadBytes }),
  };
}

/** The same routes with the session of the portal, as far as its views use them. */
function portalApiRoutes(
  api: FastifyInstance,
  { credentials, ...deps }: ControlRouteDeps,
  control: Control,
): void {
  authenticatePortal(api, credentials);
  answerBuiltInNames(api, deps);
  answerListForms(api);
  registerRoutes(api, control, portalRoutes(ROUTES));
}

/** The routes that need a token. */
function apiRoutes(api: FastifyInstance, deps: ControlRouteDeps, control: Control): void {
  authenticate(api, deps.credentials);
  answerBuiltInNames(api, deps);
  answerListForms(api);
  registerRoutes(api, control, ROUTES);
}
