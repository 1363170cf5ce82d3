/**
 * Names that the bundler replaces by their values, for the type checker. No isolate has them: what
 * is not bundled, as code that is made of a text at run time, does not find them.
 */

/**
 * What the code is published as. What only a branch on another value imports is left out of the
 * bundle.
 */
declare const MODE: 'production' | 'development';
