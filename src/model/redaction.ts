/**
 * Redacts secrets in texts that are shown, such as log lines and error explanations
 * (`docs/contract/calls.md#logs`).
 *
 * A value is found verbatim and in common encodings: escaped as in JSON, percent-encoded, in base64
 * at any offset of a longer text. Annex's own tokens are recognised by their form. This guards
 * against accidents only: an author can always log a secret in an encoding that no search finds,
 * for example reversed.
 *
 * The text is decoded in each of these ways (`text-views.ts`) and searched for all values at once
 * (`secret-search.ts`). So time is linear in the text, whatever the secrets are, and memory is
 * about the size of the secrets.
 *
 * Values under six characters are not redacted: they occur by chance in every log, and the gaps
 * would reveal them.
 */
import type { Environment } from './environment.ts';
import { addSpan, SecretSearch, type Spans, type View } from './secret-search.ts';
import { viewsOf } from './text-views.ts';
import { Utf8Text } from './utf8-text.ts';

/** Replacement of a secret. */
export const REDACTED = '[redacted]';

/** Shorter values are not redacted. */
const CHARS_MIN = 6;
/** Minimum bytes of a truncated secret in base64, where six characters are four bytes. */
const BASE64_BYTES_MIN = 4;
/**
 * Minimum length of a line that is searched for by itself, in values of several lines such as PEM
 * files.
 */
const LINE_CHARS_MIN = 16;
/** Maximum length of a host name; logs show host names in lower case. */
const HOST_CHARS_MAX = 253;
/**
 * Marks after a truncated text: an ellipsis, a number of characters, or the border of a table.
 */
const CUT = /…|'?\.\.\. \d+ more char| │/g;
/** Texts from this length on may have been truncated at their end. */
const LONG_TEXT_CHARS = 4_096;
/**
 * Maximum values and lines of values searched for; the longest are kept. Attack:
 * `oauth_credentials` of ten thousand words.
 */
const PIECES_MAX = 256;
/** Maximum characters searched for of one value. No secret and no configuration is longer. */
const PIECE_CHARS_MAX = 64 * 1024;

/**
 * Form of Annex's own tokens, also in base64, where "annex_" has one of three beginnings.
 */
const TOKENS =
  /annex_(?:admin|platform|organization|run|install)_[A-Za-z0-9_.-]{20,}|(?:YW5uZXhf|FubmV4X|hbm5leF)[A-Za-z0-9+/_-]{27,}/g;
/** A text without any of these contains no token, which is the quick check for most lines. */
const TOKEN_HEADS = ['annex_', 'YW5uZXhf', 'FubmV4X', 'hbm5leF'];

/**
 * Finds the secrets of one target. Its cost is bounded by the length of the text, whatever the
 * secrets are.
 */
export class Redactor {
  /** Approximate memory, in bytes. */
  readonly bytes: number;
  readonly #search: SecretSearch | undefined;

  constructor(secrets: Iterable<string>) {
    const shapes = shapesOf(piecesOf(secrets));
    if (shapes.length > 0) this.#search = new SecretSearch(shapes);
    this.bytes = 1_024 + (this.#search?.size ?? 0);
  }

  /** The text with `[redacted]` for every secret and every token. */
  redact(text: string): string {
    const spans = this.#secretsIn(text);
    const tokens = tokensIn(text);
    if (spans.length === 0 && tokens.length === 0) return text;
    return without(text, inOrder([...spans, ...tokens]));
  }

  /** Spans of all views, in the order of the text. */
  #secretsIn(text: string): Spans {
    const search = this.#search;
    if (search === undefined || text.length < CHARS_MIN) return [];
    const encoded = new Utf8Text(text);
    const cuts = cutsIn(text).map((at) => encoded.byteAt(at));
    const found: Spans[] = [];
    const look = (view: View, cutMin: number): void => {
      const spans: Spans = [];
      search.search(view, cuts, cutMin, spans);
      if (spans.length > 0) found.push(spans);
    };
    look(encoded, CHARS_MIN);
    for (const view of viewsOf(encoded)) look(view, view.isBase64 ? BASE64_BYTES_MIN : CHARS_MIN);
    return found.length === 0 ? [] : encoded.charactersOf(inOrder(found.flat()));
  }
}

/** Offsets where the text may have been truncated, in order. */
function cutsIn(text: string): number[] {
  const cuts: number[] = [];
  CUT.lastIndex = 0;
  for (let match = CUT.exec(text); match !== null; match = CUT.exec(text)) cuts.push(match.index);
  if (text.length >= LONG_TEXT_CHARS) cuts.push(text.length);
  return cuts;
}

/**
 * The text with `[redacted]` for every token of Annex's own. For texts whose target is not known.
 */
export const withoutTokens = (text: string): string => {
  const tokens = tokensIn(text);
  return tokens.length === 0 ? text : without(text, tokens);
};

/**
 * All secrets of an environment that no log may show, except tokens, which are recognised by form.
 */
export function secretsOf(environment: Omit<Environment, 'apiTokens'>): string[] {
  const { secrets, signingSecrets, installation, spaceInstallation, siteInstallation } = environment;
  const configurations = [environment, installation, spaceInstallation, siteInstallation].map(
    (target) => target?.configuration ?? {},
  );
  const credentials = configurations.flatMap((configuration) => textsIn(configuration['oauth_credentials']));
  return [...Object.values(secrets), ...Object.values(signingSecrets), ...credentials];
}

/**
 * All strings in a JSON value. Iterative, because the response of an OAuth server may be nested
 * arbitrarily deep.
 */
function textsIn(value: unknown): string[] {
  const texts: string[] = [];
  const waiting = [value];
  while (waiting.length > 0) {
    const next = waiting.pop();
    if (typeof next === 'string') texts.push(next);
    else if (typeof next === 'object' && next !== null)
      for (const inner of Object.values(next)) waiting.push(inner);
  }
  // The token type is not a secret, and is a common word in logs.
  return texts.filter((text) => !/^bearer$/i.test(text));
}

/** The values, and the lines of multi-line values, without duplicates. */
function piecesOf(secrets: Iterable<string>): string[] {
  const pieces = new Set<string>();
  for (const secret of secrets) {
    const value = secret.slice(0, PIECE_CHARS_MAX).toWellFormed();
    if (value.length < CHARS_MIN) continue;
    pieces.add(value);
    if (!value.includes('\n')) continue;
    for (const line of value.split('\n').map((text) => text.trim())) {
      // The first and the last line of a PEM file are the same in all of them.
      if (line.length >= LINE_CHARS_MIN && !line.startsWith('-----')) pieces.add(line);
    }
  }
  return [...pieces].sort((a, b) => b.length - a.length).slice(0, PIECES_MAX);
}

/**
 * The byte sequences that are searched for in every view, in UTF-8: each value, and the variants
 * that decoding the text does not cover.
 */
function shapesOf(pieces: readonly string[]): Uint8Array[] {
  const shapes = new Set<string>();
  for (const piece of pieces) {
    shapes.add(piece);
    // Host names are logged in lower case.
    if (piece.length <= HOST_CHARS_MAX) shapes.add(piece.toLowerCase());
    // A value that looks percent-encoded and is put into a URL verbatim: the view of the URL has it
    // decoded.
    if (ENCODED.test(piece)) shapes.add(percentDecoded(piece));
  }
  return [...shapes].filter(({ length }) => length >= CHARS_MIN).map((shape) => Buffer.from(shape, 'utf8'));
}

const ENCODED = /%[0-9A-Fa-f]{2}/;
const percentDecoded = (text: string): string =>
  Buffer.from(
    text.replace(/%[0-9A-Fa-f]{2}|[^\0-\x7f]+/g, (found) =>
      found.startsWith('%')
        ? String.fromCharCode(Number.parseInt(found.slice(1), 16))
        : Buffer.from(found, 'utf8').toString('latin1'),
    ),
    'latin1',
  ).toString('utf8');

function tokensIn(text: string): Spans {
  if (!TOKEN_HEADS.some((head) => text.includes(head))) return [];
  return [...text.matchAll(TOKENS)].flatMap(({ index, 0: token }) => [index, index + token.length]);
}

/** Sorts and joins the spans of several searches. */
function inOrder(spans: Spans): Spans {
  const pairs: [from: number, to: number][] = [];
  for (let at = 0; at < spans.length; at += 2) pairs.push([spans[at] ?? 0, spans[at + 1] ?? 0]);
  const joined: Spans = [];
  for (const [from, to] of pairs.sort((a, b) => a[0] - b[0] || a[1] - b[1])) addSpan(joined, from, to);
  return joined;
}

/** The text with each span replaced by `[redacted]`. */
function without(text: string, spans: Spans): string {
  let redacted = '';
  let at = 0;
  for (let index = 0; index < spans.length; index += 2) {
    redacted += text.slice(at, spans[index]) + REDACTED;
    at = spans[index + 1] ?? 0;
  }
  return redacted + text.slice(at);
}
