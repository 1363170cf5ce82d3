/**
 * Base URLs in the settings: what each may look like, and how they must agree. Mistakes become one
 * sentence each, with the name of the setting.
 */
import { ENDPOINT_PLACEHOLDER, hasOwnOrigins } from '../model/endpoint-url.ts';

/** The text of a setting; empty if it is not set. */
type ReadSetting = (flag: string) => string;

/** An http or https URL, without a slash at its end. @returns undefined if it is not set */
export function readUrl(flag: string, text: ReadSetting, problems: string[]): string | undefined {
  const value = text(flag).replace(/(?<!\/)\/+$/, '');
  if (value === '') return undefined;
  if (!URL.canParse(value) || !/^https?:/.test(value) || /[?#]/.test(value)) {
    problems.push(`--${flag} must be an http or https URL without query and fragment; it is "${value}".`);
  }
  return value;
}

/** Like any base URL, but the first label of its host may be `{endpoint}`. */
export function readPublicUrl(flag: string, text: ReadSetting, problems: string[]): string | undefined {
  const value = text(flag).replace(/(?<!\/)\/+$/, '');
  if (value === '') return undefined;
  const plain = value.replace(/^(https?:\/\/)\{endpoint\}\./i, '$1endpoint.');
  // The listener compares the path of an own origin with paths as they are sent.
  const isExact = plain === value || OWN_ORIGIN_URL.test(plain);
  if (!URL.canParse(plain) || !/^https?:/.test(plain) || /[?#{}@]/.test(plain) || !isExact) {
    problems.push(
      `--${flag} must be an http or https URL without query and fragment, or one like https://{endpoint}.apps.example.com or https://{endpoint}.apps.example.com/i; it is "${value}".`,
    );
  }
  return value;
}

/** A path, if any, of segments that no URL parser changes. */
const OWN_ORIGIN_URL = /^https?:\/\/[^/]+(?:\/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)*$/;

/**
 * Integrations route by the path of an endpoint, which is that of its public endpoint: so the
 * content URL differs from the public URL in its host only. A host of its own, because cookies of a
 * host apply to all of its ports.
 */
export function readContentUrl(
  publicUrl: string | undefined,
  text: ReadSetting,
  problems: string[],
): string | undefined {
  const value = readPublicUrl('content-url', text, problems);
  if (value === undefined) return undefined;
  const [content, open] = [value, publicUrl ?? ''].map((url) =>
    URL.parse(url.replace(ENDPOINT_PLACEHOLDER, 'endpoint')),
  );
  const isLike =
    content?.pathname === open?.pathname && hasOwnOrigins(value) === hasOwnOrigins(publicUrl ?? '');
  if (!open || !content || !isLike || content.hostname === open.hostname)
    problems.push(
      `--content-url must be --public-url with another host name, and needs --public-url; it is "${value}".`,
    );
  return value;
}

/**
 * The origin of the redirect URLs of OAuth, or `on`. It has no path, because a provider's answer
 * has to come to this service under exactly the URL that was registered.
 *
 * @returns undefined if it is off
 */
export function readOAuthCallback(
  publicUrl: string | undefined,
  text: ReadSetting,
  problems: string[],
): string | undefined {
  const value = text('oauth-callback').replace(/(?<!\/)\/+$/, '');
  if (value === '' || value === 'off') return undefined;
  if (value === 'on') {
    if (publicUrl !== undefined && hasOwnOrigins(publicUrl))
      problems.push(
        '--oauth-callback must be an origin, as https://apps.example.com, where --public-url gives each endpoint an origin of its own.',
      );
    return value;
  }
  const url = URL.parse(value);
  if (url === null || url.origin !== value.toLowerCase() || !/^https?:/.test(value))
    problems.push(
      `--oauth-callback must be off, on, or an origin as https://apps.example.com; it is "${value}".`,
    );
  return value;
}
