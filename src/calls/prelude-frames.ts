/** Stack traces as authors see them. */
import { PRELUDE_URL } from '../protocol/wire.ts';

const PRELUDE_FRAMES = new RegExp(`\\n +at [^\\n]*${RegExp.escape(PRELUDE_URL)}:[^\\n]*`, 'g');

/** A stack trace without the lines that lie in the prelude: ours, and of no use to the author. */
export const withoutPreludeFrames = (text: string): string =>
  text.includes(PRELUDE_URL) ? text.replace(PRELUDE_FRAMES, '') : text;
