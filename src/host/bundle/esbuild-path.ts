/**
 * Sets the path of the esbuild program before esbuild's library is loaded. In a release the library
 * is bundled into the script of the process and cannot find the program. When the process runs from
 * its sources the library finds it, and the flag is absent. A file of its own: what is imported
 * first is evaluated first.
 */
import { ESBUILD_FLAG } from './bundler-flags.ts';

const [path] = process.argv.flatMap((argument) =>
  argument.startsWith(ESBUILD_FLAG) ? [argument.slice(ESBUILD_FLAG.length)] : [],
);
if (path !== undefined) process.env['ESBUILD_BINARY_PATH'] = path;
