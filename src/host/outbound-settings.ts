/**
 * Settings of requests that leave the service, apart from where they may go (`egress/policy.ts`).
 *
 * A mistake becomes one sentence with the name of the setting, like those of `config.ts`.
 */
import { type EgressProxy, egressProxyOf } from './egress/proxy.ts';

/** Words with hyphens, so that names of it are names of headers. */
const HEADER_PREFIX_FORM = /^[A-Za-z][A-Za-z0-9]*(?:-[A-Za-z0-9]+)*$/;
const HEADER_PREFIX_CHARS_MAX = 32;
/** `webhook-signature` is a name of another scheme, and the others have a meaning in HTTP. */
const HEADER_PREFIXES_TAKEN = /^(?:webhook|content|proxy|sec|access|if|x-forwarded)(?:-|$)/i;

/** The beginning of the names of a webhook's headers. */
export function readHeaderPrefix(text: (flag: string) => string, problems: string[]): string {
  const prefix = text('webhook-header-prefix');
  const isValid =
    prefix.length <= HEADER_PREFIX_CHARS_MAX &&
    HEADER_PREFIX_FORM.test(prefix) &&
    !HEADER_PREFIXES_TAKEN.test(prefix);
  if (!isValid)
    problems.push(
      `--webhook-header-prefix must be letters, digits and hyphens as X-Acme, at most ${HEADER_PREFIX_CHARS_MAX}, and none of HTTP or of another scheme, as Content or Webhook; it is "${prefix}".`,
    );
  return prefix;
}

/** The proxy of egress. No problem has a part of the URL, because it may hold a password. */
export function readEgressProxy(
  flags: readonly string[],
  text: (flag: string) => string,
  problems: string[],
): { readonly egressProxy?: EgressProxy } {
  const url = text('egress-proxy').trim();
  if (url === '') return {};
  const egressProxy = egressProxyOf(url);
  if (egressProxy === undefined)
    problems.push('--egress-proxy must be a URL as http://proxy.internal:3128, without a path.');
  if (egressProxy?.authorization !== undefined && flags.some((word) => word.startsWith('--egress-proxy')))
    problems.push(
      '--egress-proxy must have no user name and no password, because `ps` shows flags: set ANNEX_EGRESS_PROXY.',
    );
  return { ...(egressProxy && { egressProxy }) };
}
