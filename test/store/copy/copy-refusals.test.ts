/**
 * What `annex copy` refuses: targets and sources that are not what they have to be, and rows that
 * PostgreSQL cannot hold. Runs where the suite has a PostgreSQL server.
 */
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { sql } from 'kysely';
import { describe, expect, onTestFinished, test } from 'vitest';
import { copyStore } from '../../../src/host/database/copy/store-copy.ts';
import { LAST_EARLIER } from '../../../src/host/database/migrations.ts';
import {
  change,
  copyOf,
  type Ended,
  fileIn,
  openSource,
  openTarget,
  runCopy,
  stoppedStore,
} from '../../support/store/copy-command.ts';
import { open } from '../../support/store/store-changes.ts';
import { temporaryFolder } from '../../support/store/temporary-store.ts';

const refused = (output: string, code = 1): Ended => ({ code, output: expect.stringContaining(output) });

/** Begins a copy of this folder and leaves it. */
async function begunCopy(folder: string): Promise<string> {
  const { url, target } = await openTarget(folder);
  const source = await openSource(folder);
  const copying = copyStore({
    source,
    target,
    progress() {
      throw new Error('interrupted');
    },
  });
  await expect(copying).rejects.toThrow('interrupted');
  source.close();
  return url;
}

describe('a copy is refused', () => {
  test('into a database that holds something else', async () => {
    const folder = await stoppedStore();
    const { url, target } = await openTarget(folder);
    await sql`insert into tokens (id, kind, hash, created_at) values ('t', 'admin', 'h', 1)`.execute(target);
    expect(await runCopy(folder, url)).toMatchObject(refused('its table tokens has rows'));
  });

  test('into a finished copy, which nothing may write again', async () => {
    const folder = await stoppedStore();
    const { url } = await openTarget(folder);
    expect(await runCopy(folder, url)).toMatchObject({ code: 0 });
    expect(await runCopy(folder, url)).toMatchObject(refused('It may be a finished copy'));
  });

  test('into the beginning of a copy of another store, or of this one before it was changed', async () => {
    const folder = await stoppedStore();
    const url = await begunCopy(folder);
    const other = await stoppedStore();
    expect(await runCopy(other, url)).toMatchObject(refused('a copy of another store'));
    change(folder, "update tokens set kind = 'organization'");
    expect(await runCopy(folder, url)).toMatchObject(refused('the service has run on it since'));
  });

  test('while a service runs on the folder', async () => {
    const folder = await stoppedStore();
    const { url } = await openTarget(folder);
    const running = await open(folder, randomUUID());
    onTestFinished(() => running.close());
    expect(await runCopy(folder, url)).toMatchObject(refused('another process has the data folder open'));
  });

  test('of a folder without a store, and makes nothing there', async () => {
    const folder = await stoppedStore();
    const { url } = await openTarget(folder);
    await rm(fileIn(folder));
    expect(await runCopy(folder, url)).toMatchObject(refused('does not exist'));
    expect(existsSync(fileIn(folder))).toBe(false);
  });

  test('of a store with an older schema, which is not migrated for it', async () => {
    const folder = await stoppedStore();
    const { url } = await openTarget(folder);
    change(folder, 'delete from kysely_migration');
    change(folder, `insert into kysely_migration values ('${LAST_EARLIER}', '')`);
    expect(await runCopy(folder, url)).toMatchObject(refused('start the service of this version once'));
    change(folder, "insert into kysely_migration values ('9999_later', '')");
    expect(await runCopy(folder, url)).toMatchObject(refused('which this version'));
  });

  test('without a target, with a mistake in a flag; and explains itself', async () => {
    const folder = await temporaryFolder();
    expect(await runCopy(folder, undefined)).toMatchObject(refused('ANNEX_DATABASE_URL must name', 2));
    expect(await runCopy(folder, 'mysql://localhost/annex')).toMatchObject(refused('ANNEX_DATABASE_URL', 2));
    expect(await runCopy(folder, undefined, '--too')).toMatchObject(refused("Unknown option '--too'", 2));
    expect(await runCopy(folder, undefined, '--help')).toMatchObject(refused('Usage: annex copy', 0));
  });

  test('by a server that does not answer, in words without the password', async () => {
    const folder = await stoppedStore();
    const { code, output } = await runCopy(folder, 'postgres://annex:hidden@127.0.0.1:1/annex');
    expect({ code, output }).toMatchObject(refused('ANNEX_DATABASE_URL) cannot be used'));
    expect(output).not.toContain('hidden');
  });
});

describe('a row that PostgreSQL cannot hold', () => {
  test('has U+FFFD for U+0000, and the command says which', async () => {
    const folder = await stoppedStore(9);
    change(folder, "update log_lines set text = 'a' || char(0) || 'b' where id in ('00000003', '00000004')");
    const { target, copied } = await copyOf(folder);
    expect(copied.find(({ table }) => table === 'log_lines')).toMatchObject({
      changed: 2,
      firstChanged: 'the row of log_lines with installation_id, id = "inst","00000003"',
    });
    const { rows } = await sql`select text from log_lines where id = '00000003'`.execute(target);
    expect(rows).toEqual([{ text: 'a\u{fffd}b' }]);
  });

  test.each([
    ["insert into built_ins values ('a' || char(0), 'x')", 'its key has U+0000'],
    ["update built_ins set content_hash = x'00' where name = 'odd'", 'holds bytes'],
    [
      'insert into deleted_integrations values ("gone", 5000000000)',
      'PostgreSQL refuses the row of deleted_in',
    ],
    ['insert into deleted_integrations values ("gone", 1.5)', 'name = "gone"'],
  ])('is named: %s', async (statement, found) => {
    const folder = await stoppedStore();
    change(
      folder,
      "insert into built_ins values ('odd', 'x'); insert into deleted_integrations values ('a', 1)",
    );
    change(folder, statement.replaceAll('"', "'"));
    await expect(copyOf(folder)).rejects.toThrow(found);
  });
});
