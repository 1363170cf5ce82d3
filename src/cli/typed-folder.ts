/**
 * The files by which editors and `tsc` know what the code of an integration can use, beside its
 * manifest: `annex-env.d.ts` (types of what the manifest declares) and, if it is missing, a
 * `tsconfig.json`. Where the package `@annex/sdk` is not installed, also `annex-sdk.d.ts` (the SDK
 * and the globals of an isolate). Prints nothing.
 */
import { readdir, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import {
  isGeneratedSdk,
  SDK_DECLARATIONS_FILE,
  SETTINGS_ALONE,
  SETTINGS_WITH_PACKAGE,
  sdkDeclarations,
} from '../../packages/sdk/declarations.ts';
import { AUTHOR_TYPES_FILE, authorTypes } from '../model/manifest/author-types.ts';
import { findManifest } from '../model/manifest/find-manifest.ts';
import { MANIFEST_FILE, type Manifest } from '../model/manifest/manifest.ts';
import { readGiven, replaceFile } from '../real-files.ts';

const SETTINGS_FILE = 'tsconfig.json';
/** Largest manifest, and largest file of types, that is read. */
const TEXT_BYTES_MAX = 4 * 1024 * 1024;
export type FileState = 'written' | 'up to date' | 'not up to date' | 'removed' | 'left as it is';

export interface TypedFile {
  readonly file: string;
  readonly state: FileState;
  /** What the author can do about it. */
  readonly hint?: string;
}

/** Writes the files of a folder. @param isCheck only compares them, and writes nothing */
export async function writeTypes(
  folder: string,
  manifest: Manifest,
  isCheck: boolean,
): Promise<readonly TypedFile[]> {
  const isInstalled = hasSdk(folder);
  const made = [
    await makeUpToDate(folder, AUTHOR_TYPES_FILE, authorTypes(manifest), isCheck),
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
export function textOf(folder: string, file: string): string | undefined {
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
