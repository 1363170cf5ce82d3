/**
 * JSON that is nested too deep is refused before it is parsed, on both listeners.
 */
import { expect, test } from 'vitest';
import { isTooDeep, JSON_DEPTH_MAX } from '../../../src/model/json-depth.ts';
import { startTestService } from '../../support/service.ts';

const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`;

test.each([
  ['lists', nested(JSON_DEPTH_MAX), false],
  ['more lists', nested(JSON_DEPTH_MAX + 1), true],
  ['objects', `${'{"a":'.repeat(JSON_DEPTH_MAX + 1)}0`, true],
  ['lists beside each other', `[${'[],'.repeat(10 * JSON_DEPTH_MAX)}[]]`, false],
  ['brackets in a text', `["${'['.repeat(10 * JSON_DEPTH_MAX)}"]`, false],
  ['brackets behind an escaped quote', `["\\"${'['.repeat(10 * JSON_DEPTH_MAX)}"]`, false],
  ['brackets behind an escaped backslash', `["\\\\",${nested(JSON_DEPTH_MAX)}]`, true],
])('%s', (_, text, expected) => {
  expect(isTooDeep(Buffer.from(text))).toBe(expected);
});

test('attack: half a million lists in each other, in an envelope and in a request to the API', async () => {
  const annex = await startTestService();
  const installed = await annex.deploy('echo', 'export default { fetch: () => new Response("here") };');
  const deep = `{"type":"fetch","a":${nested(JSON_DEPTH_MAX)}}`;
  const inEvent = await annex.envelope(installed, deep);
  const inEnvironment = await annex.envelope(installed, { type: 'fetch' }, { environment: deep });
  expect([inEvent.status, inEnvironment.status]).toEqual([400, 400]);
  expect(await inEvent.text()).toContain(`nested deeper than ${JSON_DEPTH_MAX}`);
  const json = { organization: 'acme', url: 'https://a.example', context: JSON.parse(deep) };
  const { status, body } = await annex.api('POST', '/v1/blocks/unfurl', { json });
  expect([status, body]).toMatchObject([400, { error: { code: 'REQUEST_INVALID' } }]);
  const { status: flat } = await annex.api('POST', '/v1/blocks/unfurl', { json: { ...json, context: {} } });
  expect(flat).toBe(404);
});
