/** The examples of the client's README run, one after the other, against a real service. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { signatureHeader } from '../../../src/model/signature.ts';
import { ROOT, read } from '../../support/repository/sources.ts';
import { startTestService } from '../../support/service.ts';

/** The receiver of the README gets a webhook, the same again, and a forged one. */
const received = (header: string): string => `
const send = (signature) => receive(new Request('http://receiver.example', {
  method: 'POST', body: '{"eventId":"e-1"}', headers: { 'x-platform-signature': signature },
}));
for (const signature of ['${header}', '${header}', 't=1,v1=00'])
  console.log(await (await send(signature)).text());
`;

test('each example runs, and prints what it is for', async () => {
  const types = join(ROOT, 'fixtures/invoicing/event-types.yaml');
  const service = await startTestService({ flags: ['--event-types', types] });
  for (const name of ['hello', 'invoicing']) await service.publishFixture(name);
  const folder = await mkdtemp(join(tmpdir(), 'annex-client-readme-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const examples = [...read('packages/client/README.md').matchAll(/^```ts\n(.*?)^```$/gms)].map(
    ([, text]) => text,
  );
  const header = signatureHeader(
    ['s3cret'],
    Math.floor(Date.now() / 1_000),
    Buffer.from('{"eventId":"e-1"}'),
  );
  const script = [...examples, received(header)]
    .join('\n')
    .replaceAll('http://127.0.0.1:7700', service.service.controlUrl)
    .replaceAll("'@annex/client'", `'${pathToFileURL(join(ROOT, 'packages/client/src/index.ts'))}'`);
  const file = join(folder, 'readme.ts');
  await writeFile(file, script);
  const env = { ...process.env, ANNEX_TOKEN: service.admin, WEBHOOK_SECRET: 's3cret' };
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [file], { env });
  expect(stderr).toBe('');
  expect(stdout.trim().split('\n')).toEqual([
    'active',
    "{ greeting: 'Hi' }",
    '[]',
    "{ eventId: 'content-r-1', deliveries: 0 }",
    '409 INSTALLATION_EXISTS',
    'handled',
    'already handled',
    'Unauthorized',
  ]);
});
