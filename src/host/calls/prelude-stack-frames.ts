/** Stack traces for authors: without the frames of the prelude. */
import { PRELUDE_URL } from '../../protocol/wire.ts';

const PRELUDE_FRAMES = new RegExp(`\\n +at [^\\n]*${RegExp.escape(PRELUDE_URL)}:[^\\n]*`, 'g');

/**
 * Removes the lines of a stack trace that lie in the prelude, which are of no use to the author.
 */
export const withoutPreludeFrames = (text: string): string =>
  text.includes(PRELUDE_URL) ? text.replace(PRELUDE_FRAMES, '') : text;
