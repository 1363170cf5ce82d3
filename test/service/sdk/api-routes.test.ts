/** The types of the SDK's API client agree with the service's OpenAPI description. */
import { expect, test } from 'vitest';
import { apiRouteTypes, apiShapeTypes, type Description } from '../../support/sdk/api-route-types.ts';
import { startTestService } from '../../support/service.ts';

test('the routes for runtime tokens are those of the description, with their shapes', async () => {
  const { service } = await startTestService();
  const description = (await (await fetch(`${service.controlUrl}/v1/openapi.json`)).json()) as Description;
  await expect(apiShapeTypes(description)).toMatchFileSnapshot('../../../sandbox/sdk/api-shapes.ts');
  await expect(apiRouteTypes(description)).toMatchFileSnapshot('../../../sandbox/sdk/api-routes.ts');
});
