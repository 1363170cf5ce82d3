/**
 * URLs in the `environment` part of an envelope that the host product knows and the host does not,
 * such as the page of an installation in the product (docs/contract/environment.md#urls).
 *
 * Attack: an environment that names other endpoints or another API. Only a few members of `urls`
 * are taken, only where the host has none, and only http and https URLs of a bounded length.
 */
import type { Environment } from '../../model/environment.ts';

/** Never an endpoint. */
const MEMBERS = ['location', 'app', 'icon', 'assets'] as const;
const HOLDERS = ['integration', 'installation', 'spaceInstallation', 'siteInstallation'] as const;
const URL_CHARS_MAX = 2_048;

type Sent = Readonly<Record<string, unknown>>;

/** @returns the same object if nothing is added */
export function withSentUrls(own: Environment, sent: Sent): Environment {
  let environment = own;
  for (const holder of HOLDERS) {
    const known = own[holder];
    const given = sent[holder];
    if (known === undefined || given === undefined) continue;
    const added = addedUrls(known.urls, given);
    if (added === undefined) continue;
    environment = { ...environment, [holder]: { ...known, urls: { ...known.urls, ...added } } };
  }
  return environment === own ? own : withFlatUrls(environment);
}

/** The flat `urls` are those of the most specific target. */
function withFlatUrls(environment: Environment): Environment {
  const { installation, spaceInstallation, siteInstallation } = environment;
  const { urls } = spaceInstallation ?? siteInstallation ?? installation ?? {};
  return urls === undefined ? environment : { ...environment, urls };
}

function addedUrls(known: object, given: unknown): Record<string, string> | undefined {
  const urls = isObject(given) ? given['urls'] : undefined;
  if (!isObject(urls)) return undefined;
  let added: Record<string, string> | undefined;
  for (const member of MEMBERS) {
    const url = urls[member];
    if (member in known || !isUrl(url)) continue;
    added ??= {};
    added[member] = url;
  }
  return added;
}

const isUrl = (value: unknown): value is string =>
  typeof value === 'string' && value.length <= URL_CHARS_MAX && /^https?:/.test(value) && URL.canParse(value);

const isObject = (value: unknown): value is Sent => typeof value === 'object' && value !== null;
