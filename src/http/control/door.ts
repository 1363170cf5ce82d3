/**
 * The control listener's routes: the API under `/v1` (REFERENCE D9), its OpenAPI description, and what an operator's
 * tools look at.
 *
 * One file for each noun, each handed what it uses and nothing more. The description is made from the schemas that
 * validate, so it cannot say anything else than the code does; it holds nothing of a tenant and needs no token.
 */
import swagger from '@fastify/swagger';
import type { FastifyInstance } from 'fastify';
import type { Limits } from '../../limits.ts';
import type { Publisher } from '../../publish/publish.ts';
import type { Store } from '../../store/store.ts';
import { authenticate } from './authenticate.ts';
import { installationsDoor } from './installations.ts';
import { integrationsDoor } from './integrations.ts';
import { logsDoor } from './logs.ts';
import { type Exposition, operationsDoor } from './operations.ts';
import { publishDoor } from './publish.ts';
import { tokensDoor } from './tokens.ts';
import { withTypedRoutes } from './typed-routes.ts';
import { versionsDoor } from './versions.ts';

export interface ControlDoorParts extends Pick<Store, 'registry' | 'tokens' | 'logs'> {
  readonly publisher: Pick<Publisher, 'publish'>;
  readonly limits: Limits;
  readonly metrics: Exposition;
}

/** Registers every route of the control listener. */
export function controlDoor(app: FastifyInstance, parts: ControlDoorParts): void {
  operationsDoor(app, parts);
  app.register(async (root) => {
    await root.register(swagger, {
      openapi: {
        openapi: '3.1.0',
        info: { title: 'Annex', version: 'v1' },
        components: { securitySchemes: { token: { type: 'http', scheme: 'bearer' } } },
        security: [{ token: [] }],
      },
    });
    root.get('/v1/openapi.json', { schema: { hide: true } }, async () => root.swagger());
    root.register(
      async (api) => {
        authenticate(api, parts.tokens);
        const typed = withTypedRoutes(api);
        integrationsDoor(typed, parts);
        publishDoor(typed, parts);
        versionsDoor(typed, parts);
        installationsDoor(typed, parts);
        tokensDoor(typed, parts);
        logsDoor(typed, parts);
      },
      { prefix: '/v1' },
    );
  });
}
