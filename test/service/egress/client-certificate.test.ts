/** The operator's certificate: shown to receivers of webhooks that ask for one, and by no fetch. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { expect, onTestFinished, test } from 'vitest';
import { readConfig } from '../../../src/host/config.ts';
import { selfSigned } from '../../support/http/certificate.ts';
import { failure, newEgress, portOf, send, stop } from '../../support/http/egress.ts';
import { newWebhookClient, postTo } from '../../support/receivers/scripted-receivers.ts';

const HOST = 'secure.example';
const sender = selfSigned('annex.example');

/** A receiver that serves nobody but the sender. @returns its URL */
async function asking(): Promise<string> {
  const own = selfSigned(HOST);
  const server = createServer(
    { ...own, ca: sender.cert, requestCert: true, rejectUnauthorized: true },
    (request, response) => request.resume().on('end', () => response.end('ok')),
  );
  onTestFinished(() => stop(server));
  const before = getCACertificates('default');
  setDefaultCACertificates([...before, own.cert]);
  onTestFinished(() => setDefaultCACertificates(before));
  return `https://${HOST}:${await portOf(server)}/`;
}

test('a receiver that asks for the certificate is posted to with it', async () => {
  const url = await asking();
  expect(await postTo(newWebhookClient({ certificate: sender }), url)).toMatchObject({ status: 200 });
});

test('without it, such a receiver gets nothing', async () => {
  expect(await postTo(newWebhookClient(), await asking())).toMatchObject({ kind: 'failed' });
});

// Attack: code that reaches, in the operator's name, what trusts the operator's webhooks.
test('a fetch shows no certificate', async () => {
  expect((await failure(send(newEgress(), await asking()))).result).toBe('failed');
});

test('the files are read at the start, and a mistake has no text of the key', () => {
  const folder = mkdtempSync(join(tmpdir(), 'annex-certificate-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = (name: string, text: string) => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  const [cert, key] = [file('cert.pem', sender.cert), file('key.pem', sender.key)];
  const read = (one: string, other: string) => () =>
    readConfig(['--webhook-certificate', one, '--webhook-certificate-key', other], {});
  expect(read(cert, key)().webhookCertificate).toEqual(sender);
  expect(readConfig([], {})).not.toHaveProperty('webhookCertificate');
  const others = file('other.pem', selfSigned('other.example').key);
  expect(read(cert, others)).toThrow('--webhook-certificate-key is not the key of --webhook-certificate.');
  expect(read(cert, file('torn.pem', sender.key.slice(0, 90)))).toThrow('is no PEM that can be read');
  expect(read(cert, file('torn.pem', sender.key.slice(0, 90)))).not.toThrow(sender.key.slice(30, 60));
  expect(read(cert, join(folder, 'absent.pem'))).toThrow('cannot be read: ENOENT.');
  expect(() => readConfig(['--webhook-certificate', cert], {})).toThrow('need each other');
});
