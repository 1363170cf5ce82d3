/**
 * Stands in for tr46 in the bundle: domain names to ASCII
 * (https://url.spec.whatwg.org/#concept-domain-to-ascii).
 *
 * The Unicode tables of 215 KB would be in every isolate, and few domains need them. ASCII names
 * are handled here; for others the cell is asked, which has ICU (docs/decisions/domain-names.md).
 */
import { regExpExec, toLowerCase } from '../primordials.ts';

const NEEDS_TABLES = /[\u0080-\uffff]|(?:^|\.)xn--/i;
/**
 * Forbidden domain code points that survive the mapping, and that the cell's parser would
 * interpret. `<` and `>` may become part of a permitted character (NFC joins `<` and U+0338); the
 * parser refuses the others.
 */
const FORBIDDEN = /[^!-~\u0080-\uffff]|[#%/:?@[\\\]^|]/;
/**
 * RFC 1035 allows 255 octets. Attack: long names; the look-up is quadratic, on the cell's main
 * thread.
 */
const DOMAIN_CHARS_MAX = 255;

let askHost: ((domain: string) => string | undefined) | undefined;

/**
 * Sets the cell's `domainToASCII`: returns the ASCII form of a domain, an empty string if it is
 * invalid, or undefined if the entry has used up its questions. Called synchronously, for domains
 * that are not ASCII or hold an `xn--` label.
 */
export function setDomainToAscii(domainToAscii: (domain: string) => string | undefined): void {
  askHost = domainToAscii;
}

/**
 * tr46's `toASCII` as whatwg-url calls it; null is failure.
 *
 * @throws RangeError if the entry has used up its questions: that does not mean that the URL is
 *   invalid
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
