/** Cuts texts at a bound. */
import { withoutPiledMarks } from '../../../../src/model/contentkit/drawing-bounds.ts';

/** Text of at most so many characters, without half a character at its end, and piled marks. */
export const cutText = (text: string, max: number): string =>
  withoutPiledMarks(text.length <= max ? text : text.slice(0, max).toWellFormed());

/** Text of at most so many lines. */
export function cutLines(text: string, max: number): string {
  let end = -1;
  for (let lines = 0; lines < max; lines += 1) {
    end = text.indexOf('\n', end + 1);
    if (end === -1) return text;
  }
  return text.slice(0, end);
}
