/**
 * Attacks by authors: integrations that attack when they are called, and uploads that are costly to
 * read.
 */
import type { Api, Place } from './api.ts';

/** An integration that attacks whenever it is called. */
export interface Author {
  readonly source: string;
  readonly manifest?: string;
  readonly secrets?: Readonly<Record<string, string>>;
  /** Installations, each in an organization of its own; one unless set. */
  readonly installations?: number;
  /** Callers of each installation, each with one call in flight. */
  readonly callers: number;
}

/** How long an integration that would fail the probe waits before it attacks. */
const HARMLESS_MS = 10_000;

const worker = (body: string): string => `export default { async fetch(request, env, ctx) {
  const parts = await request.formData();
  const environment = JSON.parse(parts.get('environment'));
  ${body}
  return new Response('done');
} };`;

const SECRET_HEAD = 'k'.repeat(48);
const SECRETS = Object.fromEntries(
  Array.from({ length: 20 }, (_, i) => [`SECRET_${i}`, `${SECRET_HEAD}${i}-${'z'.repeat(i)}`]),
);
const SECRETS_MANIFEST = `secrets:\n${Object.keys(SECRETS)
  .map((name) => `  ${name}: \${{ env.${name} }}\n`)
  .join('')}`;

const editing = (body: string): string =>
  worker(`const { apiEndpoint, apiTokens, integration, installation } = environment;
  const body = ${body};
  await fetch(apiEndpoint + '/v1/integrations/' + integration.name + '/installations/' + installation.id, {
    method: 'PATCH',
    headers: { authorization: 'Bearer ' + apiTokens.installation, 'content-type': 'application/json' },
    body,
  }).then((answer) => answer.text());`);

export const AUTHORS: Readonly<Record<string, Author>> = {
  'log that resembles secrets': {
    source: worker(`console.log('${SECRET_HEAD}'.repeat(1300));`),
    manifest: SECRETS_MANIFEST,
    secrets: SECRETS,
    callers: 2,
  },
  'half a million faults': {
    source: editing(`'{"externalIds":[' + '1,'.repeat(520000) + '1]}'`),
    callers: 3,
  },
  'native copies of text': {
    source: worker(`globalThis.kept ??= [];
  const text = 'word '.repeat(4_000_000);
  for (let i = 0; i < 8; i++) globalThis.kept.push(new Intl.Segmenter('en').segment(text));`),
    installations: 2,
    callers: 1,
  },
  'a crash in every call': {
    source: worker(
      `Promise.reject(new Proxy(new Error('x'), { get() { for (;;); } })); return new Promise(() => {});`,
    ),
    installations: 4,
    callers: 1,
  },
  'a promise of everything': {
    source: `const big = Array.from({ length: 300000 }, () => ({}));
// Harmless during its probe.
if (Date.now() > ${Date.now() + HARMLESS_MS}) Object.prototype.then = function (resolve) {
  delete Object.prototype.then;
  resolve({ handler: this.handler, sdk: this.sdk, fetch: this.fetch, components: big, events: '' });
};
${worker('')}`,
    callers: 2,
  },
  'names of a kilobyte': {
    source: worker(
      `for (let i = 0; i < 2_000; i++) { try { new URL('http://' + 'ä'.repeat(900) + i + '.example'); } catch {} }`,
    ),
    installations: 8,
    callers: 1,
  },
  'whole answers of megabytes': {
    source: worker(`return new Response(new Uint8Array(10 * 1024 * 1024 - 1));`),
    installations: 4,
    callers: 6,
  },
  'bytes in the log': {
    source: worker(`console.log(new Uint8Array(8_000_000));`),
    installations: 2,
    callers: 1,
  },
  'refused fetches': {
    source: worker(
      `await Promise.all(Array.from({ length: 50 }, () => fetch('http://127.0.0.1:9/').catch(() => 0)));`,
    ),
    callers: 32,
  },
};

/** The integration whose answers strangers never read. */
export const LARGE_ANSWER = worker(`return new Response(new Uint8Array(10 * 1024 * 1024 - 1));`);

/** Uploads of the hostile corpus that are costly to read. */
export const UPLOADS = [
  'publishing-link-flood',
  'publishing-yaml-flood',
  'publishing-yaml-nesting',
  'publishing-yaml-aliases',
  'publishing-glob-import',
] as const;

/** Publishes and installs the integration of an attack. */
export async function settle(api: Api, name: string, author: Author): Promise<Place[]> {
  const slug = `attack-${name.replaceAll(' ', '-')}`;
  const { manifest, secrets } = author;
  await api.publish(
    slug,
    { 'index.js': author.source },
    { ...(manifest && { manifest }), ...(secrets && { secrets }) },
  );
  const places: Place[] = [];
  for (let i = 0; i < (author.installations ?? 1); i++) places.push(await api.install(slug, `${slug}-${i}`));
  return places;
}
