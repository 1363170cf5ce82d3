/**
 * The control listener's routes: the API under `/v1` (REFERENCE D9), its OpenAPI description, and what an operator's
 * tools look at.
 *
 * One file for each noun, each handed what it uses and nothing more. The description is made from the schemas that
 * validate, so it cannot say anything else than the code does; it holds nothing of a tenant and needs no token.
 */
import swagger from '@fastify/swagger';
import type { FastifyInstance } from 'fastify';
import type { Journal } from '../../calls/call-log.ts';
import type { Dispatch } from '../../calls/dispatch.ts';
import type { IntegrityState } from '../../database/integrity/integrity.ts';
import { AnnexError } from '../../errors.ts';
import type { LimitName, Limits } from '../../limits.ts';
import type { Publisher } from '../../publish/publish.ts';
import type { Store } from '../../store/store.ts';
import type { Credentials } from '../credentials.ts';
import { inProcessDepth } from '../loopback-listeners.ts';
import { auditDoor } from './audit.ts';
import { authenticate } from './authenticate.ts';
import { blockMarkdownDoor } from './components/block-markdown.ts';
import { blocksDoor } from './components/blocks.ts';
import { renderDoor } from './components/render.ts';
import { Renderer } from './components/renderer.ts';
import { deliveriesDoor } from './deliveries/deliveries.ts';
import { deliveryOrdersDoor } from './deliveries/delivery-orders.ts';
import { described, withOptionalBodies } from './description.ts';
import { eventsDoor } from './events/events.ts';
import { ingestDoor } from './events/ingest.ts';
import { completionsDoor } from './installations/completions.ts';
import { configurationDoor } from './installations/configuration.ts';
import { credentialLeasesDoor } from './installations/credential-leases.ts';
import { EditRate } from './installations/edit-rate.ts';
import { installationsDoor } from './installations/installations.ts';
import { spentStatesDoor } from './installations/spent-states.ts';
import { webhookSecretDoor } from './installations/webhook-secret.ts';
import { webhookTestDoor } from './installations/webhook-test.ts';
import { imagesDoor } from './integrations/images.ts';
import { installLinksDoor } from './integrations/install-links.ts';
import { integrationsDoor } from './integrations/integrations.ts';
import { limitsDoor } from './integrations/limits.ts';
import { publishDoor } from './integrations/publish.ts';
import { secretsDoor } from './integrations/secrets.ts';
import { versionsDoor } from './integrations/versions.ts';
import { introspectionDoor } from './introspection.ts';
import { jsonSchemasDoor } from './json-schemas.ts';
import { logsDoor } from './logs.ts';
import { type BundlerHealth, type CellHealth, type Exposition, operationsDoor } from './operations.ts';
import { tokensDoor } from './tokens.ts';
import { withTypedRoutes } from './typed-routes.ts';

export interface ControlDoorParts
  extends Pick<
    Store,
    | 'registry'
    | 'secrets'
    | 'installations'
    | 'installLinks'
    | 'tokens'
    | 'logs'
    | 'lifeEvents'
    | 'acceptedEvents'
    | 'audit'
    | 'credentialLeases'
    | 'spentStates'
    | 'installedBlocks'
    | 'deliveries'
    | 'webhookSecrets'
    | 'webhookTests'
  > {
  readonly publisher: Pick<Publisher, 'publish'>;
  readonly dispatch: Pick<Dispatch, 'call'>;
  /** Hears of what the log of an installation should say. */
  readonly observer: Pick<Journal, 'log'>;
  readonly limits: Limits;
  /** Milliseconds that only ever grow. */
  readonly clock: () => number;
  readonly metrics: Exposition;
  readonly cells: CellHealth;
  readonly bundlers: BundlerHealth;
  /** What the checks of the database have found so far. */
  database(): IntegrityState;
  readonly credentials: Credentials;
  /** Told of limits that a request met. */
  limitMet(limit: LimitName): void;
}

const NO_PAGE = {
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cache-control': 'no-store',
};

/** Registers every route of the control listener. */
export function controlDoor(app: FastifyInstance, parts: ControlDoorParts): void {
  // Manifests, logs and problems hold text of tenants'. No browser shall take an answer for a page, run what is in it,
  // show it in a frame, or keep it. And no header lets pages of other origins read one.
  app.addHook('onRequest', (_request, reply, done) => {
    reply.headers(NO_PAGE);
    done();
  });
  // Integrations reach this listener in process. What is not of the API is the operator's, and not there for them.
  app.addHook('onRequest', (request, _reply, done) => {
    const isApi = request.routeOptions.url?.startsWith('/v1/') === true;
    if (isApi || inProcessDepth(request.raw.socket) === undefined) return done();
    const path = request.originalUrl.split('?', 1)[0];
    return done(new AnnexError('ROUTE_UNKNOWN', `No route ${request.method} ${path}.`));
  });
  operationsDoor(app, parts);
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
    jsonSchemasDoor(root);
    root.register(
      async (api) => {
        authenticate(api, parts.credentials);
        const typed = withTypedRoutes(api);
        integrationsDoor(typed, parts);
        publishDoor(typed, parts);
        imagesDoor(typed, parts);
        versionsDoor(typed, parts);
        limitsDoor(typed, parts);
        secretsDoor(typed, parts);
        const edits = new EditRate(parts.limits, parts.clock, parts.limitMet);
        installationsDoor(typed, { ...parts, edits });
        webhookSecretDoor(typed, { ...parts, edits });
        webhookTestDoor(typed, { ...parts, edits });
        installLinksDoor(typed, parts);
        tokensDoor(typed, parts);
        introspectionDoor(typed, parts);
        configurationDoor(typed, parts);
        credentialLeasesDoor(typed, parts);
        spentStatesDoor(typed, { ...parts, edits });
        completionsDoor(typed, parts);
        const renderer = new Renderer(parts);
        renderDoor(typed, { ...parts, renderer });
        blocksDoor(typed, { ...parts, renderer });
        blockMarkdownDoor(typed, parts);
        logsDoor(typed, parts);
        auditDoor(typed, parts);
        ingestDoor(typed, parts);
        eventsDoor(typed, parts);
        deliveriesDoor(typed, parts);
        deliveryOrdersDoor(typed, { ...parts, edits });
      },
      { prefix: '/v1' },
    );
  });
}
