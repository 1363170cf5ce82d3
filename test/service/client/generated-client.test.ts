/** The client agrees with the service's OpenAPI description: its text, and the routes. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { clientText } from '../../../packages/client/generator/client-text.ts';
import { formatted } from '../../../packages/client/generator/formatted.ts';
import type { Description } from '../../../packages/client/generator/openapi.ts';
import { referenceText } from '../../../packages/client/generator/reference-text.ts';
import { Annex } from '../../../packages/client/src/index.ts';
import { TestService } from '../../support/service.ts';

let annexService: TestService;
let description: Description;

beforeAll(async () => {
  annexService = await TestService.start();
  const { body } = await annexService.api('GET', '/v1/openapi.json');
  description = body as unknown as Description;
});
afterAll(() => annexService.stop());

test('the generated files are what the generator makes of the description', async () => {
  await expect(referenceText(description)).toMatchFileSnapshot('../../../docs/client-reference.md');
  await expect(formatted(clientText(description))).toMatchFileSnapshot(
    '../../../packages/client/src/generated.ts',
  );
});

/** Names in braces as numbers, in order: parameters of methods have names of their own. */
const numbered = (path: string): string => {
  let number = 0;
  return path.replace(/\{\w+\}/g, () => {
    number += 1;
    return `{${number}}`;
  });
};

test('each route of the description is reached by one method, and each method reaches one', async () => {
  const reached: string[] = [];
  const annex = new Annex({
    url: 'http://annex.example',
    fetch: async (url, init) => {
      reached.push(`${init?.method} ${decodeURIComponent(new URL(String(url)).pathname)}`);
      return Response.json({ items: [] });
    },
  });
  for (const group of Object.values(annex) as Record<string, (...given: string[]) => Promise<unknown>>[]) {
    const methods = Object.getOwnPropertyNames(Object.getPrototypeOf(group));
    for (const name of methods.filter((each) => each !== 'constructor' && !each.startsWith('all')))
      await group[name]?.('{1}', '{2}', '{3}', '{4}');
  }
  const described = Object.entries(description.paths).flatMap(([path, operations]) =>
    Object.keys(operations).map((method) => `${method.toUpperCase()} ${numbered(path)}`),
  );
  expect(reached.toSorted()).toEqual(described.toSorted());
});
