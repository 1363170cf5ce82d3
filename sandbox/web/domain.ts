/**
 * Stands in for tr46 in the bundle: domain names to ASCII (https://url.spec.whatwg.org/#concept-domain-to-ascii).
 *
 * The Unicode tables are 215 KB, which every isolate would pay for, and hardly a domain needs them. ASCII names are
 * done here; the others are asked of the host, which has ICU.
 */
import { regExpExec, toLowerCase } from './primordials.ts';

const NEEDS_TABLES = /[\u0080-\uffff]|(?:^|\.)xn--/i;
/**
 * Forbidden domain code points that survive the mapping, and to which the host's parser would give a meaning. `<` and `>`
 * may become part of a permitted character (NFC joins `<` and U+0338); the parser refuses what is left of them.
 */
const FORBIDDEN = /[^!-~\u0080-\uffff]|[#%/:?@[\\\]^|]/;
/** RFC 1035 allows 253 characters of ASCII; nothing far longer needs to cross to the host. */
const DOMAIN_CHARS_MAX = 1_024;

let askHost: ((domain: string) => string) | undefined;

/**
 * Hands in the host's `domainToASCII`: takes a domain, answers its ASCII form, or an empty string where it has none.
 * Called synchronously, for domains that are not ASCII or hold an `xn--` label.
 */
export function setDomainToAscii(domainToAscii: (domain: string) => string): void {
  askHost = domainToAscii;
}

/** tr46's `toASCII` as whatwg-url calls it; null is failure. */
export function toASCII(domain: string): string | null {
  if (regExpExec(NEEDS_TABLES, domain) === null) return toLowerCase(domain);
  if (regExpExec(FORBIDDEN, domain) !== null || domain.length > DOMAIN_CHARS_MAX || askHost === undefined)
    return null;
  return askHost(domain) || null;
}
