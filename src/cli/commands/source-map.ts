/** `annex source-map`: the script of a version and its source map, for a tracker of errors. */
import { mkdir } from 'node:fs/promises';
import { basename, join, relative, resolve } from 'node:path';
import Type from 'typebox';
import { replaceFile } from '../../real-files.ts';
import { type Command, defineCommand } from '../command.ts';
import { versionNumber } from './integrations.ts';

export const sourceMap: Command = defineCommand({
  name: 'source-map',
  summary: 'write the script of a version and its source map',
  description: [
    'Writes <integration>@<version>.js and its map. Stacks in code name the script as annex:/<integration>@<version>.js, so a tracker of errors finds the map by this name.',
  ],
  arguments: {
    integration: { help: 'name of the integration' },
    version: { help: 'a version of it; the active one by default', optional: true, parse: versionNumber },
  },
  options: { out: { value: 'folder', help: 'where to write; this folder by default' } },
  examples: [
    {
      line: 'annex source-map hello --out maps',
      does: 'write what a tracker of errors needs of the active version',
    },
  ],
  json: Type.Object({
    integration: Type.String(),
    version: Type.Integer(),
    files: Type.Array(Type.String()),
  }),
  async run({ output, client, cwd, signal }, { integration, version: wanted, out = '.' }) {
    const annex = await client();
    const version = wanted ?? (await annex.integrations.get(integration, { signal })).version;
    const [script, map] = await Promise.all([
      annex.versions.getScript(integration, version, { signal }),
      annex.versions.getSourceMap(integration, version, { signal }),
    ]);
    const folder = resolve(cwd, out);
    await mkdir(folder, { recursive: true });
    const name = basename(map.file);
    await replaceFile(join(folder, name), script);
    await replaceFile(join(folder, `${name}.map`), JSON.stringify(map));
    const files = [name, `${name}.map`].map((file) => relative(cwd, join(folder, file)));
    output.result({ integration, version, files }, () => {
      for (const file of files) output.line(file);
    });
  },
});
