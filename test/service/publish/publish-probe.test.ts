/**
 * The probe of a publish: which faults it finds by loading the script, and that the answer locates
 * them.
 */
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { startTestService, TestService } from '../../support/service.ts';

let annex: TestService;
beforeAll(async () => {
  annex = await TestService.start({ limits: { callCpuMs: 300, callWallMs: 4_000 } });
});
afterAll(() => annex.stop());

interface Refusal {
  severity: string;
  message: string;
  file?: string;
  line?: number;
  column?: number;
}

const refused = async (files: Record<string, string>, manifest = ''): Promise<Refusal[]> => {
  const { status, body } = await annex.tryPublish('probed', files, manifest);
  const { code, problems } = body['error'] as { code: string; problems: Refusal[] };
  expect([status, code]).toEqual([422, 'PUBLISH_INVALID']);
  expect((await annex.api('GET', '/v1/integrations/probed')).status).toBe(404);
  return problems.filter(({ severity }) => severity === 'error');
};

test.each([
  ['throws at load', 'throw new Error("no luck"); export default {};', 'no luck'],
  ['throws a trap at load', 'throw new Proxy({}, { get() { for (;;); } });', 'throws while it loads'],
  ['loops at load', 'for (;;);', '300 ms (callCpuMs)'],
  ['never finishes loading', 'await new Promise(() => {});', '4,000 ms (callWallMs)'],
  ['exports nothing', 'const unused = 1;', 'default export'],
  ['exports no fetch', 'export default { answer: 42 };', '"fetch"'],
])('a script that %s is refused', async (_what, source, said) => {
  expect(await refused({ 'index.js': source })).toMatchObject([{ message: expect.stringContaining(said) }]);
});

test.each([
  [
    'is an instance of a class',
    'class Worker { #a = 1; fetch() { return new Response(this.#a); } } export default new Worker();',
  ],
  ['is promised', 'const make = async () => ({ fetch: () => new Response("1") }); export default make();'],
  [
    'has other exports beside it',
    'export class Queue {} export const version = 7; export default { fetch: () => new Response("1") };',
  ],
  [
    'is a function with a fetch',
    'const app = () => {}; app.fetch = () => new Response("1"); export { app as default };',
  ],
])('a worker that %s is published and answers', async (what, source) => {
  const name = `worker-${what.replaceAll(/[^a-z]+/g, '-')}`;
  const block = 'blocks:\n  - { id: clock, title: Clock }\n';
  await annex.publish(name, { 'index.js': source }, block);
  const { endpoint } = await annex.install(name);
  expect(await (await fetch(`${endpoint}/`)).text()).toBe('1');
});

test('an exception at load is shown at the line of its own file', async () => {
  const [problem] = await refused({
    'src/index.ts': "import { boom } from './boom.ts';\nboom();\nexport default { fetch() {} };",
    'src/boom.ts': 'type T = string;\n\nexport const boom = () => {\n  throw new TypeError("at load");\n};',
  });
  expect(problem).toMatchObject({ file: 'src/boom.ts', line: 4, column: 9 });
  expect(problem?.message).toContain('TypeError: at load');
  expect(problem?.message).not.toContain('annex:/');
});

test.each([
  ['createIntegration({ evnts: {} })', 'evnts'],
  ['createIntegration({ components: [createComponent({ componentId: "" })] })', 'componentId'],
])('a mistake in a call of the SDK is reported at the line of the call: %s', async (call, said) => {
  const [problem] = await refused({
    'index.js': `import { createIntegration, createComponent } from '@annex/sdk';\n\nexport default ${call};`,
  });
  expect(problem).toMatchObject({ file: 'index.js', line: 3, message: expect.stringContaining(said) });
});

test('an import that the SDK does not export is refused, and the nearest export is suggested', async () => {
  const source = "import { createIntegraton } from '@annex/sdk';\nexport default createIntegraton({});";
  const [problem] = await refused({ 'index.js': source });
  expect(problem).toMatchObject({ file: 'index.js', line: 1, hint: 'Did you mean "createIntegration"?' });
});

test('an entrypoint uploaded without its folder gets a hint how to send it; further problems are counted', async () => {
  const { body } = await annex.tryPublish('probed', { 'other.js': '' }, 'icon: images/icon.png\n');
  expect(body['error']).toMatchObject({
    message: expect.stringMatching(/^The upload .* \(and 1 more problem\)$/),
  });
  const manifest =
    'name: probed\ntitle: P\ndescription: P.\norganization: acme\nvisibility: public\nscopes: []\nscript: src/index.tsx\n';
  const form = new FormData();
  form.append('manifest', manifest);
  form.append('files', new Blob(['']), 'index.tsx');
  const lost = await annex.api('POST', '/v1/integrations', { form });
  const hint = `There is "index.tsx": send its path as the file name, as curl -F 'files=@src/index.tsx;filename=src/index.tsx'.`;
  expect(lost.body['error']).toMatchObject({ problems: [{ hint }] });
});

test('a block of the manifest needs a component of the script', async () => {
  const source = `
    import { createIntegration, createComponent } from '@annex/sdk';
    const clock = createComponent({ componentId: 'clock', async render() { return { type: 'block', children: [] }; } });
    export default createIntegration({ components: [clock] });`;
  const [problem] = await refused(
    { 'index.js': source },
    'blocks:\n  - id: timer\n    title: Timer\n    description: Ticks.\n',
  );
  expect(problem?.message).toContain('timer');
  expect(problem?.message).toContain('clock');
});

test('a script that loops while it loads does not affect the next publish', async () => {
  const looping = annex.tryPublish('looping', { 'index.js': 'for (;;);' });
  expect(await annex.publish('fine', { 'index.js': 'export default { fetch: () => new Response() };' })).toBe(
    1,
  );
  expect((await looping).status).toBe(422);
});

test('a probe has its own time limit, and runs in a cell without tenants', async () => {
  const hurried = await startTestService({ limits: { probeWallMs: 400 } });
  const { status, body } = await hurried.tryPublish('slow', { 'index.js': 'await new Promise(() => {});' });
  expect([status, JSON.stringify(body)]).toEqual([422, expect.stringContaining('400 ms (probeWallMs)')]);
  const { cells, processes } = hurried.service.pool;
  expect(processes.filter((cell) => !cells.includes(cell)).length).toBe(1);
});

// As on a machine whose cores all do other work: each cell of a probe is stopped once it is ready.
test('a script whose cell gets no core is not refused: the service is busy', async () => {
  const busy = await startTestService({ limits: { probeWallMs: 400, cellHeartbeatMs: 1_000 } });
  const { pool } = busy.service;
  const stopped = new Set<number>();
  const stopping = setInterval(() => {
    for (const { worked, pid } of pool.processes.filter((cell) => !pool.cells.includes(cell))) {
      if (!worked || pid === undefined || stopped.has(pid)) continue;
      stopped.add(pid);
      process.kill(pid, 'SIGSTOP');
    }
  }, 1);
  onTestFinished(() => clearInterval(stopping));
  const source = {
    'index.js': 'for (let i = 0; i < 1e8; i++); export default { fetch: () => new Response() };',
  };
  const { status, body } = await busy.tryPublish('innocent', source);
  expect([status, body['error']]).toMatchObject([503, { code: 'PUBLISH_BUSY' }]);
  expect(stopped.size).toBe(2);
  clearInterval(stopping);
  expect(await busy.publish('innocent', source)).toBe(1);
});
