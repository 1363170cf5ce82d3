/**
 * How the source of an integration is read: the options of esbuild that decide which modules it
 * imports.
 *
 * A bundle is made with them, and the command line finds with them which files a bundle will need,
 * so that an upload has exactly those.
 */
import type { BuildOptions } from 'esbuild';
import { jsxOf } from './jsx.ts';
import type { FileTree } from './resolve-import.ts';

/** @param mode value of `MODE` and `process.env.NODE_ENV` */
export const sourceOptions = (files: FileTree, entry: string, mode: string) =>
  ({
    bundle: true,
    // Only plugins serve files; esbuild reads no tsconfig and writes no output. `jsxOf` reads the
    // few members that an upload may choose.
    tsconfigRaw: { compilerOptions: { useDefineForClassFields: true } },
    write: false,
    format: 'esm',
    platform: 'neutral',
    target: 'esnext',
    treeShaking: true,
    ...jsxOf(files, entry),
    define: {
      MODE: JSON.stringify(mode),
      'process.env.NODE_ENV': JSON.stringify(mode),
      global: 'globalThis',
    },
    logLevel: 'silent',
    logLimit: 0,
  }) satisfies BuildOptions;
