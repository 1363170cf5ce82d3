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

/**
 * Archives of the npm packages of Annex: in a clone, those that `npm run packages` makes. No
 * program and no page has npm look for them in a registry. Attack: packages of their names, which
 * anybody may publish there.
 */
export const ARCHIVES = new URL(EXTENSION === '.ts' ? '../dist/' : '../packages/', import.meta.url);

/** The program `annex`. */
export const PROGRAM = fileURLToPath(
  new URL(EXTENSION === '.ts' ? '../packages/annex/bin/annex.js' : '../../bin/annex.js', import.meta.url),
);

/** File of the archive of a package, as `npm pack` names it. */
export const archiveName = (name: string, version: string): string =>
  `${name.replace('@', '').replace('/', '-')}-${version}.tgz`;

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
