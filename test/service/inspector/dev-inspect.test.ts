/** `annex dev --inspect` as an author has it: a debugger finds the files of the watched folder. */
import { expect, onTestFinished, test } from 'vitest';
import { folderWith, manifestOf } from '../../support/cli/author-folder.ts';
import { DevProcess } from '../../support/cli/dev-process.ts';
import { attach, DebuggedScript, ENTRY, NAME, SOURCE } from '../../support/inspector/inspected-service.ts';

test('a breakpoint stops at a line of the folder that is watched', async () => {
  const folder = await folderWith({ 'platform-manifest.yaml': manifestOf(NAME, ENTRY), [ENTRY]: SOURCE });
  const dev = new DevProcess(folder, ['--inspect', '--inspect-port', '0']);
  onTestFinished(async () => void (await dev.stop()));
  const { inspector: address = '' } = await dev.next('started');
  const { endpoint } = await dev.next('live');
  await fetch(endpoint);
  const inspector = await attach(address);
  const script = await DebuggedScript.of(inspector, { folder });
  await script.breakAt(inspector, 'return { text:');
  const answer = fetch(`${endpoint}/?name=Ada`);
  const { callFrames } = await inspector.next('Debugger.paused');
  expect(script.lineOf(callFrames[0])).toBe('return { text: greeting };');
  await inspector.send('Debugger.resume');
  expect(await (await answer).json()).toEqual({ text: 'hello Ada' });
});
