/**
 * `node:path/win32`.
 */
import { win32 } from './path.ts';

export const { resolve, normalize, isAbsolute, join, relative, toNamespacedPath, dirname, basename } = win32;
export const { extname, format, parse, matchesGlob, sep, delimiter, posix, _makeLong } = win32;
export { win32 };
export default win32;
