/**
 * Command-line flags of the process that reads and bundles one upload. Its environment is empty, so
 * flags are its only settings.
 */

/** Path of the esbuild program. */
export const ESBUILD_FLAG = '--esbuild=';
/** esbuild cannot open any file or folder. */
export const DISKLESS_FLAG = '--diskless';
/** Bundle one line, then exit. */
export const SELF_TEST_FLAG = '--self-test';
