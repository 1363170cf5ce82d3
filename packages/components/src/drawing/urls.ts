/**
 * The URLs that a drawing may lead to. The service checks them in drawings; a value of client state
 * was never checked, so each URL is checked again where it is used.
 */
import { type AskedPage, choicePageUrl } from '../../../../src/model/contentkit/choice-page.ts';
import { isObject, member, textMember } from './json.ts';

/**
 * Attack: `javascript:`, `data:` or `blob:` behind blanks and control characters, which browsers
 * ignore. Nothing may precede the scheme, and none of these may be in the URL.
 */
const IGNORED = /[\s\p{Cc}]/u;
const URL_CHARS_MAX = 8_192;

function checked(value: unknown, schemes: ReadonlySet<string>): string | undefined {
  if (typeof value !== 'string' || value.length > URL_CHARS_MAX || IGNORED.test(value)) return undefined;
  const url = URL.parse(value);
  return url !== null && schemes.has(url.protocol) ? url.href : undefined;
}

const WEB: ReadonlySet<string> = new Set(['http:', 'https:']);
const LINK: ReadonlySet<string> = new Set([...WEB, 'mailto:']);

/** The URL in its normal form if it is `http` or `https`. */
export const webUrl = (value: unknown): string | undefined => checked(value, WEB);

/** The same, or `mailto:`. */
export const linkUrl = (value: unknown): string | undefined => checked(value, LINK);

const HOST = /^[^\s\p{Cc}/?#@\\]+$/u;

/** A web URL, also of its parts. Bindings in it are resolved before. */
export function addressUrl(value: unknown): string | undefined {
  if (!isObject(value)) return webUrl(value);
  const host = textMember(value, 'host') ?? '';
  const pathname = textMember(value, 'pathname') ?? '/';
  if (!HOST.test(host) || !pathname.startsWith('/')) return undefined;
  const url = URL.parse(`https://${host}`);
  if (url === null) return undefined;
  url.pathname = pathname;
  const query = member(value, 'query');
  for (const [name, text] of Object.entries(isObject(query) ? query : {}))
    if (typeof text === 'string' || typeof text === 'number' || typeof text === 'boolean')
      url.searchParams.set(name, String(text));
  return webUrl(url.href);
}

/**
 * The URL of a page of choices. @param address `options.url`, with its bindings resolved
 * @returns undefined if it is no web URL
 */
export function choicesUrl(address: unknown, page: AskedPage): string | undefined {
  const base = addressUrl(address);
  return base === undefined ? undefined : choicePageUrl(base, page);
}
