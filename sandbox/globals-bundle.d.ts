/**
 * Names that the bundler replaces by their values, for the type checker. An isolate does not have
 * them: code that is compiled from a text at run time does not find them.
 */

/**
 * Always `production` in a published script. Modules that only a branch for another value imports
 * are left out of the bundle.
 */
declare const MODE: 'production' | 'development';
