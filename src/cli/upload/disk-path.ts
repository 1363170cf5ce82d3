/**
 * Paths on the disk as the resolver of imports writes paths: with slashes, and without one at the
 * beginning. The root of the disk is the empty path.
 */
import { sep } from 'node:path';

/** `/a/b` → `a/b`; on Windows `C:\a\b` → `C:/a/b`. */
export const fromDisk = (path: string): string => path.split(sep).join('/').replace(/^\//, '');

/** The opposite of `fromDisk`. */
export const toDisk = (path: string): string => (sep === '/' ? `/${path}` : path.split('/').join(sep));
