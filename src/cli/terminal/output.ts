/**
 * All that a command prints: data on standard output, everything else on standard error. With
 * `--json` standard output holds one JSON value, or one a line for a stream, and no other text.
 *
 * Every text passes `plainText`, so that nothing of a server reaches the terminal as an escape
 * sequence; only `paint` adds some.
 */
import type { Writable } from 'node:stream';
import { plainLine, plainText, safeJson } from './plain-text.ts';

const STYLES = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, cyan: 36 } as const;
export type Style = keyof typeof STYLES;

/** A text with a style, which is left out where there are no colours. */
export interface Painted {
  readonly style: Style;
  readonly text: string;
}

export type Piece = string | number | Painted;

export const paint = (style: Style, text: string): Painted => ({ style, text });

export interface OutputSettings {
  readonly stdout: Writable;
  readonly stderr: Writable;
  readonly json: boolean;
  /** Whether each of the two shows styles. */
  readonly colours: { readonly stdout: boolean; readonly stderr: boolean };
  /** Called when the reader of standard output has gone. */
  brokenPipe(): void;
}

export class Output {
  readonly #settings: OutputSettings;
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

  /** Data as it is, for files, scripts and answers that another program reads. */
  raw(data: string | Uint8Array): Promise<void> {
    this.#write(data);
    return this.#drained();
  }

  #write(data: string | Uint8Array): void {
    this.#clearStatus();
    if (!this.#isBroken) this.#settings.stdout.write(data);
  }

  #clearStatus(): void {
    if (this.#statusColumns === 0) return;
    this.#settings.stderr.write(`\r${' '.repeat(this.#statusColumns)}\r`);
    this.#statusColumns = 0;
  }

  #joined(pieces: readonly Piece[], to: 'stdout' | 'stderr'): string {
    return pieces.map((piece) => this.#shown(piece, to)).join('');
  }

  #shown(piece: Piece, to: 'stdout' | 'stderr'): string {
    if (typeof piece !== 'object') return plainText(String(piece));
    const text = plainText(piece.text);
    return this.#settings.colours[to] ? `\x1b[${STYLES[piece.style]}m${text}\x1b[0m` : text;
  }

  async #drained(): Promise<void> {
    const { stdout } = this.#settings;
    if (!stdout.writableNeedDrain || this.#isBroken) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    stdout.once('drain', resolve);
    stdout.once('error', () => resolve());
    stdout.once('close', resolve);
    await promise;
  }
}

const cellText = (piece: Piece = ''): string =>
  plainLine(typeof piece === 'object' ? piece.text : String(piece));
