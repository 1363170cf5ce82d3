/**
 * `annex types`: the types of an integration's own manifest, for editors and `tsc`. It reads and
 * writes the author's folder alone, and talks to no service.
 */
import { join, relative, resolve } from 'node:path';
import Type from 'typebox';
import { type Manifest, parseManifest } from '../../model/manifest/manifest.ts';
import type { Problem } from '../../model/problem.ts';
import { type Command, defineCommand } from '../command.ts';
import { EXIT, Failure, UsageError } from '../terminal/failure.ts';
import type { Output } from '../terminal/output.ts';
import { manifestIn, textOf, writeTypes } from '../typed-folder.ts';

const STATES = ['written', 'up to date', 'not up to date', 'removed', 'left as it is'] as const;

export const types: Command = defineCommand({
  name: 'types',
  summary: "write the types of a manifest's configurations, secrets and components",
  description: [
    'Reads the manifest of a folder, the one file *-manifest.yaml, and writes beside it annex-env.d.ts, and a tsconfig.json if there is none.',
    'Where the package @annex/sdk is not installed, it also writes annex-sdk.d.ts, which has the types of the SDK and of the globals of an isolate.',
  ],
  arguments: { folder: { help: 'folder of the integration; this one by default', optional: true } },
  options: {
    manifest: { value: 'file', help: 'the manifest, where the folder has several' },
    env: { value: 'name', help: 'environment of the manifest; else "default"' },
    check: { help: 'write nothing, and exit 1 where a file is not up to date' },
  },
  examples: [
    { line: 'annex types', does: 'write the types of the integration in this folder' },
    { line: 'annex types welcome --check', does: 'check in CI that they are up to date' },
  ],
  exits: { [EXIT.failed]: 'the manifest has errors, or a file is not up to date (--check)' },
  json: Type.Object({
    folder: Type.String(),
    files: Type.Array(
      Type.Object({
        file: Type.String(),
        state: Type.Enum([...STATES]),
        hint: Type.Optional(Type.String()),
      }),
    ),
  }),
  async run({ output, cwd }, { folder: given = '.', manifest: file, env, check }) {
    const folder = resolve(cwd, given);
    const shown = (path: string): string => relative(cwd, path) || '.';
    const path = resolve(folder, file ?? (await manifestIn(folder)));
    const yaml = textOf(folder, path);
    if (yaml === undefined)
      throw new UsageError(`There is no ${shown(path)}.`, { hint: 'Give the folder of an integration.' });
    const files = await writeTypes(folder, readManifest(yaml, { output, shown: shown(path), env }), check);
    const stale = files.filter(({ state }) => state === 'not up to date');
    output.result({ folder, files }, () => {
      for (const { file: name, state } of files.filter((each) => !stale.includes(each)))
        output.line(`${shown(join(folder, name))} ${state === 'up to date' ? 'is up to date' : state}`);
    });
    for (const { file: name } of stale)
      output.talk(`${shown(join(folder, name))} is not up to date: annex types ${shown(folder)}`);
    for (const { file: name, hint } of files) if (hint !== undefined) output.talk(`${name}: ${hint}`);
    return stale.length > 0 ? EXIT.failed : EXIT.ok;
  },
});

interface Reading {
  readonly output: Output;
  /** The path of the manifest as the user knows it. */
  readonly shown: string;
  /** Name of the environment. */
  readonly env: string | undefined;
}

/** Prints the problems of a manifest. @throws Failure if it has errors */
function readManifest(yaml: string, { output, shown, env }: Reading): Manifest {
  const parsed = parseManifest(yaml, env === undefined ? {} : { environment: env });
  for (const problem of parsed.ok ? parsed.warnings : parsed.problems)
    output.talk(problemLine(problem, shown));
  if (parsed.ok) return parsed.manifest;
  throw new Failure(`${shown} has errors.`, { code: 'MANIFEST_INVALID', problems: parsed.problems });
}

function problemLine({ severity, line, column, message, hint }: Problem, path: string): string {
  const place = [path, line, column].filter((part) => part !== undefined).join(':');
  return `${place}: ${severity}: ${message}${hint === undefined ? '' : ` ${hint}`}`;
}
