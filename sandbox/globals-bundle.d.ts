/**
 * Names that the bundler replaces by their values, for the type checker. An isolate does not have
 * them: code that is compiled from a text at run time does not find them.
 */

/**
 * Always `production` in a published script. Modules that only a branch for another value imports
 * are left out of the bundle.
 */
declare const MODE: 'production' | 'development';

/**
 * Second parameter of a script that has `node:async_hooks`: the asynchronous context of the code
 * that runs.
 */
declare const __context: {
  get(): unknown;
  set(context: unknown): void;
  run<T>(context: unknown, call: () => T): T;
};
