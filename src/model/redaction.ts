/**
 * Takes what must stay secret out of a text that somebody may read: a log line, an explanation (REFERENCE D11).
 *
 * A value is looked for as it is and in the shapes that code puts it into without thinking: escaped as in JSON, encoded as
 * in a URL, in base64 wherever in a longer text it begins. Annex's own tokens are known by their look. This is against
 * accidents. An author who wants a secret in a log can spell it backwards, and no search would find it.
 *
 * Values under six characters are not looked for: every log has them by chance, and the gaps would tell what they are.
 */
import type { Environment } from './environment.ts';

/** What stands in place of a secret. */
export const REDACTED = '[redacted]';

/** Shorter values are no secrets that a log could keep. */
const CHARS_MIN = 6;
/** Lines of a value of several, such as a PEM file, are looked for alone from this length on. */
const LINE_CHARS_MIN = 16;
/**
 * So much of a value is looked for. What agrees with it is compared on, for as long as it agrees: a value that was cut off
 * is a secret still, and the search costs the same whatever the length.
 */
const HEAD_CHARS = 48;
/** What a head weighs, mostly as code that searches for it. The attack: a thousand targets with hundreds of short secrets each. */
const HEAD_BYTES = 1_024;
/** What stands behind a text that was cut off: an ellipsis, a number of characters, or the border of a table. */
const CUT = /…|'?\.\.\. \d+ more char| │/g;
/** The end of a shorter text is its own. */
const LONG_TEXT_CHARS = 4_096;
/** Places where a text may have been cut off, looked at. */
const CUTS_MAX = 512;
/** Values, and lines of values, that are looked for; the longest. Attack: `oauth_credentials` of ten thousand words. */
const PIECES_MAX = 256;

/** The look of Annex's own tokens, and of those in base64, which "annex_" makes begin in one of three ways. */
const TOKENS =
  /annex_(?:admin|platform|organization|run|install)_[A-Za-z0-9_.-]{20,}|(?:YW5uZXhf|FubmV4X|hbm5leF)[A-Za-z0-9+/_-]{27,}/g;
/** Without one of these there is no token: most lines are done with them. */
const TOKEN_HEADS = ['annex_', 'YW5uZXhf', 'FubmV4X', 'hbm5leF'];

/** From, and up to but not including. */
type Span = readonly [from: number, to: number];

/** Finds the secrets of one target. Its cost is bounded by the length of the text, whatever the secrets are. */
export class Redactor {
  /** What it weighs in memory, roughly. */
  readonly bytes: number;
  /** Shapes by how they begin. */
  readonly #shapes = new Map<string, string[]>();
  readonly #heads: RegExp | undefined;
  /** Heads in the order of texts, and their first characters, for those that were cut off. */
  readonly #sorted: readonly string[];
  readonly #beginnings: ReadonlySet<string>;

  constructor(secrets: Iterable<string>) {
    let chars = 0;
    for (const shape of shapesOf(piecesOf(secrets))) {
      const head = shape.slice(0, HEAD_CHARS);
      const begun = this.#shapes.get(head);
      if (begun === undefined) this.#shapes.set(head, [shape]);
      else begun.push(shape);
      chars += shape.length;
    }
    this.bytes = 1_024 + HEAD_BYTES * this.#shapes.size + 2 * chars;
    this.#sorted = [...this.#shapes.keys()].sort();
    this.#beginnings = new Set(this.#sorted.map((head) => head.slice(0, CHARS_MIN)));
    // Backwards, the longer of two that begin alike comes first: the one that is found is the one that hides more.
    const heads = this.#sorted.toReversed().map(RegExp.escape);
    if (heads.length > 0) this.#heads = new RegExp(heads.join('|'), 'g');
  }

  /** The text with `[redacted]` for every secret and every token. */
  redact(text: string): string {
    const secrets = this.#secretsIn(text);
    const tokens = tokensIn(text);
    if (secrets.length === 0 && tokens.length === 0) return text;
    return without(text, [...secrets, ...tokens]);
  }

  #secretsIn(text: string): Span[] {
    const heads = this.#heads;
    const spans: Span[] = [];
    if (heads === undefined) return spans;
    heads.lastIndex = 0;
    for (let match = heads.exec(text); match !== null; match = heads.exec(text)) {
      const from = match.index;
      const [head] = match;
      let to = from + head.length;
      for (const shape of this.#shapes.get(head) ?? []) to = Math.max(to, agreesUpTo(text, from, shape));
      spans.push([from, to]);
      // Not from the end: another secret may begin inside of this one and reach beyond it. And not from the next character,
      // or a secret of five thousand times the same letter would be compared at each one of them.
      heads.lastIndex = Math.max(from + 1, to - HEAD_CHARS);
    }
    for (const { index } of text.matchAll(CUT).take(CUTS_MAX)) spans.push(...this.#cutOffAt(text, index));
    if (text.length >= LONG_TEXT_CHARS) spans.push(...this.#cutOffAt(text, text.length));
    return spans;
  }

  /** What of a secret stands before a place where the text was cut off. */
  #cutOffAt(text: string, end: number): Span[] {
    for (let from = Math.max(0, end - HEAD_CHARS); from <= end - CHARS_MIN; from += 1) {
      if (!this.#beginnings.has(text.slice(from, from + CHARS_MIN))) continue;
      const left = text.slice(from, end);
      if (this.#firstFrom(left)?.startsWith(left)) return [[from, end]];
    }
    return [];
  }

  /**
   * The first head that does not come before this text. By halves: thousands of heads that begin alike, compared one by one
   * wherever a line of a log may have been cut off, would hold everybody up for a second.
   */
  #firstFrom(text: string): string | undefined {
    let low = 0;
    let high = this.#sorted.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#sorted[middle] ?? '') < text) low = middle + 1;
      else high = middle;
    }
    return this.#sorted[low];
  }
}

/** The text with `[redacted]` for every token of Annex's own, where it is not known whose text it is. */
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

/** All texts in a value of JSON. Not by recursion: what an extension of OAuth answers may be nested as deep as it likes. */
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
    const value = secret.toWellFormed();
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

function shapesOf(pieces: readonly string[]): Set<string> {
  const shapes = new Set<string>();
  for (const piece of pieces) {
    const json = escaped(piece);
    const encoded = encodeURIComponent(piece);
    const form = new URLSearchParams({ '': piece }).toString().slice(1);
    const quoted = json.replaceAll('\\"', '"');
    // A name of a host is told in small letters.
    const plain = [piece, piece.toLowerCase(), json, escaped(json), quoted, quoted.replaceAll("'", "\\'")];
    const inUrls = [encoded, form, inQuery(piece)];
    const inLowerCase = inUrls.map((text) => text.replace(/%[0-9A-F]{2}/g, (byte) => byte.toLowerCase()));
    for (const shape of [...plain, ...inUrls, ...inLowerCase, ...inBase64(piece)])
      if (shape.length >= CHARS_MIN) shapes.add(shape);
  }
  return shapes;
}

const escaped = (text: string): string => JSON.stringify(text).slice(1, -1);

/** As it stands in a URL that it was put into as it is: some characters are encoded there, others are not. */
function inQuery(text: string): string {
  const url = new URL('http://host');
  url.search = `?${text}`;
  return url.search.slice(1).replaceAll('%23', '#');
}

/**
 * In base64, of both alphabets, behind 0, 1 and 2 other bytes: further ones shift by whole groups. Characters that share
 * bits with a neighbour are left out, since they depend on it.
 */
function inBase64(text: string): string[] {
  const bytes = Buffer.from(text, 'utf8');
  return [0, 1, 2].flatMap((before) => {
    const shifted = Buffer.concat([Buffer.alloc(before), bytes]);
    const from = Math.ceil((before * 8) / 6);
    const to = Math.floor((shifted.length * 8) / 6);
    return [shifted.toString('base64').slice(from, to), shifted.toString('base64url').slice(from, to)];
  });
}

/** Where the text stops being the same as the shape, or the shape ends. */
function agreesUpTo(text: string, from: number, shape: string): number {
  let length = Math.min(HEAD_CHARS, shape.length);
  while (length < shape.length && text.charCodeAt(from + length) === shape.charCodeAt(length)) length += 1;
  return from + length;
}

function tokensIn(text: string): Span[] {
  if (!TOKEN_HEADS.some((head) => text.includes(head))) return [];
  return [...text.matchAll(TOKENS)].map((match) => [match.index, match.index + match[0].length]);
}

/** The text without these, one `[redacted]` for those that touch. */
function without(text: string, spans: Span[]): string {
  let told = '';
  let at = 0;
  let hidden = false;
  for (const [from, to] of spans.sort((a, b) => a[0] - b[0])) {
    if (to <= at) continue;
    if (!hidden || from > at) told += text.slice(at, from) + REDACTED;
    hidden = true;
    at = to;
  }
  return told + text.slice(at);
}
