/**
 * Tells esbuild's library where its program is, before the library is loaded: built into one file with the process of an
 * upload, it could not find the program by itself. Where the process runs from its sources, it can, and is told nothing.
 */
import { ESBUILD_FLAG } from './bundler-flags.ts';

const [path] = process.argv.flatMap((argument) =>
  argument.startsWith(ESBUILD_FLAG) ? [argument.slice(ESBUILD_FLAG.length)] : [],
);
if (path !== undefined) process.env['ESBUILD_BINARY_PATH'] = path;
