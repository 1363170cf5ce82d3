/** `annex copy`: what it prints for people and for programs. */
import Schema from 'typebox/schema';
import { expect, test } from 'vitest';
import { copy } from '../../../src/local/store/operator-commands.ts';
import { annex } from '../../support/cli/annex-run.ts';
import { stoppedStore } from '../../support/store/copy-command.ts';
import { makeDatabase } from '../../support/store/test-engine.ts';

test('annex copy says what was copied, and what to do next', async () => {
  const data = await stoppedStore();
  const env = { ANNEX_DATABASE_URL: await makeDatabase(data) };
  const ran = await annex({ words: ['copy', '--data', data], env });
  expect({ ...ran }).toMatchObject({ code: 0 });
  expect(ran.stdout).toMatch(/^tokens: \d+ rows, the same on both sides/m);
  const rows = [...ran.stdout.matchAll(/^\w+: (\d+) rows/gm)].map(([, count]) => Number(count));
  const all = rows.reduce((sum, count) => sum + count, 0);
  expect(ran.stdout).toMatch(
    new RegExp(`\\nCopied and compared: ${all} rows of ${rows.length} tables\\.\\n$`),
  );
  expect(ran.stderr).toContain('Set ANNEX_DATABASE_URL for every node');
});

test('annex copy prints with --json what its schema says', async () => {
  const data = await stoppedStore();
  const env = { ANNEX_DATABASE_URL: await makeDatabase(data) };
  const ran = await annex({ words: ['copy', '--data', data, '--json'], env });
  expect({ ...ran }).toMatchObject({ code: 0 });
  expect(Schema.Errors(copy.json, ran.json())[1]).toEqual([]);
});
