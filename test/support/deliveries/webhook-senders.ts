/** Installs one webhook integration in many organizations and sites, each with its own receiver. */
import type { LedgerReceiver } from '../receivers/ledger-receiver.ts';

/** The API of a service, as the operator. */
export interface Api {
  api(method: string, path: string, body?: FormData | object): Promise<Record<string, unknown>>;
}

/** The site whose events are posted, and the URL of its receiver. */
export interface Posted {
  readonly organization: string;
  readonly site: string;
  readonly installationId: string;
  readonly url: string;
}

const NAME = 'posting';
const INSTALLATIONS = `/integrations/${NAME}/installations`;

const MANIFEST = `
name: ${NAME}
title: Posting
description: Posts events.
organization: acme
visibility: public
scopes: ['site:views:read']
script: index.js
configurations:
  site:
    properties:
      url: { type: string, title: URL, description: Where to. }
      types: { type: string, multiple: true, enum: [site_view, '*'], title: Types, description: What. }
    required: [url, types]
webhook:
  url: url
  eventTypes: types
`;

const SOURCE = `
import { createIntegration, deliverTo } from '@annex/sdk';
export default createIntegration({
  fetch: () => new Response('Nothing here.', { status: 404 }),
  events: {
    '*': (event, { environment }) => deliverTo(environment.siteInstallation.configuration.url, event),
    site_view: (event, { environment }) => deliverTo(environment.siteInstallation.configuration.url, event),
  },
});`;

/** A type that the product declares, whose events have the members of `site_view` in their data. */
export const DECLARED = 'page.read';
const TEXT = { type: 'string', maxLength: 4_096 } as const;
const DECLARATION = {
  ...{ title: 'Page read', level: 'site', webhook: true },
  schema: {
    type: 'object',
    required: ['visitor', 'url', 'referrer'],
    properties: {
      visitor: {
        type: 'object',
        required: ['anonymousId'],
        properties: { anonymousId: TEXT, userAgent: TEXT, ip: TEXT, cookies: { type: 'object' } },
      },
      url: { ...TEXT, pattern: '^https?://' },
      referrer: TEXT,
    },
    additionalProperties: false,
  },
};

/** Declares the type, so that sites may select it. */
export const declareType = (annex: Api): Promise<unknown> =>
  annex.api('PUT', `/event-types/${DECLARED}`, DECLARATION);

/**
 * Publishes and installs the integration.
 *
 * @param urlOf the URL of the receiver of a site
 * @param sites sites of each organization, which share an installation and so an isolate
 * @param types types of events that the webhooks select
 */
export async function installWebhooks(
  annex: Api,
  count: number,
  urlOf: (index: number) => string,
  sites = 1,
  types: readonly string[] = ['site_view'],
): Promise<Posted[]> {
  const form = new FormData();
  form.append('manifest', MANIFEST);
  form.append('files', new Blob([SOURCE]), 'index.js');
  await annex.api('POST', '/integrations', form);
  const posted: Posted[] = [];
  for (let first = 0; first < count; first += sites) {
    const organization = `org-${first / sites}`;
    const { id } = await annex.api('POST', INSTALLATIONS, { organization });
    for (let index = first; index < Math.min(first + sites, count); index++) {
      const site = `site-${index}`;
      const url = urlOf(index);
      await addSite(annex, String(id), site, { url, types });
      posted.push({ organization, site, installationId: String(id), url });
    }
  }
  return posted;
}

async function addSite(annex: Api, id: string, site: string, configuration: object): Promise<void> {
  const sites = `${INSTALLATIONS}/${id}/sites`;
  await annex.api('POST', sites, { site });
  const installed = await annex.api('PATCH', `${sites}/${site}`, { configuration });
  if (installed['status'] !== 'active') throw new Error(`The site is ${installed['status']}.`);
}

/** Gives the webhook secrets of all sites to the receiver. */
export async function shareSecrets(
  annex: Api,
  posted: readonly Posted[],
  receiver: LedgerReceiver,
  settings: { verifyEvery: number; keepsLedger: boolean; answerWithinMs: number },
): Promise<void> {
  const secrets: Record<string, readonly string[]> = {};
  for (const { site, installationId, url } of posted) {
    const path = `/integrations/${NAME}/installations/${installationId}/sites/${site}/webhook-secret`;
    const { secret } = await annex.api('GET', path);
    secrets[new URL(url).pathname] = [String(secret)];
  }
  await receiver.configure({ ...settings, secrets });
}

/** The body of an event of the declared type, as it is posted. */
export const pageRead = ({ organization, site }: Posted, eventId: string, referrer = ''): object => ({
  ...{ organization, eventId, type: DECLARED, site },
  data: {
    visitor: { anonymousId: 'a1', userAgent: 'bench', ip: '198.51.100.7', cookies: {} },
    url: 'https://example.com/a-page',
    referrer,
  },
});

/** The body of an event, as it is posted. */
export const siteView = ({ organization, site }: Posted, eventId: string, referrer = ''): object => ({
  organization,
  eventId,
  type: 'site_view',
  siteId: site,
  visitor: { anonymousId: 'a1', userAgent: 'bench', ip: '198.51.100.7', cookies: {} },
  url: 'https://example.com/a-page',
  referrer,
});
