/**
 * A debugger in an isolate: breakpoints at lines of the author's TypeScript, values, exceptions,
 * and what becomes of a call that it holds. Real cells, and a plain client of the protocol.
 */
import { expect, test } from 'vitest';
import {
  attach,
  DebuggedScript,
  ENTRY,
  SOURCE,
  startInspected,
} from '../../support/inspector/inspected-service.ts';

/** Limits of a call that a person at a breakpoint is slower than. */
const SHORT = { callWallMs: 2_500, firstByteMs: 2_500 } as const;

test('a breakpoint at a line of the TypeScript stops there, shows values, evaluates and goes on', async () => {
  const service = await startInspected();
  const inspector = await attach(service.address);
  const script = await DebuggedScript.of(inspector, service);
  await script.breakAt(inspector, 'return { text:');
  const answer = fetch(`${service.installed.endpoint}/?name=Ada`);
  const { callFrames } = await inspector.next('Debugger.paused');
  const [frame, caller] = callFrames;
  expect(frame.functionName).toBe('greet');
  expect(script.lineOf(frame)).toBe('return { text: greeting };');
  expect(script.lineOf(caller)).toContain('return Response.json(greet(');
  const { objectId } = frame.scopeChain[0].object;
  const { result } = await inspector.send('Runtime.getProperties', { objectId, ownProperties: true });
  const locals = Object.fromEntries(
    result.map(({ name, value }: { name: string; value: { value: unknown } }) => [name, value.value]),
  );
  expect(locals).toMatchObject({ name: 'Ada', greeting: 'hello Ada' });
  const { callFrameId } = frame;
  const evaluated = await inspector.send('Debugger.evaluateOnCallFrame', {
    callFrameId,
    expression: 'greeting.length + 1',
  });
  expect(evaluated.result.value).toBe(10);
  await inspector.send('Debugger.resume');
  const response = await answer;
  expect([response.status, await response.json()]).toEqual([200, { text: 'hello Ada' }]);
});

test('the source map has the text of the author’s files, and marks the files of the SDK', async () => {
  const service = await startInspected();
  const inspector = await attach(service.address);
  const { map } = await DebuggedScript.of(inspector, service);
  const own = map.sources.findIndex((source) => source.startsWith('file://') && source.endsWith(ENTRY));
  expect(map.sourcesContent[own]).toBe(SOURCE);
  const { ignoreList } = map as unknown as { ignoreList: number[] };
  expect(ignoreList).not.toContain(own);
  expect(ignoreList.some((at) => map.sources[at]?.includes('@annex/sdk/'))).toBe(true);
});

test('the script that runs under a debugger is that of production, byte for byte', async () => {
  const service = await startInspected();
  const inspector = await attach(service.address);
  const { scriptId } = await DebuggedScript.of(inspector, service);
  const { scriptSource } = await inspector.send('Debugger.getScriptSource', { scriptId });
  const stored = await service.annex.service.store.registry.script('greeter@1');
  expect(scriptSource).toBe(Buffer.from(stored ?? '').toString());
});

test('a breakpoint holds a call past its wall time, and past the host’s patience with its cell', async () => {
  const service = await startInspected(SHORT);
  const inspector = await attach(service.address);
  const script = await DebuggedScript.of(inspector, service);
  await script.breakAt(inspector, 'return { text:');
  const answer = fetch(`${service.installed.endpoint}/?name=Ada`);
  await inspector.next('Debugger.paused');
  const pausedAt = performance.now();
  // The host ends a cell that holds a call for two seconds more than its wall time.
  const held = () => performance.now() - pausedAt;
  await expect.poll(held, { timeout: 10_000 }).toBeGreaterThan(SHORT.callWallMs + 2_500);
  await inspector.send('Debugger.resume');
  expect((await answer).status).toBe(200);
});

test('a call that no breakpoint holds has its limits as in production', async () => {
  const service = await startInspected(SHORT);
  const inspector = await attach(service.address);
  await DebuggedScript.of(inspector, service);
  const response = await fetch(`${service.installed.endpoint}/?wait=1`);
  expect(response.status).toBe(504);
});

test('a debugger stops where the code throws, with the error', async () => {
  const service = await startInspected();
  const inspector = await attach(service.address);
  const script = await DebuggedScript.of(inspector, service);
  await inspector.send('Debugger.setPauseOnExceptions', { state: 'all' });
  const answer = fetch(`${service.installed.endpoint}/?throw=1`);
  const { reason, data, callFrames } = await inspector.next('Debugger.paused');
  // V8 sees that no handler of the author's code is on the stack of an async function.
  expect(['exception', 'promiseRejection']).toContain(reason);
  expect(data.description).toContain('TypeError: boom');
  expect(script.lineOf(callFrames[0])).toContain("throw new TypeError('boom')");
  await inspector.send('Debugger.setPauseOnExceptions', { state: 'none' });
  await inspector.send('Debugger.resume');
  expect((await answer).status).toBe(500);
});

test('two hundred stops in a row lose no message', async () => {
  const service = await startInspected();
  const inspector = await attach(service.address);
  const script = await DebuggedScript.of(inspector, service);
  await script.breakAt(inspector, 'return { text:');
  for (let turn = 0; turn < 200; turn++) {
    const answer = fetch(`${service.installed.endpoint}/?name=${turn}`);
    const { callFrames } = await inspector.next('Debugger.paused');
    const { callFrameId } = callFrames[0];
    const { result } = await inspector.send('Debugger.evaluateOnCallFrame', {
      callFrameId,
      expression: 'name',
    });
    expect(result.value).toBe(String(turn));
    await inspector.send('Debugger.resume');
    expect((await answer).status).toBe(200);
  }
});
