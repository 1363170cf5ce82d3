/**
 * `annex types`: the files by which editors and `tsc` know what the code of an integration can use,
 * beside its manifest: `annex-env.d.ts` (types of what the manifest declares) and, if it is
 * missing, a `tsconfig.json`. Where the package `@annex/sdk` is not installed, also `annex-
 * sdk.d.ts` (the SDK and the globals of an isolate). It reads and writes the author's folder alone.
 */

import { readdir, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join, relative, resolve } from 'node:path';
import Type from 'typebox';
import {
  isGeneratedSdk,
  SDK_DECLARATIONS_FILE,
  SETTINGS_ALONE,
  SETTINGS_WITH_PACKAGE,
  sdkDeclarations,
} from '../../../packages/sdk/declarations.ts';
import { catalogOf, type EventTypeFile } from '../../model/event-type-file.ts';
import { AUTHOR_TYPES_FILE, authorTypes, type TypedEvent } from '../../model/manifest/author-types.ts';
import { findManifest } from '../../model/manifest/find-manifest.ts';
import { MANIFEST_FILE, type Manifest, parseManifest } from '../../model/manifest/manifest.ts';
import type { Problem } from '../../model/problem.ts';
import { readGiven, replaceFile } from '../../real-files.ts';
import { type Command, defineCommand } from '../command.ts';
import { EXIT, Failure, UsageError } from '../terminal/failure.ts';
import type { Output } from '../terminal/output.ts';
import { declaredIn, EVENT_TYPES_OPTION } from './event-types.ts';

const NO_TYPES: EventTypeFile['types'] = new Map();

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
    eventTypes: EVENT_TYPES_OPTION,
    check: { help: 'write nothing, and exit 1 where a file is not up to date' },
  },
  examples: [
    { line: 'annex types', does: 'write the types of the integration in this folder' },
    { line: 'annex types --event-types types.yaml', does: "also write the types of the product's events" },
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
  async run({ output, cwd }, { folder: given = '.', manifest: file, env, eventTypes, check }) {
    const folder = resolve(cwd, given);
    const shown = (path: string): string => relative(cwd, path) || '.';
    const path = resolve(folder, file ?? (await manifestIn(folder)));
    const yaml = textOf(folder, path);
    if (yaml === undefined)
      throw new UsageError(`There is no ${shown(path)}.`, { hint: 'Give the folder of an integration.' });
    const declared = eventTypes === undefined ? NO_TYPES : declaredIn(resolve(cwd, eventTypes), eventTypes);
    const manifest = readManifest(yaml, { output, shown: shown(path), env, types: declared });
    const files = await writeTypes(folder, { manifest, types: declared }, check);
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

/** Sorted, so that the file is the same whatever the order of the types. */
const eventsOf = (types: EventTypeFile['types']): readonly TypedEvent[] =>
  [...types]
    .map(([type, { declaration }]) => ({ type, ...declaration }))
    .sort((one, other) => (one.type < other.type ? -1 : 1));

interface Reading {
  readonly output: Output;
  /** The path of the manifest as the user knows it. */
  readonly shown: string;
  /** Name of the environment. */
  readonly env: string | undefined;
  /** The event types of the product. */
  readonly types: EventTypeFile['types'];
}

/** Prints the problems of a manifest. @throws Failure if it has errors */
function readManifest(yaml: string, { output, shown, env, types: declared }: Reading): Manifest {
  const rules = catalogOf({ types: declared }).manifestRules;
  const parsed = parseManifest(yaml, { ...rules, ...(env !== undefined && { environment: env }) });
  for (const problem of parsed.ok ? parsed.warnings : parsed.problems)
    output.talk(problemLine(problem, shown));
  if (parsed.ok) return parsed.manifest;
  throw new Failure(`${shown} has errors.`, { code: 'MANIFEST_INVALID', problems: parsed.problems });
}

function problemLine({ severity, line, column, message, hint }: Problem, path: string): string {
  const place = [path, line, column].filter((part) => part !== undefined).join(':');
  return `${place}: ${severity}: ${message}${hint === undefined ? '' : ` ${hint}`}`;
}

const SETTINGS_FILE = 'tsconfig.json';
/** Largest manifest, and largest file of types, that is read. */
const TEXT_BYTES_MAX = 4 * 1024 * 1024;
type FileState = 'written' | 'up to date' | 'not up to date' | 'removed' | 'left as it is';

interface TypedFile {
  readonly file: string;
  readonly state: FileState;
  /** What the author can do about it. */
  readonly hint?: string;
}

/** Writes the files of a folder. @param isCheck only compares them, and writes nothing */
async function writeTypes(
  folder: string,
  { manifest, types: declared }: { readonly manifest: Manifest } & Pick<Reading, 'types'>,
  isCheck: boolean,
): Promise<readonly TypedFile[]> {
  const isInstalled = hasSdk(folder);
  const made = [
    await makeUpToDate(folder, AUTHOR_TYPES_FILE, authorTypes(manifest, eventsOf(declared)), isCheck),
    ...(isInstalled
      ? await removeCopy(folder, isCheck)
      : [await makeUpToDate(folder, SDK_DECLARATIONS_FILE, await sdkDeclarations(), isCheck)]),
  ];
  return isCheck ? made : [...made, await offerSettings(folder, isInstalled)];
}

/** The one manifest of a folder; else the name that it should have. */
export async function manifestIn(folder: string): Promise<string> {
  const names = await readdir(folder).catch(() => []);
  const found = findManifest(names, (name) => textOf(folder, join(folder, name)));
  return typeof found === 'string' ? found : MANIFEST_FILE;
}

/**
 * @param file absolute path
 * @returns undefined where there is no such file in the folder
 */
function textOf(folder: string, file: string): string | undefined {
  const found = readGiven(folder, file, TEXT_BYTES_MAX);
  return typeof found === 'object' ? String(found.bytes) : undefined;
}

/** Whether code of the folder finds the package. */
function hasSdk(folder: string): boolean {
  try {
    createRequire(join(folder, 'any.js')).resolve('@annex/sdk/package.json');
    return true;
  } catch {
    return false;
  }
}

async function makeUpToDate(
  folder: string,
  name: string,
  text: string,
  isCheck: boolean,
): Promise<TypedFile> {
  const file = join(folder, name);
  // Git may have changed the line endings; that is no difference.
  if (textOf(folder, file)?.replaceAll('\r\n', '\n') === text) return { file: name, state: 'up to date' };
  if (isCheck) return { file: name, state: 'not up to date' };
  await replaceFile(file, text);
  return { file: name, state: 'written' };
}

/**
 * A copy of the declarations would stand in the place of the package, and declare globals twice.
 */
async function removeCopy(folder: string, isCheck: boolean): Promise<TypedFile[]> {
  const file = join(folder, SDK_DECLARATIONS_FILE);
  const text = textOf(folder, file);
  if (text === undefined || !isGeneratedSdk(text)) return [];
  if (!isCheck) await rm(file);
  return [
    {
      file: SDK_DECLARATIONS_FILE,
      state: isCheck ? 'not up to date' : 'removed',
      hint: 'The installed package @annex/sdk contains the same types.',
    },
  ];
}

/** Writes `tsconfig.json` unless the author already has one. */
async function offerSettings(folder: string, isInstalled: boolean): Promise<TypedFile> {
  const file = join(folder, SETTINGS_FILE);
  try {
    await writeFile(file, isInstalled ? SETTINGS_WITH_PACKAGE : SETTINGS_ALONE, { flag: 'wx' });
    return { file: SETTINGS_FILE, state: 'written' };
  } catch (cause) {
    if (!isErrno(cause, 'EEXIST')) throw cause;
    const left: TypedFile = { file: SETTINGS_FILE, state: 'left as it is' };
    if (!isInstalled || textOf(folder, file)?.includes('@annex/sdk/')) return left;
    return {
      ...left,
      hint: '"extends": "@annex/sdk/tsconfig.json" would give it the globals of an isolate.',
    };
  }
}

const isErrno = (cause: unknown, code: string): boolean =>
  cause instanceof Error && 'code' in cause && cause.code === code;
