/**
 * Which headers and paths pass between a client and the product's API.
 *
 * Headers of the connection are removed by the egress; here are those that would say something in
 * the host's name, or mean something for the whole origin of the control listener.
 */
import type { HeaderPairs } from '../../../egress/request-head.ts';
import { WITHHELD } from '../../withheld-headers.ts';

/** The header that carries the statement. */
export const CALLER_HEADER = 'x-platform-caller';

/**
 * Not sent to the product. Attack: a forged statement, a second token, or a forged address of the
 * client. Attack: a method that overrides the one that the mapping of scopes has decided by.
 * Cookies are for browsers, and this service sets none.
 */
const NOT_SENT: ReadonlySet<string> = new Set([
  ...[CALLER_HEADER, 'authorization', 'cookie', 'forwarded', 'via', 'x-real-ip'],
  ...['x-http-method', 'x-http-method-override', 'x-method-override'],
]);

/**
 * Not passed back, besides the headers that speak for more than their answer
 * (`http/withheld-headers.ts`). `annex-version` is that of Annex. Attack: pages of other origins
 * read answers of the control listener, or a cookie or a rule is set for the whole origin, on which
 * the API is.
 */
const NOT_ANSWERED: ReadonlySet<string> = new Set([
  ...['set-cookie', 'content-security-policy', 'content-security-policy-report-only'],
  ...['x-content-type-options', 'annex-version'],
]);

/** @param raw names and values in turn, as the client sent them */
export function sentHeaders(
  raw: readonly string[],
  { token, statement }: { readonly token: string; readonly statement: string },
): HeaderPairs {
  const pairs: [string, string][] = [];
  for (let at = 0; at + 1 < raw.length; at += 2) pairs.push([raw[at] ?? '', raw[at + 1] ?? '']);
  const named = new Set(
    pairs
      .filter(([name]) => name.toLowerCase() === 'connection')
      .flatMap(([, value]) => value.toLowerCase().split(','))
      .map((name) => name.trim()),
  );
  const passed = pairs.filter(([name]) => !named.has(name.toLowerCase()) && isSent(name));
  return [...passed, ['authorization', `Bearer ${token}`], [CALLER_HEADER, statement]];
}

function isSent(name: string): boolean {
  // Attack: `X_Platform_Caller`. Many frameworks read an underscore like a hyphen.
  const lower = name.toLowerCase().replaceAll('_', '-');
  return !NOT_SENT.has(lower) && !lower.startsWith('x-forwarded-');
}

/** Headers of the product's answer that are passed back, by name. */
export function answeredHeaders(headers: HeaderPairs): Record<string, string | string[]> {
  const passed: Record<string, string | string[]> = {};
  for (const [name, value] of headers) {
    if (NOT_ANSWERED.has(name) || name.startsWith('access-control-')) continue;
    if (WITHHELD['a shared origin'].why(name) !== undefined) continue;
    const before = Object.hasOwn(passed, name) ? [passed[name] ?? []].flat() : [];
    Object.defineProperty(passed, name, {
      value: before.length === 0 ? value : [...before, value],
      ...{ enumerable: true, configurable: true, writable: true },
    });
  }
  return passed;
}

/**
 * Whether a path stays where it was sent, however it is read. Attack: `/v1/../internal`, which the
 * product's server would resolve to a path that is not below its API.
 */
export function isForwardable(path: string): boolean {
  try {
    const decoded = decodeURIComponent(path);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are refused
    if (/[\0-\x1f\x7f]/.test(decoded)) return false;
    return !decoded.split(/[/\\]/).some((segment) => segment === '.' || segment === '..');
  } catch {
    return false;
  }
}
