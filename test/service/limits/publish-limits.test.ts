/** The limits of an upload: its files, its script, its secrets, and the time to probe it. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { LimitMet, LimitName } from '../../../src/limits.ts';
import { TestService } from '../../support/service.ts';

const LIMITS = {
  scriptBytes: 600,
  uploadBytes: 3_000,
  uploadFiles: 3,
  secretsPerIntegration: 2,
  secretBytes: 10,
  probeWallMs: 2_000,
};
const WORKER = `export default { fetch: () => new Response('fine') };`;

let annex: TestService;
beforeAll(async () => {
  annex = await TestService.start({ limits: LIMITS });
});
afterAll(() => annex.stop());

interface Sent {
  readonly files?: Record<string, string>;
  readonly secrets?: Record<string, string>;
}

const secretsOf = (count: number): Sent => ({
  secrets: Object.fromEntries(Array.from({ length: count }, (_, index) => [`S${index}`, 'value'])),
});
const filesOf = (count: number): Sent => ({
  files: Object.fromEntries(Array.from({ length: count - 1 }, (_, index) => [`f${index}.txt`, 'x'])),
});

/** Publishes under a new name each time. */
let names = 0;
function publish({ files = {}, secrets = {} }: Sent) {
  names += 1;
  const declared = Object.entries(secrets).map(([name, value]) => `  ${name}: ${value}\n`);
  const manifest = declared.length > 0 ? `secrets:\n${declared.join('')}` : '';
  return annex.tryPublish(`upload-${names}`, { 'index.js': WORKER, ...files }, manifest);
}

const loadsFor = (ms: number): Sent => ({
  files: { 'index.js': `await new Promise((done) => setTimeout(done, ${ms})); ${WORKER}` },
});

const script = (chars: number): Sent => ({
  files: { 'index.js': `${WORKER} export const s = "${'x'.repeat(chars)}";` },
});

const rows: { limit: LimitName & keyof typeof LIMITS; within: Sent; beyond: Sent; used?: number }[] = [
  { limit: 'uploadFiles', within: filesOf(3), beyond: filesOf(4) },
  { limit: 'secretsPerIntegration', within: secretsOf(2), beyond: secretsOf(3), used: 3 },
  {
    limit: 'secretBytes',
    within: { secrets: { S: 'x'.repeat(10) } },
    beyond: { secrets: { S: 'x'.repeat(11) } },
    used: 11,
  },
  { limit: 'probeWallMs', within: loadsFor(50), beyond: loadsFor(60_000) },
  { limit: 'scriptBytes', within: script(200), beyond: script(900) },
];

describe('an upload', () => {
  test.each(rows)(
    '$limit: an upload at the limit is published, and one beyond it has a problem',
    async (row) => {
      const { limit, within, beyond, used } = row;
      const met = () => annex.metric(`annex_limits_met_total{limit="${limit}"}`);
      const before = await met();
      expect((await publish(within)).status).toBe(201);
      expect(await met()).toBe(before);
      const { status, body } = await publish(beyond);
      const { error } = body as {
        error: { code: string; limit: LimitMet; problems: { limit?: LimitMet; message: string }[] };
      };
      expect([status, error.code]).toEqual([422, 'PUBLISH_INVALID']);
      const expected = { name: limit, max: LIMITS[limit], ...(used !== undefined && { used }) };
      expect(error.limit).toMatchObject(expected);
      expect(error.problems).toContainEqual(
        expect.objectContaining({
          limit: expect.objectContaining(expected),
          message: expect.stringContaining(`(${limit})`),
        }),
      );
      expect(await met()).toBe(before + 1);
    },
  );

  test('uploadBytes: an upload at the limit is published, and one byte more is 413', async () => {
    const manifestBytes = (name: string) =>
      // A form sends line breaks as two characters.
      `name: ${name}\r\ntitle: ${name}\r\ndescription: for a test\r\norganization: acme\r\nvisibility: public\r\nscopes: []\r\nscript: index.js\r\n`
        .length;
    const filled = (extra: number): Sent => {
      const used = manifestBytes(`upload-${names + 1}`) + Buffer.byteLength(WORKER);
      return { files: { 'pad.txt': 'x'.repeat(LIMITS.uploadBytes - used + extra) } };
    };
    expect((await publish(filled(0))).status).toBe(201);
    const { status, body } = await publish(filled(1));
    expect([status, body]).toMatchObject([
      413,
      { error: { code: 'REQUEST_TOO_LARGE', limit: { name: 'uploadBytes', max: LIMITS.uploadBytes } } },
    ]);
    expect(await annex.metric('annex_limits_met_total{limit="uploadBytes"}')).toBe(1);
  });
});
