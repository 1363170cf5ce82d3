/**
 * Members of the `environment` part of an envelope that the host product knows and the host does
 * not: URLs, such as the page of an installation in the product, and what the owner of the
 * integration is beside its id (docs/contract/environment.md#source).
 *
 * Attack: an environment that names other endpoints, another API or another owner. Only a few
 * members of `urls` are taken, only where the host has none, and only http and https URLs of a
 * bounded length; and only members of the owner whose id the host has.
 */
import type { Environment } from '../../model/environment.ts';

/** Never an endpoint. */
const MEMBERS = ['location', 'app', 'icon', 'assets'] as const;
const HOLDERS = ['integration', 'installation', 'spaceInstallation', 'siteInstallation'] as const;
const URL_CHARS_MAX = 2_048;

type Sent = Readonly<Record<string, unknown>>;

/** @returns the same object if nothing is added */
export function withSentMembers(own: Environment, sent: Sent): Environment {
  let environment = withSentOwner(own, sent['integration']);
  for (const holder of HOLDERS) {
    const known = environment[holder];
    const given = sent[holder];
    if (known === undefined || given === undefined) continue;
    const added = addedUrls(known.urls, given);
    if (added === undefined) continue;
    environment = { ...environment, [holder]: { ...known, urls: { ...known.urls, ...added } } };
  }
  return environment === own ? own : withFlatUrls(environment);
}

function withSentOwner(own: Environment, integration: unknown): Environment {
  const sent = isObject(integration) ? integration['owner'] : undefined;
  const { owner } = own.integration;
  if (!isObject(sent) || sent['id'] !== owner.id) return own;
  const urls = { ...owner.urls, ...addedUrls(owner.urls, sent) };
  const title = typeof sent['title'] === 'string' ? sent['title'] : owner.title;
  const { object, id } = owner;
  return { ...own, integration: { ...own.integration, owner: { ...sent, object, id, title, urls } } };
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
