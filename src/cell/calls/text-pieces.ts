/**
 * Splits texts on their way into an isolate into pieces that it copies into its heap.
 *
 * isolated-vm (7.0.1, `external_copy/string.cc`) passes a text of a kilobyte or more as a view of
 * memory outside of the heap. V8 puts such strings into the old generation, and collects there only
 * when 64 MiB of them have come together: each isolate that is called often would hold 64 MiB of
 * the texts of calls that are over. Shorter texts are in the young generation, and the next small
 * collection frees them.
 */

/** Of two bytes each, where a text is not of one-byte characters: just below the kilobyte. */
const PIECE_CHARS = 511;
/** A longer text costs more to copy and join than to hold. */
const IN_PIECES_CHARS_MAX = 64 * 1024;

/**
 * The pieces of a text; the text itself where it is short, or so long that copying it costs more.
 */
export function pieces(text: string): string[] {
  if (text.length <= PIECE_CHARS || text.length > IN_PIECES_CHARS_MAX) return [text];
  const all: string[] = [];
  for (let at = 0; at < text.length; at += PIECE_CHARS) all.push(text.slice(at, at + PIECE_CHARS));
  return all;
}
