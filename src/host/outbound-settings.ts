/**
 * Settings of requests that leave the service, apart from where they may go (`egress/policy.ts`).
 *
 * A mistake becomes one sentence with the name of the setting, like those of `config.ts`.
 */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { NoticeReceiver } from './delivery/notice-delivery.ts';
import type { ClientCertificate } from './egress/connector.ts';
import { type EgressProxy, egressProxyOf } from './egress/proxy.ts';
import { OWN_SECRET, OWN_SECRET_CHARS_MAX, OWN_SECRET_CHARS_MIN } from './store/webhooks/webhook-secrets.ts';

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

/** The certificate of webhooks, from its two files. No problem has text of the key. */
export function readWebhookCertificate(
  text: (flag: string) => string,
  problems: string[],
): { readonly webhookCertificate?: ClientCertificate } {
  const [certFile, keyFile] = [text('webhook-certificate'), text('webhook-certificate-key')];
  if (certFile === '' && keyFile === '') return {};
  if (certFile === '' || keyFile === '') {
    problems.push('--webhook-certificate and --webhook-certificate-key need each other.');
    return {};
  }
  try {
    const [cert, key] = [readFileSync(certFile, 'utf8'), readFileSync(keyFile, 'utf8')];
    if (!new X509Certificate(cert).checkPrivateKey(createPrivateKey(key)))
      problems.push('--webhook-certificate-key is not the key of --webhook-certificate.');
    return { webhookCertificate: { cert, key } };
  } catch (cause) {
    const { code = 'ERR' } = cause as NodeJS.ErrnoException;
    const why = code.startsWith('ERR') ? 'one of the files is no PEM that can be read' : code;
    problems.push(`--webhook-certificate and --webhook-certificate-key cannot be read: ${why}.`);
    return {};
  }
}

/** Secrets that sign at once: the one that is being replaced, and the next. */
const NOTIFY_SECRETS_MAX = 2;

/** The receiver of notices, and the secrets that sign them. No sentence has a secret in it. */
export function readNoticeReceiver(
  text: (flag: string) => string,
  problems: string[],
): { readonly noticeReceiver?: NoticeReceiver } {
  const url = text('notify-url');
  const secrets = text('notify-secret')
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '');
  const isSound = (secret: string) =>
    secret.length >= OWN_SECRET_CHARS_MIN && secret.length <= OWN_SECRET_CHARS_MAX && OWN_SECRET.test(secret);
  if (secrets.length > NOTIFY_SECRETS_MAX || !secrets.every(isSound))
    problems.push(
      `ANNEX_NOTIFY_SECRET must be one secret, or two separated by a comma, each of ${OWN_SECRET_CHARS_MIN} to ${OWN_SECRET_CHARS_MAX} printable ASCII characters without spaces.`,
    );
  if (url === '' && secrets.length === 0) return {};
  if (url === '') problems.push('ANNEX_NOTIFY_SECRET needs --notify-url.');
  else if (secrets.length === 0)
    problems.push('--notify-url needs ANNEX_NOTIFY_SECRET, which signs notices.');
  const parsed = URL.parse(url);
  // The sentence has no part of the URL, whose query may hold a key.
  if (url !== '' && (!parsed || !/^https?:$/.test(parsed.protocol) || /[@#]/.test(url)))
    problems.push('--notify-url must be an http or https URL without user name, password and fragment.');
  return { noticeReceiver: { url, secrets } };
}
