/** A service with something of everything, for the pictures of console and portal. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { uploadFolder } from '../../src/local/demo/folder-form-data.ts';
import { startTemporaryService } from '../../src/local/temporary-service.ts';
import type { Activity } from '../client/src/generated.ts';
import { Annex } from '../client/src/index.ts';

const FIXTURES = fileURLToPath(new URL('../../fixtures/', import.meta.url));
const LOGS = `
import { createIntegration } from '@annex/sdk';

function total(order) {
  return order.lines.reduce((sum, line) => sum + line.price, 0);
}

export default createIntegration({
  fetch: async (request) => {
    const { pathname } = new URL(request.url);
    console.debug('asked for', pathname);
    console.info('an order came', { id: 4711, currency: 'EUR' });
    console.warn('the order has no customer');
    if (pathname.endsWith('/broken')) return Response.json(total({}));
    return Response.json({ ok: true });
  },
  events: { order_paid: () => console.info('paid') },
});
`;

export interface Seeded {
  readonly controlUrl: string;
  readonly annex: Annex;
  /** Views of the console that have something, by name. */
  readonly places: Readonly<Record<string, string>>;
  /** Those of the portal of `acme`. */
  readonly portalPlaces: Readonly<Record<string, string>>;
  end(): Promise<void>;
}

/** @param isEmpty a service as it is after its first start */
export async function seededService(isEmpty = false): Promise<Seeded> {
  const receiver = createServer((request, response) => {
    const isBroken = request.url?.startsWith('/broken');
    request.resume().on('end', () => {
      response.writeHead(isBroken ? 502 : 200, { 'content-type': 'application/json' });
      response.end(isBroken ? '{"error":"upstream is away","trace":"8f21c0"}' : '{"ok":true}');
    });
  });
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  const host = `127.0.0.1:${(receiver.address() as AddressInfo).port}`;
  const { service, end } = await startTemporaryService({
    flags: [
      ...['--webhook-http', 'allow', '--egress-allow', host, '--webhook-retries', '1s,1s'],
      // The fixture of the same title is installed.
      ...(isEmpty ? [] : ['--built-ins', 'none']),
    ],
    logLevel: 'silent',
  });
  const { controlUrl } = service;
  const annex = new Annex({ url: controlUrl, token: service.firstAdminToken ?? '' });
  const token = service.firstAdminToken ?? '';
  const seeded = isEmpty ? { places: {}, portalPlaces: {} } : await seed(annex, { controlUrl, host, token });
  return {
    ...{ controlUrl, annex, ...seeded },
    async end() {
      await end();
      receiver.close();
      receiver.closeAllConnections();
    },
  };
}

/** What the API answers, as far as it is used. */
interface Answer {
  readonly id: string;
  readonly eventId: string;
  readonly urls: { readonly publicEndpoint: string };
}

interface Where {
  readonly controlUrl: string;
  readonly host: string;
  readonly token: string;
}

async function seed(
  annex: Annex,
  { controlUrl, host, token }: Where,
): Promise<Pick<Seeded, 'places' | 'portalPlaces'>> {
  const send = async (path: string, method: string, body: FormData | object): Promise<Answer> => {
    const response = await fetch(`${controlUrl}/v1/${path}`, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(!(body instanceof FormData) && { 'content-type': 'application/json' }),
      },
      body: body instanceof FormData ? body : JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`${method} ${path}: ${await response.text()}`);
    return response.json() as Promise<Answer>;
  };
  await send('event-types/order_paid', 'PUT', {
    title: 'An order was paid',
    level: 'organization',
    webhook: true,
  });
  for (const name of ['webhook', 'counter', 'settings', 'poll', 'invoicing'])
    await send('integrations', 'POST', await uploadFolder(`${FIXTURES}${name}`));
  const orders = (title: string, script: string) => {
    const form = new FormData();
    const manifest = `name: orders\ntitle: ${title}\ndescription: Keeps orders and invoices in step.\norganization: acme\nvisibility: public\nscopes: []\nscript: src/index.ts\n`;
    form.append('manifest', manifest);
    form.append('files', new Blob([script]), 'src/index.ts');
    return form;
  };
  await send('integrations', 'POST', orders('Orders', LOGS));
  await send('integrations', 'POST', orders('Orders and invoices', `${LOGS}\n// Another version.\n`));
  const install = async (name: string, organization: string) =>
    send(`integrations/${name}/installations`, 'POST', { organization });
  const hooks: string[] = [];
  for (const [organization, path] of [
    ['acme', 'broken'],
    ['globex', 'hook'],
    ['initech', 'hook'],
  ] as const) {
    const { id } = await install('webhook', organization);
    hooks.push(id);
    await send(`integrations/webhook/installations/${id}`, 'PATCH', {
      configuration: { webhook_url: `http://${host}/${path}`, event_types: ['order_paid'] },
    });
  }
  const settings = await install('settings', 'acme');
  const counter = await install('counter', 'acme');
  const { id, urls } = await install('orders', 'acme');
  await install('orders', 'globex');
  for (const path of ['', '/7', '/broken'])
    await fetch(`${urls.publicEndpoint}${path}`).then((one) => one.text());
  let event = '';
  for (let order = 1; order <= 6; order += 1) {
    const organization = ['acme', 'globex', 'initech'][order % 3] ?? 'acme';
    const posted = await send('events', 'POST', {
      type: 'order_paid',
      organization,
      data: { order: 4700 + order, total: 1_290, currency: 'EUR' },
    });
    if (organization === 'acme') event = posted.eventId;
  }
  const failed = async () =>
    (await annex.deliveries.list({ installation: hooks[0] ?? '', state: 'failed' })).items;
  for (let tries = 0; tries < 200 && (await failed()).length < 2; tries += 1)
    await new Promise((resolve) => setTimeout(resolve, 100));
  const delivery = (await failed())[0]?.id ?? '';
  const installation = `installations/orders/${id}`;
  const places = {
    ...{ overview: '', integrations: 'integrations', integration: 'integrations/orders' },
    ...{ installations: 'installations', installation, events: 'events', event: `events/${event}` },
    ...{ deliveries: 'deliveries', delivery: `deliveries/${delivery}`, webhooks: 'webhooks', logs: 'logs' },
    ...{
      notices: 'notices',
      'event-types': 'event-types',
      tokens: 'tokens',
      audit: 'audit',
      system: 'system',
    },
    ...{ publish: 'publish', errors: 'errors' },
    'integration-versions': 'integrations/orders?part=versions',
    'integration-errors': 'integrations/orders?part=errors',
    'integration-secrets': 'integrations/orders?part=secrets',
    'integration-limits': 'integrations/orders?part=limits',
    'installation-webhook': `installations/webhook/${hooks[0]}`,
    'installation-configuration': `installations/settings/${settings.id}?part=configuration`,
    'installation-components': `installations/counter/${counter.id}?part=components`,
    'installation-deliveries': `${installation}?part=deliveries`,
    'installation-storage': `${installation}?part=storage`,
    'installation-log': `${installation}?part=log`,
  };
  await send(`integrations/webhook/installations/${hooks[0]}/spaces`, 'POST', { space: 'garden' });
  await send(`integrations/orders/installations/${id}/pause`, 'POST', {});
  const portalPlaces = {
    ...{ catalogue: 'integrations', offer: 'integrations/poll', installed: 'integrations/webhook' },
    ...{ steps: 'integrations/settings', place: 'integrations/webhook/spaces/garden' },
    ...{ webhooks: 'webhooks', webhook: `webhooks/webhook/${hooks[0]}` },
    ...{ activity: 'activity', 'activity-open': `activity?state=failed&open=${delivery}` },
    ...{ nowhere: 'elsewhere' },
  };
  return { places, portalPlaces };
}

const STEP_MS = 300_000;

/** A day with its rush hours, and half an hour in which a receiver was away. */
export function dayOfActivity(now = Date.now()): Activity {
  const end = Math.floor(now / STEP_MS) * STEP_MS;
  const points = Array.from({ length: 288 }, (_, step) => {
    const load = 1 + Math.sin(((step - 72) / 288) * 2 * Math.PI) + 0.2 * Math.sin(step * 1.7);
    const isAway = step > 230 && step < 238;
    const calls = Math.round(400 * Math.max(0.05, load));
    return {
      at: new Date(end - (287 - step) * STEP_MS).toISOString(),
      ...{
        calls,
        errors: Math.round(calls * (isAway ? 0.2 : 0.004)),
        p50Ms: 4 + 2 * load,
        p99Ms: 30 + 25 * load + (isAway ? 900 : 0),
      },
      ...{
        delivered: isAway ? 12 : Math.round(calls / 3),
        failed: isAway ? 60 : 0,
        waiting: isAway ? (step - 230) * 80 : 3,
      },
      ...{ cells: 2, cellBytes: 310 * 2 ** 20, contained: 1 },
    };
  });
  return { stepSeconds: STEP_MS / 1_000, points: points.filter((_, step) => step < 40 || step > 44) };
}
