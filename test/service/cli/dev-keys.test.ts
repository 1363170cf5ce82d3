/** The keys of `annex dev` at a terminal, and how a refusal is shown there. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough, Writable } from 'node:stream';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runAnnex } from '../../../src/cli/run-annex.ts';
import { COMMANDS } from '../../../src/local/commands.ts';
import { folderWith, manifestOf } from '../../support/cli/author-folder.ts';
import { TestService } from '../../support/service.ts';

const CODE = `import { createComponent, createIntegration } from '@annex/sdk';
const card = createComponent({ componentId: 'card', render: () => <block><text>drawn</text></block> });
export default createIntegration({
  components: [card],
  events: { space_content_updated: () => console.log('event seen'), space_view: () => console.log('view seen') },
});
`;
const MANIFEST = manifestOf('dev-keys', 'index.tsx', 'blocks: [{ id: card, title: Card }]\n').replace(
  'scopes: []',
  'scopes: [space:content:read, space:metadata:read]',
);

let service: TestService;
beforeAll(async () => {
  service = await TestService.start();
});
afterAll(() => service.stop());

/** A terminal: what it shows, and the keys that are pressed there. */
class Terminal {
  readonly stdin = new PassThrough();
  readonly stdout: Writable;
  #shown = '';

  constructor() {
    this.stdout = new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        this.#shown += String(chunk);
        done();
      },
    });
  }

  press(keys: string): void {
    this.stdin.write(keys);
  }

  /** Waits until it has shown this. */
  shows(text: RegExp): Promise<void> {
    return expect.poll(() => this.#shown, { timeout: 90_000 }).toMatch(text);
  }
}

test('keys render, trigger a chosen event, clear and quit; an error has its code frame', async () => {
  const folder = await folderWith({ 'platform-manifest.yaml': MANIFEST, 'index.tsx': CODE });
  const terminal = new Terminal();
  const ended = runAnnex(
    ['dev', folder, '--service', '--page-port', '0', '--no-color'],
    {
      stdin: terminal.stdin,
      stdout: terminal.stdout,
      stderr: terminal.stdout,
      env: { ANNEX_URL: service.service.controlUrl, ANNEX_TOKEN: service.admin },
      cwd: folder,
      isTerminal: { stdin: true, stdout: true, stderr: true },
      signal: new AbortController().signal,
    },
    COMMANDS,
  );
  await terminal.shows(/live dev-keys, version 1/);
  await terminal.shows(/q quit/);
  terminal.press('r');
  await terminal.shows(/card\n.*block\n.*text content="drawn"|card\n.*block[\s\S]*drawn/);
  terminal.press('t');
  await terminal.shows(/1 space_view {2}2 space_content_updated/);
  terminal.press('2');
  await terminal.shows(/posted space_content_updated, [\w-]+: 1 delivery/);
  await terminal.shows(/event seen/);
  await writeFile(join(folder, 'index.tsx'), `${CODE}export const broken = ;\n`);
  await terminal.shows(/index\.tsx:7:23: error: Unexpected ";"\n +7 \| export const broken = ;\n +\| +\^/);
  await terminal.shows(/not published Version 1 goes on\./);
  terminal.press('c');
  await terminal.shows(new RegExp(RegExp.escape('\x1b[2J')));
  terminal.press('q');
  expect(await ended).toBe(0);
});
