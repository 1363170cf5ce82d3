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
import { tsconfigOf } from './tsconfig.ts';

/** @param mode value of `MODE` and `process.env.NODE_ENV` */
export const sourceOptions = (files: FileTree, entry: string, mode: string) =>
  ({
    bundle: true,
    // Only plugins serve files; esbuild reads no tsconfig and writes no output.
    tsconfigRaw: { compilerOptions: compilerOptions(files, entry) },
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

/** What a `tsconfig.json` says about classes and imports; all of a bundle is compiled alike. */
function compilerOptions(files: FileTree, entry: string) {
  const { target, ...options } = tsconfigOf(files, entry)?.options ?? {};
  const names = ['experimentalDecorators', 'useDefineForClassFields', 'verbatimModuleSyntax'] as const;
  const chosen = names.filter((name) => typeof options[name] === 'boolean');
  // Fields of a class were assigned before ES2022, and TypeScript goes by the target.
  const isKnown = typeof target === 'string' && /^es(?:\d{1,4}|next)$/i.test(target);
  return {
    ...(isKnown ? { target } : { useDefineForClassFields: true }),
    ...Object.fromEntries(chosen.map((name) => [name, options[name] as boolean])),
  };
}
