/**
 * All that a command prints: data on standard output, everything else on standard error. With
 * `--json` standard output holds one JSON value, or one a line for a stream, and no other text.
 *
 * Every text passes `plainText`, and on a terminal every byte does: nothing of a server, a folder
 * or a program reaches the terminal as an escape sequence. Only `paint` and `clear` add some. No
 * command has the streams, so none can print past it.
 */
import type { Readable, Writable } from 'node:stream';
import { plainJson, plainLine, plainText, safeJson } from '../../model/plain-text.ts';

const STYLES = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, cyan: 36 } as const;
type Style = keyof typeof STYLES;

/** A text with a style, which is left out where there are no colours. */
export interface Painted {
  readonly style: Style;
  readonly text: string;
}

type StreamName = 'stdout' | 'stderr';

const CLEAR = '\x1b[2J\x1b[3J\x1b[H';

export type Piece = string | number | Painted;

export const paint = (style: Style, text: string): Painted => ({ style, text });

interface OutputSettings {
  readonly stdout: Writable;
  readonly stderr: Writable;
  readonly json: boolean;
  /** Which of the two are terminals. */
  readonly isTerminal: Readonly<Record<StreamName, boolean>>;
  /** Whether each of the two shows styles. */
  readonly colours: Readonly<Record<StreamName, boolean>>;
  /** Called when the reader of standard output has gone. */
  brokenPipe(): void;
}

export class Output {
  readonly #settings: OutputSettings;
  readonly #bytes = new TerminalBytes();
  #isBroken = false;
  #hasValue = false;
  /** Columns of the status that the terminal shows. */
  #statusColumns = 0;

  constructor(settings: OutputSettings) {
    this.#settings = settings;
    // A reader may end before the writer, as `head` does. No reader is left for a message.
    settings.stdout.on('error', (cause: NodeJS.ErrnoException) => {
      if (cause.code !== 'EPIPE' && cause.code !== 'ERR_STREAM_DESTROYED') throw cause;
      this.#isBroken = true;
      settings.brokenPipe();
    });
    settings.stderr.on('error', () => undefined);
  }

  /** Whether `--json` was given. */
  get isJson(): boolean {
    return this.#settings.json;
  }

  /** Whether standard output already holds the JSON value of this command. */
  get hasValue(): boolean {
    return this.#hasValue;
  }

  /**
   * The result of a command: the value with `--json`, else what `show` prints with `line` or
   * `table`.
   */
  result(value: unknown, show: () => void): void {
    if (!this.isJson) return show();
    this.#hasValue = true;
    this.#write(`${safeJson(value, 2)}\n`);
  }

  /**
   * One element of a stream: one line of JSON with `--json`, else what `show` prints.
   *
   * @returns when the reader can take more: await it, so that a slow reader slows the command
   */
  item(value: unknown, show: () => void): Promise<void> {
    if (this.isJson) this.#write(`${safeJson(value)}\n`);
    else show();
    return this.#drained();
  }

  /** A line of data for people. Not with `--json`: give it to `result` or `item`. */
  line(...pieces: readonly Piece[]): void {
    this.#write(`${this.#joined(pieces, 'stdout')}\n`);
  }

  /** A value as JSON for people: the data of a command that has no other form. */
  json(value: unknown): void {
    this.#write(`${safeJson(value, 2)}\n`);
  }

  /** Columns of data for people, under their titles; nothing if there are no rows. */
  table(titles: readonly string[], rows: readonly (readonly Piece[])[]): void {
    const all = [titles.map((title) => paint('dim', title)), ...rows];
    if (rows.length === 0) return;
    const widths = titles.map((_, column) => Math.max(...all.map((row) => cellText(row[column]).length)));
    for (const row of all) {
      const cells = titles.map((_, column) => {
        const piece = row[column] ?? '';
        const text = cellText(piece);
        const padding = column === titles.length - 1 ? '' : ' '.repeat((widths[column] ?? 0) - text.length);
        return `${this.#shown(typeof piece === 'object' ? { ...piece, text } : text, 'stdout')}${padding}`;
      });
      this.#write(`${cells.join('  ').trimEnd()}\n`);
    }
  }

  /** The result of a command that lists: the value with `--json`, else a row for each item. */
  list<Item>(
    value: { readonly [member: string]: unknown; readonly items: readonly Item[] },
    titles: readonly string[],
    row: (item: Item) => readonly Piece[],
    none?: string,
  ): void {
    this.result(value, () => {
      this.table(titles, value.items.map(row));
      if (value.items.length === 0 && none !== undefined) this.talk(none);
    });
  }

  /** Text for people that is no data: progress, hints, warnings. On standard error. */
  talk(...pieces: readonly Piece[]): void {
    this.#clearStatus();
    this.#settings.stderr.write(`${this.#joined(pieces, 'stderr')}\n`);
  }

  /** Shows a text in the place of the last one, on a terminal, until something else is printed. */
  status(text: string): void {
    const line = plainLine(text);
    this.#settings.stderr.write(`\r${line.padEnd(this.#statusColumns)}`);
    this.#statusColumns = line.length;
  }

  /** Asks a person at a terminal, on standard error. The answer follows on the same line. */
  ask(question: string): void {
    this.#clearStatus();
    this.#settings.stderr.write(plainText(question));
  }

  /** Empties the terminal. */
  clear(): void {
    this.#write(CLEAR);
  }

  /**
   * Data as it is, for files, scripts and answers that another program reads; with its control
   * characters shown where standard output is a terminal.
   */
  raw(data: Uint8Array): Promise<void> {
    if (this.#settings.isTerminal.stdout) {
      this.#clearStatus();
      if (!this.#isBroken) this.#settings.stdout.write(this.#bytes.text(data));
    } else this.#write(data);
    return this.#drained();
  }

  /** Writes what `raw` has left of its data: a character of which the other bytes never came. */
  end(): void {
    this.#write('');
  }

  /**
   * The output of another program, until its end: as it is, or on a terminal with nothing but its
   * styles.
   */
  async copy(from: Readable, to: StreamName): Promise<void> {
    const { [to]: stream, isTerminal } = this.#settings;
    const shown = new TerminalBytes(this.hasColours(to));
    for await (const chunk of from) {
      if (this.#isBroken && to === 'stdout') continue;
      stream.write(isTerminal[to] ? shown.text(chunk) : chunk);
      await drained(stream);
    }
    if (isTerminal[to]) stream.write(shown.end());
  }

  /** A line of the log of a service in this process, which is JSON. */
  logged(line: string): void {
    this.#write(plainJson(line));
  }

  /** Whether another program may have the stream: that of the process, and no terminal. */
  isGiven(to: StreamName): boolean {
    const { [to]: stream, isTerminal } = this.#settings;
    return !isTerminal[to] && stream === process[to];
  }

  hasColours(to: StreamName): boolean {
    return this.#settings.colours[to];
  }

  #write(data: string | Uint8Array): void {
    this.#clearStatus();
    if (this.#isBroken) return;
    const rest = this.#bytes.end();
    if (rest !== '') this.#settings.stdout.write(rest);
    if (data.length > 0) this.#settings.stdout.write(data);
  }

  #clearStatus(): void {
    if (this.#statusColumns === 0) return;
    this.#settings.stderr.write(`\r${' '.repeat(this.#statusColumns)}\r`);
    this.#statusColumns = 0;
  }

  #joined(pieces: readonly Piece[], to: StreamName): string {
    return pieces.map((piece) => this.#shown(piece, to)).join('');
  }

  #shown(piece: Piece, to: StreamName): string {
    if (typeof piece !== 'object') return plainText(String(piece));
    const text = plainText(piece.text);
    // A style may be looked up by a word of the service, which has none for a word of its own.
    const style = Object.hasOwn(STYLES, piece.style) ? STYLES[piece.style] : undefined;
    return this.#settings.colours[to] && style !== undefined ? `\x1b[${style}m${text}\x1b[0m` : text;
  }

  async #drained(): Promise<void> {
    if (!this.#isBroken) await drained(this.#settings.stdout);
  }
}

async function drained(stream: Writable): Promise<void> {
  if (!stream.writableNeedDrain || stream.destroyed) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const ends = ['drain', 'error', 'close'];
  for (const end of ends) stream.once(end, resolve);
  await promise;
  for (const end of ends) stream.off(end, resolve);
}

const cellText = (piece: Piece = ''): string =>
  plainLine(typeof piece === 'object' ? piece.text : String(piece));

/**
 * Styles that test runners use. Attack: the one that hides text (8), for another output than there
 * is.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the sequences of styles begin with one.
const STYLE = /(\x1b\[(?:(?:[0-7]|9|2[1-9]|[34]\d|9[0-7]|10[0-7]|[34]8;5;\d{1,3})(?:;(?=\d)|(?=m))){0,8}m)/;
/** A piece may end within such a sequence, or between the two characters of a line end. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the same.
const UNFINISHED_STYLE = /\x1b(?:\[[\d;]{0,40})?$/;

class TerminalBytes {
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
