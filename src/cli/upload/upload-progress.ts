/**
 * Shows on a terminal how much of an upload is sent: one sentence for a short one, and a percentage
 * that changes in its place for a long one. Without a terminal it shows nothing.
 */
import type { CommandContext } from '../context.ts';
import { paint } from '../terminal/output.ts';
import type { FolderUpload } from './folder-upload.ts';
import { sizeText, weightOf } from './upload-size.ts';

/** From this size on, an upload may take long enough to ask how far it is. */
const LONG_BYTES = 1024 * 1024;

/** @returns what to call with the number of bytes of each piece; undefined if nothing is shown */
export function uploadProgress(
  { output, isTerminal }: Pick<CommandContext, 'output' | 'isTerminal'>,
  upload: FolderUpload,
): ((bytes: number) => void) | undefined {
  if (!isTerminal.stderr) return undefined;
  const { files, bytes } = weightOf(upload);
  const sentence = `Uploading ${files} ${files === 1 ? 'file' : 'files'}, ${sizeText(bytes)} …`;
  if (bytes < LONG_BYTES) {
    output.talk(paint('dim', sentence));
    return undefined;
  }
  let sent = 0;
  let shown = -1;
  return (more) => {
    sent += more;
    const percent = Math.min(Math.floor((sent / bytes) * 100), 100);
    // A hundred updates at most, however small the pieces are.
    if (percent === shown) return;
    shown = percent;
    output.status(`${sentence} ${percent} %${percent === 100 ? '; the service builds it' : ''}`);
  };
}
