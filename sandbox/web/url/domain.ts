/**
 * Stands in for tr46 in the bundle: domain names to ASCII (https://url.spec.whatwg.org/#concept-domain-to-ascii).
 *
 * The Unicode tables are 215 KB, which every isolate would pay for, and hardly a domain needs them. ASCII names are
 * done here; the others are asked of the host, which has ICU.
 */
import { regExpExec, toLowerCase } from '../primordials.ts';

const NEEDS_TABLES = /[\u0080-\uffff]|(?:^|\.)xn--/i;
/**
 * Forbidden domain code points that survive the mapping, and to which the host's parser would give a meaning. `<` and `>`
 * may become part of a permitted character (NFC joins `<` and U+0338); the parser refuses what is left of them.
 */
const FORBIDDEN = /[^!-~\u0080-\uffff]|[#%/:?@[\\\]^|]/;
/** RFC 1035 allows 255 octets. The look-up takes time in the square of the length, on a thread that everybody needs. */
const DOMAIN_CHARS_MAX = 255;

let askHost: ((domain: string) => string | undefined) | undefined;

/**
 * Hands in the host's `domainToASCII`: takes a domain, answers its ASCII form, an empty string where it has none, or
 * undefined where too many have been asked for.
 * Called synchronously, for domains that are not ASCII or hold an `xn--` label.
 */
export function setDomainToAscii(domainToAscii: (domain: string) => string | undefined): void {
  askHost = domainToAscii;
}

/**
 * tr46's `toASCII` as whatwg-url calls it; null is failure.
 *
 * @throws RangeError where too many names have been looked up: a URL that cannot be told is not the same as one that is wrong
 */
export function toASCII(domain: string): string | null {
  if (regExpExec(NEEDS_TABLES, domain) === null) return toLowerCase(domain);
  if (domain.length > DOMAIN_CHARS_MAX || regExpExec(FORBIDDEN, domain) !== null || askHost === undefined)
    return null;
  const ascii = askHost(domain);
  if (ascii === undefined) {
    throw new RangeError(
      'Too many domain names beyond ASCII were looked up in a row; wait for a timer or a fetch between them.',
    );
  }
  return ascii || null;
}
