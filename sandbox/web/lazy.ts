/**
 * Modules of the web platform that are evaluated when they are first needed: esbuild puts them into the prelude as
 * functions that have not run. A module listed here must be imported by its types alone everywhere else outside this list,
 * or it would be evaluated at the start after all.
 */

/** Bundled by esbuild, and evaluated at the first call. */
declare const require: (path: string) => unknown;

export {};
