/** Names of the operations in the OpenAPI description: what clients call the methods. */
import { expect, test } from 'vitest';
import { operationName } from '../../../src/http/control/operation-name.ts';

const TARGET = '/v1/integrations/:name/installations/:id';

test.each([
  ['GET', '/v1/integrations', 'integrations list'],
  ['POST', '/v1/integrations', 'integrations publish'],
  ['DELETE', '/v1/integrations/:name', 'integrations delete'],
  ['GET', '/v1/integrations/:name/spaces', 'integrations listSpaces'],
  ['GET', '/v1/integrations/:name/images/:path', 'images get'],
  ['POST', '/v1/integrations/:name/versions/:version/activate', 'versions activate'],
  ['GET', '/v1/integrations/:name/limits', 'limits get'],
  ['PUT', '/v1/integrations/:name/secrets', 'secrets set'],
  ['DELETE', '/v1/integrations/:name/secrets/:secret', 'secrets delete'],
  ['POST', '/v1/integrations/:name/install-link', 'install-links create'],
  ['GET', '/v1/install-links/:token', 'install-links get'],
  ['PATCH', TARGET, 'installations update'],
  ['POST', `${TARGET}/tokens`, 'installations createToken'],
  ['GET', `${TARGET}/spaces`, 'spaces list'],
  ['GET', `${TARGET}/sites/:site/webhook-secret`, 'sites getWebhookSecret'],
  ['POST', `${TARGET}/spaces/:space/pause`, 'spaces pause'],
  ['DELETE', `${TARGET}/credentials/lease/:lease`, 'installations releaseCredentials'],
  ['POST', '/v1/deliveries/:id/redeliver', 'deliveries redeliver'],
  ['POST', '/v1/tokens/introspect', 'tokens introspect'],
  ['POST', '/v1/events', 'events post'],
])('%s %s is %s', (method, path, expected) => {
  const { noun, verb } = operationName(method, path);
  expect(`${noun} ${verb}`).toBe(expected);
});

test.each([
  ['GET', '/v1/unheard-of'],
  ['PATCH', '/v1/deliveries'],
  ['POST', '/v1/deliveries/:id'],
  ['PUT', `${TARGET}/webhook-secret/rotate`],
])('%s %s stops the start, as nothing names it', (method, path) => {
  expect(() => operationName(method, path)).toThrow(`${method} ${path} has no name`);
});
