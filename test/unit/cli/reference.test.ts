/**
 * The pages of docs/commands/ are what the program says about itself. After a change of a command,
 * `npx vitest run test/unit/cli/reference.test.ts -u` writes them.
 */
import { readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { COMMANDS } from '../../../src/local/commands.ts';
import { referencePages } from '../../support/cli/reference-pages.ts';
import { ROOT } from '../../support/repository/sources.ts';

const FOLDER = `${ROOT}docs/commands/`;
const PAGES = referencePages(COMMANDS);

test.each(PAGES)('$file is that of the commands', async ({ file, text }) => {
  await expect(text).toMatchFileSnapshot(`${FOLDER}${file}`);
});

test('the folder of the pages has no other', () => {
  expect(readdirSync(FOLDER).sort()).toEqual(PAGES.map(({ file }) => file).sort());
});
