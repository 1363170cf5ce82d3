/**
 * The `contentSecurityPolicy` of a manifest applies to pages without one of their own
 * (docs/contract/manifest.md#content-security-policy).
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Installed, TestService } from '../../support/service.ts';

const CODE = `import { createIntegration } from '@annex/sdk';
export default createIntegration({
  async fetch(request) {
    const headers = JSON.parse(new URL(request.url).searchParams.get('headers') ?? '{}');
    if (request.headers.has('if-none-match')) return new Response(null, { status: 304 });
    return new Response(new TextEncoder().encode('<h1>Page</h1>'), { headers });
  },
});`;

let service: TestService;
let [mapped, worded, silent]: (Installed | undefined)[] = [];
beforeAll(async () => {
  service = await TestService.start();
  const map = `contentSecurityPolicy:\n  default-src: "'none'"\n  upgrade-insecure-requests: ""\n  img-src: "https:"\n`;
  const deploy = async (name: string, manifest: string) => {
    await service.publish(name, { 'index.js': CODE }, manifest);
    return service.install(name);
  };
  mapped = await deploy('mapped', map);
  worded = await deploy('worded', `contentSecurityPolicy: " script-src 'self'; object-src 'none' "\n`);
  silent = await deploy('silent', '');
});
afterAll(() => service.stop());

async function policy(of: Installed | undefined, headers: object): Promise<string | null> {
  const query = encodeURIComponent(JSON.stringify(headers));
  const response = await fetch(`${of?.endpoint}/?headers=${query}`);
  expect(await response.text()).toBe('<h1>Page</h1>');
  return response.headers.get('content-security-policy');
}
const MAPPED = "default-src 'none'; img-src https:; upgrade-insecure-requests";
const HTML = { 'content-type': 'text/html; charset=utf-8' };

test.each([
  ['HTML', HTML],
  ['HTML in capitals', { 'Content-Type': 'TEXT/HTML' }],
  ['XHTML', { 'content-type': 'application/xhtml+xml' }],
  ['SVG', { 'content-type': 'image/svg+xml' }],
  ['what browsers have to guess', {}],
])('%s gets it', async (_, headers) => expect(await policy(mapped, headers)).toBe(MAPPED));

test.each([
  ['JSON', { 'content-type': 'application/json' }],
  ['text', { 'content-type': 'text/plain' }],
  ['a type that begins like it', { 'content-type': 'text/htmlx' }],
])('%s does not', async (_, headers) => expect(await policy(mapped, headers)).toBeNull());

test('a policy that is a string is sent as the header', async () => {
  expect(await policy(worded, HTML)).toBe("script-src 'self'; object-src 'none'");
});

test('a page keeps its own policy', async () => {
  const own = { ...HTML, 'Content-Security-Policy': "default-src 'self'" };
  expect(await policy(mapped, own)).toBe("default-src 'self'");
});

test('a 304 keeps the policy of the cached page', async () => {
  const response = await fetch(`${mapped?.endpoint}/`, { headers: { 'if-none-match': '"a"' } });
  expect([response.status, response.headers.get('content-security-policy')]).toEqual([304, null]);
});

test('without a policy in the manifest, none is sent', async () =>
  expect(await policy(silent, HTML)).toBeNull());

test('the host product gets the answer to an envelope unchanged', async () => {
  if (mapped === undefined) throw new Error('It is installed.');
  const url = `${mapped.endpoint}/?headers=${encodeURIComponent(JSON.stringify(HTML))}`;
  const request = { method: 'GET', url, headers: {} };
  const response = await service.envelope(mapped, { eventId: '1', type: 'fetch', request });
  expect([response.status, response.headers.get('content-security-policy')]).toEqual([200, null]);
});

test('another version has another policy', async () => {
  await service.publish('silent', { 'index.js': CODE }, `contentSecurityPolicy: "default-src 'none'"\n`);
  expect(await policy(silent, HTML)).toBe("default-src 'none'");
});
