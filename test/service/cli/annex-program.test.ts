/**
 * `annex` as people meet it: mistakes in the words, the wrong service, prompts, styles, and the
 * process itself.
 */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, readdir } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, describe, expect, test } from 'vitest';
import { VERSION } from '../../../src/version.ts';
import { annex } from '../../support/cli/annex-run.ts';
import { temporaryFolder } from '../../support/store/temporary-store.ts';

const PROGRAM = fileURLToPath(new URL('../../../src/local/annex.ts', import.meta.url));
const open: Server[] = [];
afterAll(() => {
  for (const server of open) server.close();
});

/** A server that answers everything like this. */
async function answering(
  status: number,
  body: string,
  headers: Record<string, string> = {},
): Promise<Record<string, string>> {
  const server = createServer((_request, response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body);
  });
  open.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { ANNEX_URL: `http://127.0.0.1:${port}`, ANNEX_TOKEN: 'annex_admin_x' };
}

const error = (code: string, message: string) => JSON.stringify({ error: { code, message } });

describe('a mistake in the words', () => {
  test.each([
    [['instal', 'x'], "Unknown command 'instal'. Did you mean install?"],
    [['token', 'crate'], "Unknown command 'crate'. Did you mean create?"],
    [['versions', 'x', '--jsn'], "Unknown option '--jsn'. Did you mean --json?"],
    [['token', 'create', '--kind', 'platfrm'], 'it is "platfrm". Did you mean platform?'],
    [['render', 'hello'], 'Usage: annex render [options] <component> <installation>'],
  ])('%s is answered with the right word', async (words, says) => {
    const ran = await annex({ words });
    expect({ ...ran }).toMatchObject({ code: 2, stdout: '' });
    expect(ran.stderr).toContain(says);
  });

  test('is answered without a word too many, which may be the value of a secret', async () => {
    const { code, stdout, stderr } = await annex({ words: ['secrets', 'set', 'hello', 'KEY', 'planted'] });
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).not.toContain('planted');
    expect(stderr).toContain('Usage: annex secrets set [options] <integration> <name>');
  });

  test('with --json is one value on standard output', async () => {
    const ran = await annex({ words: ['--json', 'nothing'] });
    expect(ran.json()).toMatchObject({ error: { code: 'USAGE' } });
  });
});

describe('the wrong service', () => {
  const words = ['integrations', 'list'];

  test('a public listener is named', async () => {
    const env = await answering(404, error('ENDPOINT_UNKNOWN', 'There is no endpoint at this URL.'));
    const { code, stderr } = await annex({ words, env });
    expect(code).toBe(1);
    expect(stderr).toMatch(/is a public listener.*\nThe API is on the control listener, on port 7700/);
  });

  test('another server is named', async () => {
    const { code, stderr } = await annex({ words, env: await answering(200, '<html>') });
    expect(code).toBe(1);
    expect(stderr).toMatch(/answers 200, but not as Annex does/);
  });

  test('one that speaks no TLS is named', async () => {
    const env = await answering(200, '{}');
    const { code, stderr } = await annex({
      words,
      env: { ...env, ANNEX_URL: (env['ANNEX_URL'] ?? '').replace('http:', 'https:') },
    });
    expect(code).toBe(1);
    expect(stderr).toMatch(/does not speak TLS\.\nTry it with http:\/\//);
  });

  test('one of another version is warned about, once', async () => {
    const env = await answering(200, '{"items":[]}', { 'annex-version': '99.1.0' });
    const { code, stderr } = await annex({ words, env });
    expect(code).toBe(0);
    expect(stderr.match(/the service is Annex 99\.1\.0, this command line is/g)).toHaveLength(1);
  });

  test('one of another version without the route is named', async () => {
    const env = await answering(404, error('ROUTE_UNKNOWN', 'No route.'), { 'annex-version': '99.1.0' });
    const { code, stderr } = await annex({ words, env });
    expect(code).toBe(1);
    expect(stderr).toContain(
      `Use a command line of its version: npm install ${String(env['ANNEX_URL'])}/v1/packages/annex-99.1.0.tgz`,
    );
  });

  test('text of a service in an error cannot control the terminal', async () => {
    const env = await answering(409, error('INTEGRATION_INSTALLED', '\x1b[2Jwiped\u202e'));
    const { stderr } = await annex({ words, env, isTerminal: true });
    expect(stderr).toContain('\\u001b[2Jwiped\\u202e');
  });
});

describe('a login at a terminal', () => {
  const env = { HOME: '/nonexistent' };

  test('asks for the token, and does not show it', async () => {
    const service = await answering(401, error('TOKEN_INVALID', 'Unknown.'));
    const words = ['login', service['ANNEX_URL'] ?? ''];
    const ran = await annex({ words, env, isTerminal: true, stdin: 'annex_admin_typed\r' });
    expect(ran.code).toBe(1);
    expect(ran.stderr).toMatch(/^Token for http:\/\/127\.0\.0\.1:\d+: \n/);
    expect(ran.stderr + ran.stdout).not.toContain('typed');
  });

  test('can be given up', async () => {
    const ran = await annex({ words: ['login'], env, isTerminal: true, stdin: 'ann\x03', cwd: '/' });
    expect(ran.stderr).toContain('Interrupted.');
    expect(ran.code).toBe(1);
  });
});

test.each([
  [{ NO_COLOR: '1' }, []],
  [{ TERM: 'dumb' }, []],
  [{}, ['--no-color']],
])('%j %j switches styles off', async (env, more) => {
  const ran = await annex({ words: ['help', ...more], env, isTerminal: true });
  expect(ran.stdout).not.toContain('\x1b');
  const styled = await annex({ words: ['help'], isTerminal: true });
  expect(styled.stdout).toContain('\x1b');
});

describe('the process', () => {
  test('prints its version, and exits with the code of the command', async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [PROGRAM, '--version']);
    expect(stdout).toBe(`${VERSION}\n`);
    await expect(promisify(execFile)(process.execPath, [PROGRAM, 'nothing'])).rejects.toMatchObject({
      code: 2,
    });
  });

  test('ends quietly when the reader of its output has gone', async () => {
    const child = spawn(process.execPath, [PROGRAM, 'help'], { stdio: ['ignore', 'pipe', 'pipe'] });
    child.stdout.destroy();
    let stderr = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
    });
    const [code] = (await once(child, 'close')) as [number];
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  });
});

describe('the cache of compiled code', () => {
  const BIN = fileURLToPath(new URL('../../../packages/annex/bin/annex.js', import.meta.url));
  const run = async (mode: number) => {
    const home = await temporaryFolder();
    const folder = join(home, 'annex/compiled');
    await mkdir(folder, { recursive: true });
    await chmod(folder, mode);
    await promisify(execFile)(process.execPath, [BIN, '--version'], { env: { XDG_CACHE_HOME: home } });
    return (await readdir(folder)).length;
  };

  test('is kept in the folder of the user', async () => {
    expect(await run(0o700)).toBe(1);
  });

  test('attack: is not used where another user may have put code into it', async () => {
    expect(await run(0o777)).toBe(0);
  });
});
