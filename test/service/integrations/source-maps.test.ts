/**
 * The source map of a version, for a tracker of errors: it leads from a stack that code reads to
 * the author's line.
 */
import { originalPositionFor, TraceMap } from '@jridgewell/trace-mapping';
import { expect, test } from 'vitest';
import { startTestService } from '../../support/service.ts';

const FILES = {
  'index.ts': `import { fail } from './lib/fail.ts';
    export default {
      fetch() {
        try {
          fail();
        } catch (error) {
          return new Response((error as Error).stack);
        }
      },
    };`,
  'lib/fail.ts': `type Unused = 1;

export function fail(): never {
  throw new Error('broken');
}`,
};

test('a stack in code leads to the lines of the author by the name of the script', async () => {
  const annex = await startTestService();
  await annex.publish('mapped', FILES);
  const { endpoint } = await annex.install('mapped');
  const stack = await (await fetch(endpoint)).text();
  const map = (await annex.api('GET', '/v1/integrations/mapped/versions/1/source-map')).body;
  expect(map).toMatchObject({ version: 3, file: 'annex:/mapped@1.js' });
  expect(JSON.stringify(map)).not.toContain('broken');

  const headers = { authorization: `Bearer ${annex.admin}` };
  const route = `${annex.service.controlUrl}/v1/integrations/mapped/versions/1/script`;
  const response = await fetch(route, { headers });
  expect(response.headers.get('content-type')).toMatch(/^text\/javascript/);
  const script = await response.text();
  expect(script).toMatch(/\n\/\/# sourceMappingURL=mapped@1\.js\.map\n$/);

  const frames = [...stack.matchAll(/annex:\/mapped@1\.js:(\d+):(\d+)/g)];
  const positions = frames.map(([, line, column]) => {
    const { source, line: at } = originalPositionFor(new TraceMap(map as never), {
      line: Number(line),
      column: Number(column) - 1,
    });
    return `${source}:${at}`;
  });
  expect(positions.slice(0, 2)).toEqual(['lib/fail.ts:4', 'index.ts:5']);
  const [, line = '', column = ''] = frames[0] ?? [];
  expect(script.split('\n')[Number(line) - 1]?.slice(Number(column) - 1)).toMatch(/^new Error\("broken"\)/);
});

test('a version that there is not has neither', async () => {
  const annex = await startTestService();
  await annex.publish('mapped', FILES);
  for (const what of ['source-map', 'script']) {
    const { status, body } = await annex.api('GET', `/v1/integrations/mapped/versions/2/${what}`);
    expect([status, body]).toMatchObject([404, { error: { code: 'VERSION_UNKNOWN' } }]);
  }
});
