/**
 * docs/commands.md is what the program says about itself. After a change of a command, `npx vitest
 * run test/unit/cli/reference.test.ts -u` writes it.
 */
import { expect, test } from 'vitest';
import { COMMANDS } from '../../../src/cli/commands/registry.ts';
import { pageOf } from '../../../src/cli/reference.ts';
import { ROOT } from '../../support/repository/sources.ts';

test('the reference page is that of the commands', async () => {
  await expect(pageOf(COMMANDS)).toMatchFileSnapshot(`${ROOT}docs/commands.md`);
});
