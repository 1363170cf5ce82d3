/**
 * Settings of requests that leave the service, apart from where they may go (`egress/policy.ts`).
 *
 * A mistake becomes one sentence with the name of the setting, like those of `config.ts`.
 */

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
