/**
 * How the source of an integration is read: the options of esbuild that decide which modules it
 * imports.
 *
 * A bundle is made with them, and the command line finds with them which files a bundle will need,
 * so that an upload has exactly those.
 */
import type { BuildOptions, Loader } from 'esbuild';
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
      // All files are one script.
      'import.meta.url': JSON.stringify('file:///script.js'),
      __filename: JSON.stringify('/script.js'),
      __dirname: JSON.stringify('/'),
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

/** Whether a file is read as code; others are what they are, byte for byte. */
export const isSource = (loader: Loader): boolean => /^[jt]sx?$/.test(loader);

const FILE_URL =
  /\bnew URL\((?:"(\.{1,2}\/[^"\\\n]{1,200})"|'(\.{1,2}\/[^'\\\n]{1,200})'), ?import\.meta\.url\)/g;

/** The files that code names by `new URL('./file', import.meta.url)`. */
export const namedFiles = (source: string): string[] =>
  [...source.matchAll(FILE_URL)].map(([, double, single]) => double ?? single ?? '');

/**
 * Replaces `new URL('./file', import.meta.url)` by the URL of its bytes, which `fetch` reads: a
 * script has no files.
 *
 * @param bytesOf the bytes of a file of the upload
 */
export const withFileUrls = (source: string, bytesOf: (path: string) => Uint8Array | undefined): string =>
  source.replaceAll(FILE_URL, (all, double?: string, single?: string) => {
    const bytes = bytesOf(double ?? single ?? '');
    if (bytes === undefined) return all;
    const quote = double === undefined ? "'" : '"';
    return `new URL(${quote}data:application/octet-stream;base64,${Buffer.from(bytes).toString('base64')}${quote})`;
  });

/** Extension of an uploaded file → esbuild loader. Other extensions are refused by name. */
export const LOADERS: Readonly<Record<string, Loader>> = {
  ts: 'ts',
  mts: 'ts',
  cts: 'ts',
  tsx: 'tsx',
  js: 'js',
  mjs: 'js',
  cjs: 'js',
  jsx: 'jsx',
  json: 'json',
  txt: 'text',
  md: 'text',
  html: 'text',
  css: 'text',
  svg: 'text',
  wasm: 'binary',
};

/** Whether a file is code, which an entrypoint has to be. */
export const isCode = (path: string): boolean =>
  !RAW_TEXT.test(path) && /^(?:ts|js)x?$/.test(LOADERS[path.slice(path.lastIndexOf('.') + 1)] ?? '');

/** Code that is imported as its own text, to be sent to a browser. */
const RAW_TEXT = /\.raw\.(?:js|mjs|cjs|ts|css)$/i;

/**
 * How esbuild reads a file; undefined where it cannot be imported.
 *
 * @param type of the import attributes: `with { type: 'text' }`, `json` or `bytes`
 */
export function loaderOf(path: string, type: string | undefined): Loader | undefined {
  if (type === 'text' || RAW_TEXT.test(path)) return 'text';
  if (type === 'bytes') return 'binary';
  if (type === 'json') return 'json';
  const extension = path.slice(path.lastIndexOf('.') + 1).toLowerCase();
  return Object.hasOwn(LOADERS, extension) ? LOADERS[extension] : undefined;
}
