/**
 * Every command on a terminal, with escape sequences in all that is not its own: the texts of the
 * service, of an endpoint, of a folder, of tests. None of them reaches the terminal as a control
 * character.
 */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { annex, type Invocation } from '../../support/cli/annex-run.ts';
import { folderWith, manifestOf } from '../../support/cli/author-folder.ts';
import { COMMAND_CASES } from '../../support/cli/command-cases.ts';
import { CommandWorld } from '../../support/cli/command-world.ts';
import { closeHostile, controlIn, HOSTILE, poisoning, refusing } from '../../support/cli/hostile-answers.ts';
import { needs } from '../../support/programs.ts';

const PROGRAM = fileURLToPath(new URL('../../../src/local/annex.ts', import.meta.url));

let world: CommandWorld;
const open: Server[] = [];
beforeAll(async () => {
  world = await CommandWorld.start();
});
afterAll(async () => {
  closeHostile();
  for (const server of open) server.closeAllConnections();
  for (const server of open) server.close();
  await world.stop();
});

// The output of tests has styles of its own, and a test below.
const rows = COMMAND_CASES.flatMap((row) => ('success' in row && row.command !== 'test' ? [row] : []));

/** The same command at another URL; undefined where it asks no service. */
function at(url: string, { words, env = {}, ...rest }: Invocation): Invocation | undefined {
  const own = world.service.service.controlUrl;
  if (![...words, ...Object.values(env)].some((text) => text.includes(own))) return undefined;
  const moved = (text: string) => text.replaceAll(own, url);
  const variables = Object.entries(env).map(([name, text]) => [name, moved(text)]);
  return { ...rest, words: words.map(moved), env: Object.fromEntries(variables) };
}

async function shownBy({ stopWhen, ...invocation }: Invocation): Promise<void> {
  const { stdout, stderr } = await annex({
    ...{ ...invocation, isTerminal: true },
    // With escapes between its words, a line may no longer be the one that was waited for.
    ...(stopWhen && { stopWhen: new RegExp(`${stopWhen.source}|u001b\\]52;`, 'm') }),
  });
  expect(controlIn(stdout)).toBeUndefined();
  expect(controlIn(stderr)).toBeUndefined();
  expect(`${stdout}${stderr}`).not.toBe('');
}

describe.each(rows)('annex $command shows no control character', ({ success }) => {
  test('where texts for people of the service have them', async () => {
    const invocation = await success(world);
    await shownBy(
      at(await poisoning(world.service.service.controlUrl, 'texts for people'), invocation) ?? invocation,
    );
  });

  test('where every text of the service has them, or it refuses in such words', async () => {
    const poisoned = at(
      await poisoning(world.service.service.controlUrl, 'every text'),
      await success(world),
    );
    // A stream without one word that it knows would have no end.
    if (poisoned !== undefined && poisoned.stopWhen === undefined) await shownBy(poisoned);
    const refused = at(await refusing(), await success(world));
    if (refused !== undefined) await shownBy(refused);
  });
});

/** An endpoint that answers in pieces. */
async function endpoint(pieces: readonly Buffer[], headers: Record<string, string> = {}): Promise<string> {
  const server = createServer(async (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/plain', ...headers }).flushHeaders();
    for (const piece of pieces) await new Promise((written) => response.write(piece, written));
    response.end();
  });
  open.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

const CLIPBOARD = Buffer.from(`a\x1b]52;c;cHduZWQ=\x07b\u009b2Jc\u202ed`);

describe('annex call', () => {
  const bytes = (length: number) =>
    Array.from(CLIPBOARD, (_, start) => start * length)
      .filter((start) => start < CLIPBOARD.length)
      .map((start) => CLIPBOARD.subarray(start, start + length));

  test.each([
    ['whole', [CLIPBOARD]],
    ['in pieces of one byte', bytes(1)],
    ['in pieces of two bytes', bytes(2)],
    ['with bytes that are no UTF-8', [Buffer.from([0x9b, 0x32, 0x4a, 0xc2]), Buffer.from([0x9b, 0xc2])]],
  ])('shows an answer %s', async (_how, pieces) => {
    const url = await endpoint(pieces, { 'x-header': 'a\x9b31m\x85b' });
    await shownBy({ words: ['call', url] });
  });

  test('shows the control characters of an answer, and everything else as it is', async () => {
    const url = await endpoint([
      Buffer.from('ü 漢 👩‍👩‍👧\r\n\tone\x1b[1'),
      Buffer.from('mtwo\r'),
      Buffer.from('\nthree\r'),
    ]);
    const { stdout } = await annex({ words: ['call', url], isTerminal: true });
    expect(stdout).toBe('ü 漢 👩‍👩‍👧\n\tone\\u001b[1mtwo\nthree\\u000d');
  });

  test('writes the bytes of an answer as they are, where it is no terminal', async () => {
    const url = await endpoint([CLIPBOARD, Buffer.from([0x9b, 0xff])]);
    const { stdout } = await promisify(execFile)(process.execPath, [PROGRAM, 'call', url], {
      encoding: 'buffer',
    });
    expect(stdout).toEqual(Buffer.concat([CLIPBOARD, Buffer.from([0x9b, 0xff])]));
  });

  test('sets no clipboard of a real terminal', needs('script'), async () => {
    const url = await endpoint([CLIPBOARD], { 'x-header': '\x9b31m' });
    const { stdout } = await promisify(execFile)('script', [
      '-qec',
      `${process.execPath} ${PROGRAM} call ${url}`,
      '/dev/null',
    ]);
    // The terminal itself ends lines with a carriage return.
    expect(controlIn(stdout.replaceAll('\r\n', '\n'))).toBeUndefined();
    expect(stdout).toContain('a\\u001b]52;c;cHduZWQ=\\u0007b\\u009b2Jc\\u202ed');
  });
});

test('an error that no command expects is shown without its control characters', async () => {
  const url = await poisoning('http://127.0.0.1:9', 'every text');
  // Thrown by a timer, as soon as the program is ready for what it does not expect.
  const thrown = `setInterval(() => { if (process.listenerCount('uncaughtException') > 0) throw new Error(${JSON.stringify(HOSTILE)}); })`;
  const words = ['--import', `data:text/javascript,${encodeURIComponent(thrown)}`, PROGRAM, 'call', url];
  const failed = await promisify(execFile)(process.execPath, words).catch((error: unknown) => error);
  expect(failed).toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringMatching(/Error: \\u001b\]52;c;/),
  });
  expect(controlIn((failed as { stderr: string }).stderr)).toBeUndefined();
});

describe('the folder of an integration', () => {
  const NAME = HOSTILE.replaceAll('/', '').replaceAll('\\', '');

  test.each([
    ['check', '--skip-types'],
    ['publish'],
    ['publish', '--list'],
    ['dev', '--service', '--port', '0', '--page-port', '0'],
  ])('is shown without the control characters of its names and texts: %s', async (command, ...more) => {
    const folder = await folderWith({
      'platform-manifest.yaml': manifestOf(
        'hostile-folder',
        'src/index.ts',
        `icon: "${JSON.stringify(NAME).slice(1, -1)}.png"\n`,
      ),
      'package.json': '{}',
      'src/index.ts': `import ${JSON.stringify(`./${NAME}.ts`)}; import ${JSON.stringify(`${NAME}-package`)};\nexport default /*${HOSTILE}*/ ;\n`,
      [`src/${NAME}.ts`]: `const = ${JSON.stringify(HOSTILE)}; // ${HOSTILE}\nimport "./none";`,
    });
    await shownBy({
      words: [command, folder, ...more],
      env: world.env,
      stopWhen: /not published/,
    });
  });

  test('has tests whose output is shown with its colours and without other sequences', async () => {
    const folder = await folderWith({
      'a.test.mjs': `import { test } from 'node:test';
test(${JSON.stringify(HOSTILE)}, () => { console.log('\\x1b[32mgreen\\x1b[0m\\x1b[8mhidden'); console.error(${JSON.stringify(HOSTILE)}); throw new Error(${JSON.stringify(HOSTILE)}); });`,
    });
    const { stdout, stderr } = await annex({ words: ['test', folder], isTerminal: true });
    const withoutStyles = `${stdout}${stderr}`.replaceAll(
      // biome-ignore lint/suspicious/noControlCharactersInRegex: the styles of test runners.
      /\x1b\[(?:[0-7]|9|[2349]\d)?(?:;[\d;]*)?m/g,
      '',
    );
    expect(controlIn(withoutStyles)).toBeUndefined();
    expect(stdout).toContain('\x1b[32mgreen');
    expect(stdout).toContain('\\u001b[8mhidden');
    expect(stdout).toContain('\\u001b]52;c;');
  });
});
