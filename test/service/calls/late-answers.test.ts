/**
 * A call that gives no answer in time: its log names the fetches that it waited for, by their
 * origins, and no path of theirs.
 */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { TestService } from '../../support/service.ts';

let silent: Server;
let origin: string;
let annex: TestService;
beforeAll(async () => {
  silent = createServer(() => {});
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  origin = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
  annex = await TestService.start({
    flags: ['--egress-allow', new URL(origin).host],
    limits: { firstByteMs: 1_500 },
  });
});
afterAll(async () => {
  await annex.stop();
  silent.closeAllConnections();
  await new Promise((resolve) => silent.close(resolve));
});

const linesOf = async (source: string) => {
  const installed = await annex.deploy(`late-${Math.random().toString(36).slice(2)}`, source);
  const response = await fetch(installed.endpoint);
  expect(response.status).toBe(504);
  return (await annex.log(installed)).map(({ text }) => text);
};

test('a call without an answer is logged with the fetches that it waited for', async () => {
  const lines = await linesOf(
    `export default { async fetch() { return fetch('${origin}/private?key=hush'); } };`,
  );
  const words = `At that time the call waited for the answers of fetches: ${RegExp.escape(origin)} for [\\d,]+ ms\\.`;
  expect(lines).toContainEqual(expect.stringMatching(new RegExp(`^${words}$`)));
  expect(lines).toContainEqual(expect.stringContaining('(firstByteMs)'));
  expect(lines.join('\n')).not.toMatch(/private|hush/);
});

test('a call that waits for something else has no such line', async () => {
  const lines = await linesOf('export default { fetch: () => new Promise(() => {}) };');
  expect(lines.join('\n')).not.toContain('At that time');
  expect(lines).toContainEqual(expect.stringContaining('(firstByteMs)'));
});
