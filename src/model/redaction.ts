/**
 * Takes what must stay secret out of a text that somebody may read: a log line, an explanation
 * (`docs/contract/calls.md#logs`).
 *
 * A value is looked for as it is and in the shapes that code puts it into without thinking: escaped
 * as in JSON, encoded as in a URL, in base64 wherever in a longer text it begins. Annex's own
 * tokens are known by their look. This is against accidents. An author who wants a secret in a log
 * can spell it backwards, and no search would find it.
 *
 * The text is read in each of these ways (`text-views.ts`) and searched for all values at once
 * (`secret-search.ts`), so the cost is linear in the text, whatever the secrets are, and what is
 * kept for them is about as large as they are.
 *
 * Values under six characters are not looked for: every log has them by chance, and the gaps would
 * tell what they are.
 */
import type { Environment } from './environment.ts';
import { addSpan, SecretSearch, type Spans, type View } from './secret-search.ts';
import { viewsOf } from './text-views.ts';
import { Utf8Text } from './utf8-text.ts';

/** What stands in place of a secret. */
export const REDACTED = '[redacted]';

/** Shorter values are no secrets that a log could keep. */
const CHARS_MIN = 6;
/** So many bytes of a secret, where six characters in base64 say no more. */
const BASE64_BYTES_MIN = 4;
/** Lines of a value of several, such as a PEM file, are looked for alone from this length on. */
const LINE_CHARS_MIN = 16;
/** So long may the name of a host be, which is told in small letters. */
const HOST_CHARS_MAX = 253;
/**
 * What stands behind a text that was cut off: an ellipsis, a number of characters, or the border of
 * a table.
 */
const CUT = /…|'?\.\.\. \d+ more char| │/g;
/** The end of a shorter text is its own. */
const LONG_TEXT_CHARS = 4_096;
/**
 * Values, and lines of values, that are looked for; the longest. Attack: `oauth_credentials` of ten
 * thousand words.
 */
const PIECES_MAX = 256;
/** So much of one is looked for. No secret and no configuration is longer. */
const PIECE_CHARS_MAX = 64 * 1024;

/**
 * The look of Annex's own tokens, and of those in base64, which "annex_" makes begin in one of
 * three ways.
 */
const TOKENS =
  /annex_(?:admin|platform|organization|run|install)_[A-Za-z0-9_.-]{20,}|(?:YW5uZXhf|FubmV4X|hbm5leF)[A-Za-z0-9+/_-]{27,}/g;
/** Without one of these there is no token: most lines are done with them. */
const TOKEN_HEADS = ['annex_', 'YW5uZXhf', 'FubmV4X', 'hbm5leF'];

/**
 * Finds the secrets of one target. Its cost is bounded by the length of the text, whatever the
 * secrets are.
 */
export class Redactor {
  /** What it weighs in memory, roughly. */
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

  /** Of each view apart, and so in no order. */
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

/** Where the text may have been cut off, in order. */
function cutsIn(text: string): number[] {
  const cuts: number[] = [];
  CUT.lastIndex = 0;
  for (let match = CUT.exec(text); match !== null; match = CUT.exec(text)) cuts.push(match.index);
  if (text.length >= LONG_TEXT_CHARS) cuts.push(text.length);
  return cuts;
}

/**
 * The text with `[redacted]` for every token of Annex's own, where it is not known whose text it
 * is.
 */
export const withoutTokens = (text: string): string => {
  const tokens = tokensIn(text);
  return tokens.length === 0 ? text : without(text, tokens);
};

/** Everything in an environment that no log may show, tokens apart. */
export function secretsOf(environment: Omit<Environment, 'apiTokens'>): string[] {
  const { secrets, signingSecrets, installation, spaceInstallation, siteInstallation } = environment;
  const configurations = [environment, installation, spaceInstallation, siteInstallation].map(
    (target) => target?.configuration ?? {},
  );
  const credentials = configurations.flatMap((configuration) => textsIn(configuration['oauth_credentials']));
  return [...Object.values(secrets), ...Object.values(signingSecrets), ...credentials];
}

/**
 * All texts in a value of JSON. Not by recursion: what an extension of OAuth answers may be nested
 * as deep as it likes.
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
  // The type of a token is no secret, and a word of every other log line.
  return texts.filter((text) => !/^bearer$/i.test(text));
}

/** Values, and the lines of those that have several, each once. */
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
 * What is searched for in every view, in UTF-8. The views decode; here is what a view may hold of a
 * secret beside itself.
 */
function shapesOf(pieces: readonly string[]): Uint8Array[] {
  const shapes = new Set<string>();
  for (const piece of pieces) {
    shapes.add(piece);
    // A name of a host is told in small letters.
    if (piece.length <= HOST_CHARS_MAX) shapes.add(piece.toLowerCase());
    // One that looks encoded, put into a URL as it is: there it is decoded with the rest.
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

/** Spans of several searches as those of one. */
function inOrder(spans: Spans): Spans {
  const pairs: [from: number, to: number][] = [];
  for (let at = 0; at < spans.length; at += 2) pairs.push([spans[at] ?? 0, spans[at + 1] ?? 0]);
  const joined: Spans = [];
  for (const [from, to] of pairs.sort((a, b) => a[0] - b[0] || a[1] - b[1])) addSpan(joined, from, to);
  return joined;
}

/** The text without these, one `[redacted]` for those that touch. */
function without(text: string, spans: Spans): string {
  let told = '';
  let at = 0;
  for (let index = 0; index < spans.length; index += 2) {
    told += text.slice(at, spans[index]) + REDACTED;
    at = spans[index + 1] ?? 0;
  }
  return told + text.slice(at);
}
