/**
 * Files of Annex itself that are started or read at run time, in a clone and in the npm package.
 *
 * A clone runs its TypeScript, and builds texts of it when it starts. Node does not strip types
 * below `node_modules`, so the package has the same folders in JavaScript. It has no sources and no
 * compiler: `npm run packages` builds the texts, and the package carries them.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const EXTENSION = import.meta.url.endsWith('.ts') ? '.ts' : '.js';
const PREBUILT = new URL('../prebuilt/', import.meta.url);

/** Texts that the package carries. */
export const PREBUILT_FILES = {
  /** What cells and bundlers run, as JSON. */
  cellSources: 'cell-sources.json',
  /** Sources that bundles contain, as JSON: file → text. */
  sdkSource: 'sdk-source.json',
  nodeSource: 'node-source.json',
  /** Declarations of the SDK and of the globals of an isolate. */
  sdkDeclarations: 'annex-sdk.d.ts',
  /** Script and style of the page of `annex dev`, as JSON. */
  devPage: 'dev-page.json',
} as const;

/**
 * Path of a program that another process runs.
 *
 * @param name path without extension, relative to the module that starts it
 * @param from `import.meta.url` of that module
 */
export const programPath = (name: string, from: string): string =>
  fileURLToPath(new URL(`${name}${EXTENSION}`, from));

/** A text that the package carries. @returns undefined in a clone, where it is built */
export const prebuilt = (file: keyof typeof PREBUILT_FILES): string | undefined =>
  EXTENSION === '.ts' ? undefined : readFileSync(new URL(PREBUILT_FILES[file], PREBUILT), 'utf8');
