/**
 * What crosses between the host and the process that bundles one upload: one job, one result.
 *
 * Sent over Node's own channel with structured cloning, so that maps and bytes travel as they are.
 */
import type { Problem } from '../model/problem.ts';
import type { VirtualFiles } from './virtual-files.ts';

/**
 * Largest source map of a bundle, in bytes of UTF-8; a larger one is left out. The host decodes a map in one go when a
 * script first fails, on the thread that serves everyone, and a decoded map takes some 35 bytes of its heap per byte:
 * dense code that throws, published many times over, would fill it.
 */
export const SOURCE_MAP_BYTES_MAX = 1024 * 1024;

export interface BundlerJob {
  readonly files: VirtualFiles;
  /** Value of `MODE` and `process.env.NODE_ENV`. */
  readonly mode: string;
  readonly scriptBytes: number;
}

/** A bundle, or everything that kept it from becoming one. */
export type BundleResult =
  | {
      readonly ok: true;
      /**
       * One classic script, no imports left. Its value is a function of `run`, which it calls with a thunk that loads the
       * entry module and answers a promise of its namespace.
       */
      readonly script: string;
      /** Source map (version 3) of the script, without the sources' text; empty where it would be too large. */
      readonly map: string;
      readonly warnings: Problem[];
    }
  | { readonly ok: false; readonly problems: Problem[] };

/** `ready` tells an upload that kills the process from a process that cannot start. */
export type BundlerMessage =
  | { readonly t: 'ready' }
  | { readonly t: 'result'; readonly result: BundleResult };
