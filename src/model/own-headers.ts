/**
 * Headers of its owner's own that the requests of a webhook carry
 * (docs/contract/webhooks.md#own-headers): how many there may be, and which. Pure.
 */
import { isHostOwned } from './hop-by-hop.ts';
import { HEADER_PREFIX, headerNames, STANDARD_HEADERS } from './signature.ts';

export const OWN_HEADERS_MAX = 10;
export const HEADER_NAME_CHARS_MAX = 64;
export const HEADER_VALUE_CHARS_MAX = 4_096;
/** Of all names and values together: many receivers take no longer heads. */
const HEADERS_CHARS_MAX = 8_192;

/** Of ASCII alone: other letters may turn into these where a receiver changes the case. */
export const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/**
 * Visible ASCII, with spaces inside. Attack: a line break, also a folded one, begins another header
 * or another request; a NUL ends the value for some receivers, and other bytes are read in other
 * ways.
 */
export const HEADER_VALUE = /^[!-~](?:[ -~]*[!-~])?$/;
/** RFC 7617, section 2: a colon would end it. */
export const BASIC_USER = '^[^:\\u0000-\\u001f\\u007f\\ud800-\\udfff]*$';
/** RFC 6750, section 2.1. */
export const BEARER = /^[A-Za-z0-9._~+/-]+=*$/;

export interface OwnHeader {
  readonly name: string;
  readonly value: string;
}

/** The headers of a webhook, and the URL that it had when they were set. */
export interface OwnHeaders {
  readonly headers: readonly OwnHeader[];
  /** They are sent within the origin of this URL alone. */
  readonly url: string;
}

/** The same, as requests carry them: by name in lower case. */
export interface SentHeaders extends Pick<OwnHeaders, 'url'> {
  readonly headers: Readonly<Record<string, string>>;
}

/** Set by Annex for each request, beside those of its signatures. */
const OF_ANNEX: readonly string[] = [
  ...(['content-type', 'content-encoding', 'user-agent'] as const),
  ...STANDARD_HEADERS,
  ...Object.values(headerNames(HEADER_PREFIX)),
];

/**
 * @param headers each valid by `HEADER_NAME` and `HEADER_VALUE`
 * @param prefix of the names of Annex's own headers
 * @returns why they cannot be sent together; undefined if they can
 */
export function ownHeadersFault(headers: readonly OwnHeader[], prefix: string): string | undefined {
  const taken = new Set([...OF_ANNEX, ...Object.values(headerNames(prefix))]);
  const given = new Set<string>();
  let chars = 0;
  for (const { name, value } of headers) {
    const lower = name.toLowerCase();
    if (isHostOwned(lower) || taken.has(lower)) return `The header ${name} is set by the service alone.`;
    if (given.has(lower)) return `The header ${name} is given twice.`;
    given.add(lower);
    chars += name.length + value.length;
  }
  if (headers.length > OWN_HEADERS_MAX) return `There are more than ${OWN_HEADERS_MAX} headers.`;
  if (chars > HEADERS_CHARS_MAX)
    return `Names and values have more than ${HEADERS_CHARS_MAX.toLocaleString('en-US')} characters together.`;
  return undefined;
}

/** Value of `Authorization` for HTTP Basic authentication (RFC 7617). */
export const basicAuthorization = (username: string, password: string): string =>
  `Basic ${Buffer.from(`${username}:${password}`, 'utf8').toString('base64')}`;

/** Texts by which the answer of a receiver may repeat the values. */
export function secretsOfHeaders(headers: readonly OwnHeader[]): string[] {
  return headers.flatMap(({ name, value }) => {
    const isAuthorization = name.toLowerCase() === 'authorization';
    const credentials = isAuthorization ? value.slice(value.indexOf(' ') + 1) : value;
    const [, password = ''] = /^Basic /i.test(value)
      ? (/^[^:]*:(.*)$/s.exec(Buffer.from(credentials, 'base64').toString('utf8')) ?? [])
      : [];
    return [value, credentials, password].filter((text) => text !== '');
  });
}
