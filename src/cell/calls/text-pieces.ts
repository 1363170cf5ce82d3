/**
 * Texts on their way into an isolate, in pieces that it takes into its heap.
 *
 * isolated-vm (7.0.1, `external_copy/string.cc`) gives an isolate a text of a kilobyte or more as a view of memory outside of its
 * heap. V8 keeps such strings among the old ones from the start, and looks for dead ones there when 64 MiB of them have come
 * together. So each isolate that is called often would hold 64 MiB of the texts of calls that are long over. Shorter texts are
 * young ones, and gone with the next small collection.
 */

/** Of two bytes each, where a text is not of one-byte characters: just below the kilobyte. */
const PIECE_CHARS = 511;
/** Beyond this, to copy and join a text costs more than to hold it. */
const IN_PIECES_CHARS_MAX = 64 * 1024;

export function pieces(text: string): string[] {
  if (text.length <= PIECE_CHARS || text.length > IN_PIECES_CHARS_MAX) return [text];
  const all: string[] = [];
  for (let at = 0; at < text.length; at += PIECE_CHARS) all.push(text.slice(at, at + PIECE_CHARS));
  return all;
}
