/** A publish whose publisher disconnects, or whose cell dies. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { beforeAll, expect, test } from 'vitest';
import type { Probe } from '../../../src/host/publish/probe-check.ts';
import { Publisher } from '../../../src/host/publish/publish.ts';
import { DEFAULT_LIMITS } from '../../../src/limits.ts';
import { aliveIn, SLOW_SOURCE, startedSession } from '../../support/bundle/bundler-processes.ts';
import { formOf } from '../../support/bundle/uploaded.ts';
import { TestService } from '../../support/service.ts';
import { manifestYaml, OPERATOR } from '../../support/store/temporary-store.ts';

let annex: TestService;
beforeAll(async () => {
  // Longer than any test: no build ends by its own limit.
  annex = await TestService.start({ limits: { bundleMs: 600_000 } });
  return () => annex.stop();
});

const FINE = 'export default { fetch: () => new Response() };';

/**
 * A publisher over the cells and the store of the service; `meanwhile` runs after the start of each
 * probe.
 */
function publisherWith(meanwhile: () => void) {
  const { pool, store } = annex.service;
  const probe: Probe = (script) => {
    const probing = pool.probe(script);
    meanwhile();
    return probing;
  };
  const publisher = new Publisher({ registry: store.registry, limits: DEFAULT_LIMITS, probe });
  return (name: string, gone?: AbortSignal) =>
    publisher.publish(formOf(new Map(), { manifest: manifestYaml({ name }), script: FINE }), OPERATOR, gone);
}

/** Kills every cell, those of probes too. @param fits which ones; all if absent */
const killCells = (fits: (cell: { readonly worked: boolean }) => boolean = () => true) => {
  for (const cell of annex.service.pool.processes.filter(fits)) cell.kill('was killed by a test');
};

// Attack: publishes of one tenant crash their cell, so that those of others are refused as
// crashing.
test('a cell that dies once during a probe does not fail the publish', async () => {
  const publish = publisherWith(() => killCells());
  expect(await publish('bystander')).toMatchObject({ ok: true, version: 1 });
});

/** Publishes while cells are killed again and again, as by a script that breaks them. */
async function crashing(name: string, fits?: Parameters<typeof killCells>[0]) {
  let killing: NodeJS.Timeout | undefined;
  const publish = publisherWith(() => {
    killing = setInterval(() => killCells(fits), 1);
  });
  try {
    return await publish(name);
  } finally {
    clearInterval(killing);
    expect(await annex.service.store.registry.integration(name)).toBeUndefined();
  }
}

test('a script that also crashes a cell of its own is refused as crashing, and nothing is stored', async () => {
  expect(await crashing('crasher', ({ worked }) => worked)).toMatchObject({
    ok: false,
    problems: [{ file: 'script.js', message: expect.stringContaining('crashes the process that loads it') }],
  });
});

test('a script whose cells die before they have it is not refused, and nothing is stored', async () => {
  await expect(crashing('victim')).rejects.toMatchObject({ code: 'PUBLISH_BUSY' });
});

test('a publisher that disconnects during the probe changes nothing', async () => {
  const gone = new AbortController();
  const publish = publisherWith(() => gone.abort(new Error('gone')));
  await expect(publish('left', gone.signal)).rejects.toThrow('gone');
  expect(await annex.service.store.registry.integration('left')).toBeUndefined();
});

// Attack: expensive uploads whose sender disconnects immediately occupy both builds, at no cost to
// the sender.
test('a publisher that disconnects stops the build, and changes nothing', async () => {
  const { service, admin } = annex;
  const form = new FormData();
  form.append('manifest', manifestYaml({ name: 'hung-up' }, 'script: a.ts'));
  // Code that may be published, so that a build which goes on to its end is stored.
  form.append('files', new Blob([SLOW_SOURCE.replace('export default 1;', FINE)]), 'a.ts');
  const encoded = new Response(form);
  const body = Buffer.from(await encoded.arrayBuffer());
  const { hostname, port } = new URL(service.controlUrl);
  const socket = connect(Number(port), hostname);
  await once(socket, 'connect');
  const head = [
    'POST /v1/integrations HTTP/1.1',
    `host: ${hostname}:${port}`,
    `authorization: Bearer ${admin}`,
    `content-type: ${encoded.headers.get('content-type')}`,
    `content-length: ${body.length}`,
  ];
  socket.write(`${head.join('\r\n')}\r\n\r\n`);
  socket.write(body);
  const session = await startedSession();
  socket.destroy();
  await expect.poll(() => aliveIn(session)).toBe(0);
  expect((await annex.api('GET', '/v1/integrations/hung-up')).status).toBe(404);
  // The build slot is free again, and the service works.
  expect(await annex.publish('next', { 'index.js': FINE })).toBe(1);
});
