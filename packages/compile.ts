/**
 * Compiles the sources of one npm package to JavaScript and declarations.
 *
 * The compiler and not type stripping: one run writes both, and gives relative imports the
 * extension of what it writes. It does not check the types, which `npm run check` does.
 */
import { execFile } from 'node:child_process';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const COMPILER = join(ROOT, 'node_modules/typescript/bin/tsc');
const COMPILE_MS = 300_000;

/** An import in a declaration, which the compiler leaves as it is written. */
const IMPORT = /((?:from|import) ?\(?)(['"])(\.[^'"]*)\.tsx?\2/g;

export interface Project {
  /** Path of its `tsconfig.json`, from the root of the repository. */
  readonly config: string;
  /** Folder of the sources, from the root of the repository: `into` has the same folders. */
  readonly root: string;
  readonly into: string;
  /** The JavaScript is made by other means. */
  readonly declarationsOnly?: boolean;
}

/** @throws an Error with the output of the compiler */
export async function compile({ config, root, into, declarationsOnly = false }: Project): Promise<void> {
  const flags = ['--noEmit', 'false', '--noCheck', '--declaration', '--rewriteRelativeImportExtensions'];
  if (declarationsOnly) flags.push('--emitDeclarationOnly');
  const places = ['-p', join(ROOT, config), '--rootDir', join(ROOT, root), '--outDir', into];
  try {
    await promisify(execFile)(process.execPath, [COMPILER, ...places, ...flags], { timeout: COMPILE_MS });
  } catch (cause) {
    const { stdout = '', message = '' } = cause as { stdout?: string; message?: string };
    throw new Error(`${config} does not compile.\n${stdout || message}`, { cause });
  }
  const files = await readdir(into, { recursive: true });
  await Promise.all(
    files.filter((file) => file.endsWith('.d.ts')).map((file) => importCompiled(join(into, file))),
  );
}

/** Tools other than the compiler look for the file that a declaration names. */
async function importCompiled(file: string): Promise<void> {
  const text = await readFile(file, 'utf8');
  const changed = text.replaceAll(IMPORT, '$1$2$3.js$2');
  if (changed !== text) await writeFile(file, changed);
}
