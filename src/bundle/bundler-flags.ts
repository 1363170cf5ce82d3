/**
 * Arguments of the process that reads and bundles one upload; it has no environment to be told anything by.
 */

/** What esbuild is started as. */
export const ESBUILD_FLAG = '--esbuild=';
/** esbuild can open nothing on a disk. */
export const DISKLESS_FLAG = '--diskless';
/** To bundle one line and end. */
export const SELF_TEST_FLAG = '--self-test';
