/**
 * What `annex` and the client say where a service cannot be reached safely: its certificate is not
 * trusted, a proxy is in between, nothing encrypts the token. On real servers of this machine.
 */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo, Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, onTestFinished, test } from 'vitest';
import { Annex } from '../../../packages/client/src/index.ts';
import { annex } from '../../support/cli/annex-run.ts';
import { type Certificate, selfSigned } from '../../support/http/certificate.ts';

const PROGRAM = fileURLToPath(new URL('../../../src/local/annex.ts', import.meta.url));
const WORDS = ['integrations', 'list'];
/** A host that does not exist: nothing is sent to another machine. */
const ELSEWHERE = 'annex.invalid';

async function listening(server: Server): Promise<number> {
  onTestFinished(() => void server.close());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

/** A service behind TLS without integrations. @returns its URL */
async function secured(certificate: Certificate): Promise<string> {
  const server = createSecureServer(certificate, (_request, response) => {
    response.setHeader('content-type', 'application/json').end('{"items":[]}');
  });
  return `https://localhost:${await listening(server)}`;
}

/** Has this process trust the certificate during the test. */
function trust({ cert }: Certificate): void {
  const before = getCACertificates('default');
  setDefaultCACertificates([...before, cert]);
  onTestFinished(() => setDefaultCACertificates(before));
}

const run = (url: string, env: Record<string, string> = {}) =>
  annex({ words: WORDS, env: { ANNEX_URL: url, ANNEX_TOKEN: 'annex_admin_x', ...env } });

/** The same as a process: Node reads some variables only when it starts. */
async function runProcess(url: string, env: Record<string, string>) {
  const variables = { PATH: process.env['PATH'], ANNEX_URL: url, ANNEX_TOKEN: 'annex_admin_x', ...env };
  const ran = await promisify(execFile)(process.execPath, [PROGRAM, ...WORDS], { env: variables }).catch(
    (failed: { code: number; stdout: string; stderr: string }) => failed,
  );
  return { code: 'code' in ran ? ran.code : 0, stderr: ran.stderr };
}

describe('a certificate', () => {
  test('that signed itself is named, and how to trust it', async () => {
    const url = await secured(selfSigned('localhost'));
    const { code, stderr } = await run(url);
    expect(code).toBe(1);
    expect(stderr).toBe(
      `error: The certificate of ${url} is not trusted (DEPTH_ZERO_SELF_SIGNED_CERT).\n` +
        'Where this machine trusts its certificate authority, set NODE_USE_SYSTEM_CA=1. Else let ' +
        'NODE_EXTRA_CA_CERTS name the file of that authority, or of a self-signed certificate.\n',
    );
  });

  test('in the file of NODE_EXTRA_CA_CERTS is trusted', async () => {
    const certificate = selfSigned('localhost');
    const folder = await mkdtemp(join(tmpdir(), 'annex-ca-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    await writeFile(join(folder, 'ca.pem'), certificate.cert);
    const env = { NODE_EXTRA_CA_CERTS: join(folder, 'ca.pem') };
    expect((await runProcess(await secured(certificate), env)).code).toBe(0);
  });

  test('for another name is named with the names that it has', async () => {
    const certificate = selfSigned('other.example');
    trust(certificate);
    const { code, stderr } = await run(await secured(certificate));
    expect(code).toBe(1);
    expect(stderr).toMatch(/is for another name \(DNS:other\.example\)\.\nUse a name of the certificate/);
  });

  test('that has expired is named', async () => {
    const certificate = selfSigned('localhost', '20210101000000Z');
    trust(certificate);
    const { code, stderr } = await run(await secured(certificate));
    expect(code).toBe(1);
    expect(stderr).toMatch(/has expired\.\nHave the operator renew the certificate, and check the clock/);
  });

  test('is named by the client with its service', async () => {
    const url = await secured(selfSigned('localhost'));
    const client = new Annex({ url, token: 'x', retries: 0 });
    await expect(client.integrations.list()).rejects.toMatchObject({
      code: 'NETWORK_FAILED',
      message: expect.stringMatching(
        /^The service at https:\/\/localhost:\d+ cannot be reached: self-signed certificate.* \(DEPTH_ZERO_SELF_SIGNED_CERT\)\. In Node\.js, NODE_EXTRA_CA_CERTS names/,
      ),
    });
  });
});

describe('a proxy', () => {
  /** A proxy that answers every request for a tunnel like this. @returns its host and port */
  async function proxyAnswering(status: string): Promise<string> {
    const proxy = createServer().on('connect', (_request, socket) => {
      socket.end(`HTTP/1.1 ${status}\r\n\r\n`);
    });
    return `127.0.0.1:${await listening(proxy)}`;
  }
  const through = (proxy: string) => ({ HTTPS_PROXY: `http://${proxy}`, NODE_USE_ENV_PROXY: '1' });

  test('that asks for a password is named', async () => {
    const proxy = await proxyAnswering('407 Proxy Authentication Required');
    const { code, stderr } = await runProcess(`https://${ELSEWHERE}`, through(proxy));
    expect(code).toBe(1);
    expect(stderr).toContain(`The proxy ${proxy} of HTTPS_PROXY asks for a name and a password (407).`);
    expect(stderr).toContain(`HTTPS_PROXY=http://name:password@${proxy}. NO_PROXY=${ELSEWHERE} reaches`);
  });

  test('that refuses a host is named with its answer', async () => {
    const proxy = await proxyAnswering('403 Forbidden');
    const { code, stderr } = await runProcess(`https://${ELSEWHERE}`, through(proxy));
    expect(code).toBe(1);
    expect(stderr).toContain(`The proxy ${proxy} of HTTPS_PROXY does not connect to https://${ELSEWHERE}`);
    expect(stderr).toContain('it answers 403.');
  });

  test('that does not listen is named, and not the service', async () => {
    const { code, stderr } = await runProcess(`https://${ELSEWHERE}`, through('127.0.0.1:1'));
    expect(code).toBe(1);
    expect(stderr).toContain('through the proxy 127.0.0.1:1 of HTTPS_PROXY (ECONNREFUSED).');
  });

  test('that Node does not use is mentioned, without its password', async () => {
    const env = { HTTPS_PROXY: 'http://name:word@proxy.example:3128' };
    const { code, stderr } = await run(`https://${ELSEWHERE}`, env);
    expect(code).toBe(1);
    expect(stderr).toContain('HTTPS_PROXY is set; NODE_USE_ENV_PROXY=1 has annex send requests through it.');
    expect(stderr).not.toContain('word');
    const excluded = await run(`https://${ELSEWHERE}`, { ...env, NO_PROXY: 'localhost, .invalid' });
    expect(excluded.stderr).not.toContain('HTTPS_PROXY');
  });
});

// Attack: a reader on the way between two machines, who takes the token of a command.
test('a token that nothing encrypts on its way to another machine is warned about, once', async () => {
  const { stderr } = await run(`http://${ELSEWHERE}`);
  const warning = `warning: http://${ELSEWHERE} has no https://: everyone on the way to it can read the token.`;
  expect(stderr.split(warning)).toHaveLength(2);
  const here = createServer((_request, response) => response.end('{"items":[]}'));
  expect((await run(`http://127.0.0.1:${await listening(here)}`)).stderr).not.toContain('warning');
});
