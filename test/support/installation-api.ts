/**
 * The API of installations as a client sees it: whole answers with their headers, and the paths at
 * each level.
 */
import type { Level } from '../../src/model/level.ts';
import type { TestService } from './service.ts';

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The body as JSON; empty where there is none. */
  readonly body: Record<string, unknown>;
  /** The code and message of an error. */
  readonly error: { readonly code: string; readonly message: string };
}

export interface Question {
  readonly token?: string;
  readonly json?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Sends one request to the control listener, with the operator's token unless another is given. */
export async function ask(
  annex: TestService,
  method: string,
  path: string,
  { token = annex.admin, json, headers }: Question = {},
): Promise<Answer> {
  const response = await fetch(`${annex.service.controlUrl}/v1${path}`, {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      ...(json !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(json !== undefined && { body: JSON.stringify(json) }),
  });
  const text = await response.text();
  const body = text === '' ? {} : JSON.parse(text);
  return { status: response.status, headers: response.headers, text, body, error: body.error };
}

/** An answer in one line, for tables: `404 INSTALLATION_UNKNOWN`. */
export const codeOf = ({ status, error }: Answer): string => `${status} ${error?.code ?? ''}`.trim();

const PROPERTIES = `properties:
      url: { type: string, title: URL, description: Where to. }
      colour: { type: string, title: Colour, description: Which one., enum: [red, blue], default: red }
      oauth_credentials: { type: button, title: Connect, description: By OAuth., button_text: Go, callback_url: /oauth }
    required: [url]`;

/** A manifest with the same settings at each level: a target is active once `url` is set. */
export const CONFIGURED = `configurations:
  account:
    ${PROPERTIES}
  space:
    ${PROPERTIES}
  site:
    ${PROPERTIES}
`;

export const SOURCE = `
import { createIntegration } from '@annex/sdk';
export default createIntegration({ fetch: () => new Response('ok') });
`;

/** How a target of a level is created, and its path. */
export interface LevelPaths {
  readonly level: Level;
  /** The path to which it is posted. */
  readonly list: string;
  /** The body that creates it. */
  readonly body: Record<string, unknown>;
  /** Its path, from the answer that created it. */
  readonly at: (created: Answer) => string;
}

/** The three levels of an integration; spaces and sites are those of `installation`. */
export function levelPaths(name: string, organization: string, installation: string): readonly LevelPaths[] {
  const installations = `/integrations/${name}/installations`;
  const below = (level: 'space' | 'site'): LevelPaths => {
    const list = `${installations}/${installation}/${level}s`;
    return { level, list, body: { [level]: `${level}-1` }, at: ({ body }) => `${list}/${body[level]}` };
  };
  return [
    {
      level: 'organization',
      list: installations,
      body: { organization },
      at: ({ body }) => `${installations}/${body['id']}`,
    },
    below('space'),
    below('site'),
  ];
}

/** One route of an installation. */
export interface InstallationRoute {
  readonly level: Level;
  readonly method: string;
  readonly path: string;
  /** A valid body, where the route takes one. */
  readonly json?: Record<string, unknown>;
}

/** Every route of an installation in an organization, in the space `s-1` and in the site `s-1`. */
export function installationRoutes(name: string, id: string, organization: string): InstallationRoute[] {
  const list = `/integrations/${name}/installations`;
  const one = `${list}/${id}`;
  const at = (level: Level, all: string, path: string, json: Record<string, unknown>) => [
    { level, method: 'POST', path: all, json },
    { level, method: 'GET', path: all },
    { level, method: 'GET', path },
    { level, method: 'PATCH', path, json: { externalIds: ['new'] } },
    { level, method: 'POST', path: `${path}/pause` },
    { level, method: 'POST', path: `${path}/resume` },
    { level, method: 'DELETE', path },
  ];
  return [
    ...at('organization', list, one, { organization }),
    ...at('space', `${one}/spaces`, `${one}/spaces/s-1`, { space: 's-2' }),
    ...at('site', `${one}/sites`, `${one}/sites/s-1`, { site: 's-2' }),
  ];
}

/**
 * All targets with their revisions, and the audit: the state that a refused request must not
 * change.
 */
export async function everythingInstalled(annex: TestService, integration: string): Promise<string> {
  const { installations, audit } = annex.service.store;
  const { items } = await installations.list({ integration, limit: 100 });
  const found: unknown[] = [items, await audit.list({ limit: 1 })];
  for (const { installationId } of items)
    for (const level of ['space', 'site'] as const)
      found.push(await installations.listBelow({ installationId, level, limit: 100 }));
  return JSON.stringify(found);
}
