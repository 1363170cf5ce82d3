/** `annex copy`: copies the store of a stopped service from SQLite to PostgreSQL. */
import { resolve } from 'node:path';
import Type from 'typebox';
import { type Command, defineCommand } from '../command.ts';
import { FOLDER_OPTIONS, flagsOf } from '../operator/service-flags.ts';

const SHOW_EVERY_MS = 1_000;

export const copy: Command = defineCommand({
  name: 'copy',
  summary: 'copy the store of a stopped service to PostgreSQL',
  description: [
    'Copies the store of a data folder to the PostgreSQL database that ANNEX_DATABASE_URL names, and compares every row. Stop the service first. The database must be new, or hold an interrupted copy of the same store, which goes on where it was. The folder stays as it is.',
  ],
  options: { data: FOLDER_OPTIONS.data },
  examples: [
    {
      line: 'ANNEX_DATABASE_URL=postgres://annex@db/annex annex copy --data ./data',
      does: 'move to PostgreSQL',
    },
  ],
  json: Type.Object({
    tables: Type.Array(Type.Object({ table: Type.String(), rows: Type.Integer(), checksum: Type.String() }), {
      description: 'The same on both sides.',
    }),
  }),
  async run({ output, env, cwd }, { data }) {
    const { copyFolder } = await import('../operator/folder-copy.ts');
    let shownAt = Number.NEGATIVE_INFINITY;
    const { copied, summary, next } = await copyFolder(
      flagsOf({ data: data && resolve(cwd, data) }),
      { ...env },
      {
        begun: () => output.talk('reading the source'),
        note: (message) => output.talk(message),
        // Begin and end of each table, and a line a second.
        progress: ({ step, table, rows, of }) => {
          const now = performance.now();
          if (rows > 0 && rows < of && now - shownAt < SHOW_EVERY_MS) return;
          shownAt = now;
          output.talk(`${step} ${table}: ${rows} of ${of} rows`);
        },
      },
    );
    const tables = copied.map(({ table, rows, checksum }) => ({ table, rows, checksum }));
    output.result({ tables }, () => output.line(summary.trimEnd()));
    output.talk(next.trimEnd());
    return undefined;
  },
});
