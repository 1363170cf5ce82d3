/**
 * A module worker as bundles from elsewhere are: it reads the envelope with its own code, and shows
 * what it got. And requests to listeners under a name that does not resolve.
 */
import { request as httpRequest } from 'node:http';
import type { TestService } from './service.ts';

/** Shows the envelope. `/spin` takes CPU without end, `/cookie` sets one, `/log` writes a line. */
export const MODULE_WORKER = `
let calls = 0;
export default {
  async fetch(request, env) {
    calls += 1;
    const version = new URL(request.url).pathname.slice(1);
    if (version !== 'v1') return new Response('Unsupported version ' + version, { status: 400 });
    const form = await request.formData();
    const event = JSON.parse(form.get('event'));
    const environment = JSON.parse(form.get('environment'));
    const body = form.get('fetch-body');
    const path = event.request ? new URL(event.request.url).pathname : '';
    if (path.endsWith('/spin')) for (;;);
    if (path.endsWith('/log')) console.log('a line of', event.type, environment.signingSecrets.integration);
    if (path.endsWith('/api')) {
      const asked = await fetch(environment.apiEndpoint + new URL(event.request.url).searchParams.get('at'), {
        headers: { authorization: 'Bearer ' + environment.apiTokens.integration },
      });
      return Response.json({ status: asked.status, body: await asked.text() });
    }
    const shown = { calls, url: request.url, event, environment, env, body: body && (await body.text()) };
    return Response.json(shown, { headers: path.endsWith('/cookie') ? { 'set-cookie': 'a=b; Path=/' } : {} });
  },
};`;

/** What the module worker shows. */
export interface Shown {
  readonly calls: number;
  readonly url: string;
  readonly event: {
    readonly eventId: string;
    readonly type: string;
    readonly installationId?: string;
    readonly request?: {
      readonly method: string;
      readonly url: string;
      readonly headers: Record<string, string>;
    };
  };
  // biome-ignore lint/suspicious/noExplicitAny: each test names the members that it expects.
  readonly environment: any;
  readonly body: string | null;
}

export interface Asked {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

/** Sends a request for a public URL to the public listener, as a proxy in front would. */
export async function askPublic(
  annex: TestService,
  url: string,
  {
    method = 'GET',
    path,
    headers = {},
    body,
  }: { method?: string; path?: string; headers?: Record<string, string>; body?: string | Buffer } = {},
): Promise<Asked> {
  const { host, pathname, search } = new URL(url);
  const { port } = new URL(annex.service.publicUrl);
  const options = { port, method, path: path ?? pathname + search, headers: { host, ...headers } };
  return new Promise((resolve, reject) => {
    const asked = httpRequest(options, (answer) => {
      answer.toArray().then((parts) => {
        const text = Buffer.concat(parts as Buffer[]).toString();
        resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text });
      }, reject);
    });
    asked.on('error', reject).end(body);
  });
}
