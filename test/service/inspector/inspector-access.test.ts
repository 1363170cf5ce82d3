/**
 * Who may connect to a debugger: programs of this machine and Chrome DevTools, and only where the
 * whole service is on loopback.
 */
import { request } from 'node:http';
import { expect, test } from 'vitest';
import { inspectionProblems } from '../../../src/host/inspector/inspection-settings.ts';
import { attach, startInspected } from '../../support/inspector/inspected-service.ts';
import { listedTargets, TestDebugger } from '../../support/inspector/test-debugger.ts';
import { startTestService, TestService } from '../../support/service.ts';

/** The status of a request with these headers. */
function statusOf(address: string, headers: Record<string, string>): Promise<number | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<number | undefined>();
  request(`http://${address}/json/list`, { headers }, (response) => {
    response.resume();
    resolve(response.statusCode);
  })
    .on('error', reject)
    .end();
  return promise;
}

test('a page, and a name that was made to point here, get neither the list nor a connection', async () => {
  const { address } = await startInspected();
  const [target] = await listedTargets(address);
  const url = target?.webSocketDebuggerUrl ?? '';
  const [, port] = address.split(':');
  for (const headers of [
    { host: `evil.example:${port}` },
    { host: '127.0.0.1:1' },
    { host: 'localhost' },
    { origin: 'https://evil.example' },
    { origin: `http://${address}` },
    { origin: 'null' },
    { origin: 'devtools://devtools.evil.example' },
  ]) {
    expect(await statusOf(address, headers)).toBe(403);
    await expect(TestDebugger.connect(url, headers)).rejects.toThrow('refused with 403');
  }
});

test('Chrome DevTools and a program without an origin are answered', async () => {
  const { address } = await startInspected();
  const [, port] = address.split(':');
  expect(await statusOf(address, { host: `localhost:${port}` })).toBe(200);
  expect(await statusOf(address, { origin: 'devtools://devtools' })).toBe(200);
  const [target] = await listedTargets(address);
  const url = target?.webSocketDebuggerUrl ?? '';
  const inspector = await TestDebugger.connect(url, { origin: 'devtools://devtools' });
  expect(await inspector.evaluate('1 + 1')).toBe(2);
});

test('a path that is not in the list is refused', async () => {
  const { address } = await startInspected();
  const guess = `ws://${address}/00000000-0000-4000-8000-000000000000`;
  await expect(TestDebugger.connect(guess)).rejects.toThrow('refused with 404');
});

test('the inspector listens on 127.0.0.1 alone', async () => {
  const { address } = await startInspected();
  expect(address).toMatch(/^127\.0\.0\.1:\d+$/);
  await attach(address);
});

test('a service that others can reach does not let debuggers in', async () => {
  const start = TestService.start({ flags: ['--public-host', '0.0.0.0'], inspect: { port: 0 } });
  await expect(start).rejects.toThrow(/--public-host is 0\.0\.0\.0: make it 127\.0\.0\.1/);
  const local = { controlHost: '127.0.0.1', publicHost: '::1', workers: 1 };
  expect(inspectionProblems(local)).toEqual([]);
  expect(inspectionProblems({ ...local, controlHost: '10.0.0.7' })).toHaveLength(1);
  expect(inspectionProblems({ ...local, controlHost: '127.0.0.1.evil.example' })).toHaveLength(1);
  expect(inspectionProblems({ ...local, workers: 2 })).toHaveLength(1);
});

test('a service without `--inspect` has no inspector', async () => {
  const annex = await startTestService();
  expect(annex.service.inspector).toBeUndefined();
});
