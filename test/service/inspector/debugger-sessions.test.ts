/** Debuggers that come, leave and come again, and isolates that are replaced under them. */
import { expect, test } from 'vitest';
import {
  attach,
  DebuggedScript,
  ENTRY,
  NAME,
  SOURCE,
  startInspected,
} from '../../support/inspector/inspected-service.ts';
import { listedTargets, TestDebugger } from '../../support/inspector/test-debugger.ts';

test('an editor finds the isolate in the lists that Node’s inspector has', async () => {
  const { address } = await startInspected();
  const version = (await (await fetch(`http://${address}/json/version`)).json()) as Record<string, string>;
  expect(version['Browser']).toMatch(/^annex\/\d/);
  const [target, ...others] = await listedTargets(address);
  expect(others).toEqual([]);
  expect(target).toMatchObject({ type: 'node', url: `annex:/${NAME}@1.js` });
  expect(target?.title).toMatch(/^greeter@1 \(ins_/);
  expect(target?.webSocketDebuggerUrl).toMatch(new RegExp(`^ws://${RegExp.escape(address)}/[0-9a-f-]{36}$`));
});

test('a debugger that leaves at a breakpoint lets the call go on, and the next one finds no breakpoint', async () => {
  const service = await startInspected();
  const first = await attach(service.address);
  const script = await DebuggedScript.of(first, service);
  await script.breakAt(first, 'return { text:');
  const held = fetch(`${service.installed.endpoint}/?name=Ada`);
  await first.next('Debugger.paused');
  await first.close();
  expect((await held).status).toBe(200);
  const second = await attach(service.address);
  await DebuggedScript.of(second, service);
  expect((await fetch(service.installed.endpoint)).status).toBe(200);
  await second.send('Debugger.enable');
  expect(second.count('Debugger.paused')).toBe(0);
});

test('a second debugger of an isolate is refused, and the first one keeps it', async () => {
  const service = await startInspected();
  const first = await attach(service.address);
  await expect(attach(service.address)).rejects.toThrow('refused with 409');
  expect(await first.evaluate('6 * 7')).toBe(42);
});

test('a request that the inspector does not know is answered with its error', async () => {
  const service = await startInspected();
  const inspector = await attach(service.address);
  await expect(inspector.send('NodeWorker.enable')).rejects.toThrow("'NodeWorker.enable' wasn't found");
});

test('a new version takes the place of the old one in the list, and the debugger is told', async () => {
  const { annex, installed, address } = await startInspected();
  const inspector = await attach(address);
  await annex.publish(NAME, { [ENTRY]: SOURCE.replace('hello', 'hi') });
  await fetch(installed.endpoint);
  await expect
    .poll(async () => (await listedTargets(address)).map(({ url }) => url))
    .toEqual([`annex:/${NAME}@2.js`]);
  expect(await inspector.closed).toMatchObject({ code: 1001 });
});

test('a cell that dies takes its isolates out of the list', async () => {
  const { annex, installed, address } = await startInspected();
  const inspector = await attach(address);
  for (const pid of annex.cellPids) process.kill(pid, 'SIGKILL');
  expect(await inspector.closed).toMatchObject({ code: 1001 });
  await expect.poll(async () => (await fetch(installed.endpoint)).status).toBe(200);
  await expect.poll(async () => (await listedTargets(address)).length).toBe(1);
});

test('a message that is no request of the protocol ends the connection', async () => {
  const { address } = await startInspected();
  const [target] = await listedTargets(address);
  const inspector = await TestDebugger.connect(target?.webSocketDebuggerUrl ?? '');
  // The helper sends what it is given.
  void inspector.send(7 as unknown as string);
  expect(await inspector.closed).toMatchObject({ code: 1007 });
});
