/**
 * Bytes of other people as text for a terminal, piece by piece: an answer of an endpoint, the
 * output of a program. Each control character is shown, wherever a piece ends, and bytes that are
 * no UTF-8 are replaced: a terminal that does not read UTF-8 could take them for such characters.
 */
import { plainText } from '../../model/plain-text.ts';

/**
 * Styles that test runners use. Attack: the one that hides text (8), for another output than there
 * is.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the sequences of styles begin with one.
const STYLE = /(\x1b\[(?:(?:[0-7]|9|2[1-9]|[34]\d|9[0-7]|10[0-7]|[34]8;5;\d{1,3})(?:;(?=\d)|(?=m))){0,8}m)/;
/** A piece may end within such a sequence, or between the two characters of a line end. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the same.
const UNFINISHED_STYLE = /\x1b(?:\[[\d;]{0,40})?$/;

export class TerminalBytes {
  readonly #decoder = new TextDecoder();
  readonly #hasStyles: boolean;
  #waiting = '';

  /** @param hasStyles whether styles stay, and nothing else */
  constructor(hasStyles = false) {
    this.#hasStyles = hasStyles;
  }

  /** @returns what may be written to a terminal now */
  text(bytes: Uint8Array): string {
    const text = this.#waiting + this.#decoder.decode(bytes, { stream: true });
    const end = this.#unfinished(text);
    this.#waiting = text.slice(end);
    return this.#plain(text.slice(0, end));
  }

  /** @returns the rest */
  end(): string {
    const text = this.#waiting + this.#decoder.decode();
    this.#waiting = '';
    return this.#plain(text);
  }

  /** Where a text may go on in the next piece. */
  #unfinished(text: string): number {
    if (text.endsWith('\r')) return text.length - 1;
    const at = this.#hasStyles ? text.search(UNFINISHED_STYLE) : -1;
    return at === -1 ? text.length : at;
  }

  #plain(text: string): string {
    if (!this.#hasStyles) return plainText(text);
    // Every second part is a style.
    return text
      .split(STYLE)
      .map((part, at) => (at % 2 === 1 ? part : plainText(part)))
      .join('');
  }
}
