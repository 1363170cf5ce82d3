/**
 * Serves the static files of a worker before its code is asked
 * (docs/contract/plain-workers.md#static-files). No isolate is entered.
 *
 * Files are answers of the code: `answer.ts` withholds the headers that speak for an origin, and a
 * service worker has the reach that one of the code has.
 */
import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { LRUCache } from 'lru-cache';
import { endpointPath } from '../../../model/endpoint-url.ts';
import {
  contentType,
  findFile,
  type HeaderRule,
  isHashed,
  isWorkerFirst,
  notFoundPage,
  parseHeaderRules,
  parseRedirects,
  RULE_FILES,
  redirectOf,
  withRules,
} from '../../../model/manifest/static-files.ts';
import type { Target } from '../../../model/target.ts';
import type { CallResponse } from '../../calls/call.ts';
import type { Registry } from '../../store/integrations/registry.ts';
import { inProcessOwner } from '../loopback-listeners.ts';
import { isKnownFile } from './published-files.ts';

/**
 * With this header the code's own `env.ASSETS` asks: what has no file is answered here, too, and
 * what the worker is asked for first. Attack: a client that sends it, or code of another
 * installation, to read files that the worker guards.
 */
const FILES_ONLY = 'annex-files-only';
/**
 * Longest path that may be a file's. Attack: sixteen kilobytes of slashes, compared with each of
 * two hundred rules.
 */
const ASKED_CHARS_MAX = 2_048;
const BYTES_CACHED = 32 * 1024 * 1024;
const SITES_CACHED = 200;
/** Estimated size of an entry beside its bytes. */
const ENTRY_BYTES = 1024;

/** What a version serves; never changes. */
interface Site {
  readonly paths: ReadonlySet<string>;
  readonly redirects: ReturnType<typeof parseRedirects>;
  readonly headers: readonly HeaderRule[];
}

interface StaticFile {
  readonly bytes: Buffer;
  /** Strong entity tag. */
  readonly tag: string;
}

type Asked = Pick<IncomingMessage, 'method' | 'headers' | 'socket'>;

/** Answers with a body in memory. */
export type StaticAnswer = CallResponse & { readonly body: Buffer };

export class StaticFiles {
  readonly #registry: Pick<Registry, 'image' | 'staticPaths'>;
  readonly #sites = new LRUCache<string, Site>({ max: SITES_CACHED });
  readonly #files = new LRUCache<string, StaticFile>({
    maxSize: BYTES_CACHED,
    sizeCalculation: ({ bytes }) => ENTRY_BYTES + bytes.byteLength,
  });

  constructor(registry: Pick<Registry, 'image' | 'staticPaths'>) {
    this.#registry = registry;
  }

  /** @returns undefined where the code answers */
  async answer(
    { method, headers, socket }: Asked,
    target: Target,
    pathAndQuery: string,
  ): Promise<StaticAnswer | undefined> {
    const { assets } = target;
    if (assets === undefined || (method !== 'GET' && method !== 'HEAD')) return undefined;
    const filesOnly = headers[FILES_ONLY] !== undefined && inProcessOwner(socket) === target.tenant;
    const [sent = '', query] = pathAndQuery.split('?', 2);
    const asked = sent === '' ? '/' : sent;
    if (asked.length > ASKED_CHARS_MAX) return filesOnly ? NOT_FOUND : undefined;
    if (!filesOnly && isWorkerFirst(assets.workerFirst, decoded(asked) ?? asked)) return undefined;
    const site = await this.#site(target);
    const at = { target, site, asked };
    const led = redirectOf(site.redirects, asked);
    if (led !== undefined && led.status !== 200) {
      const to = led.isPath ? `${endpointPath(target.publicEndpoint)}${led.to}` : led.to;
      const isWhole = query === undefined || to.includes('?') || to.includes('#');
      return redirect(led.status, isWhole ? to : `${to}?${query}`);
    }
    const path = decoded(led === undefined ? asked : led.to.replace(/[?#].*$/s, ''));
    const found = path === undefined ? undefined : findFile(site.paths, path, assets.html);
    if (found !== undefined && 'redirect' in found) {
      const to = `${endpointPath(target.publicEndpoint)}${found.redirect.split('/').map(encodeURIComponent).join('/')}`;
      return redirect(307, query === undefined ? to : `${to}?${query}`);
    }
    if (found !== undefined) return this.#file(found.file, at, headers);
    const isPage = filesOnly || headers['sec-fetch-mode'] === 'navigate';
    if (assets.notFound === 'single-page-application' && isPage && site.paths.has('/index.html'))
      return this.#file('/index.html', at, headers);
    if (!filesOnly) return undefined;
    const page = assets.notFound === '404-page' && path !== undefined && notFoundPage(site.paths, path);
    if (page) return { ...(await this.#file(page, at)), status: 404 };
    return NOT_FOUND;
  }

  async #site({ integration, version }: Target): Promise<Site> {
    const key = JSON.stringify([integration, version]);
    const known = this.#sites.get(key);
    if (known !== undefined) return known;
    const paths = new Set(await this.#registry.staticPaths(integration, version));
    const textOf = async (path: string) =>
      paths.has(path)
        ? Buffer.from((await this.#registry.image(integration, version, path)) ?? '').toString()
        : '';
    const site = {
      paths,
      redirects: parseRedirects(await textOf(RULE_FILES.redirects)),
      headers: parseHeaderRules(await textOf(RULE_FILES.headers)).rules,
    };
    this.#sites.set(key, site);
    return site;
  }

  async #bytes({ integration, version }: Target, path: string): Promise<StaticFile> {
    const key = JSON.stringify([integration, version, path]);
    const known = this.#files.get(key);
    if (known !== undefined) return known;
    const content = (await this.#registry.image(integration, version, path)) ?? new Uint8Array();
    const tag = `"${createHash('sha256').update(content).digest('base64url')}"`;
    const file = { bytes: Buffer.from(content), tag };
    this.#files.set(key, file);
    return file;
  }

  async #file(
    path: string,
    { target, site, asked }: { readonly target: Target; readonly site: Site; readonly asked: string },
    { range, ...given }: IncomingHttpHeaders = {},
  ): Promise<StaticAnswer> {
    const { bytes, tag } = await this.#bytes(target, path);
    const headers = withRules(site.headers, asked, [
      ['content-type', contentType(path)],
      ['etag', tag],
      ['cache-control', `public, max-age=${isHashed(path) ? '31536000, immutable' : '0, must-revalidate'}`],
      ['accept-ranges', 'bytes'],
      ['x-content-type-options', 'nosniff'],
    ]);
    // Attack: a rule of `_headers` in the place of the manifest's policy. Browsers keep both.
    const { contentSecurityPolicy: policy } = target;
    if (policy !== undefined && headers.some(([name]) => name === 'content-security-policy'))
      headers.push(['content-security-policy', policy]);
    if (isKnownFile(given['if-none-match'], { tag })) return { status: 304, headers, body: Buffer.alloc(0) };
    const isPart = range !== undefined && (given['if-range'] === undefined || given['if-range'] === tag);
    const part = isPart ? rangeOf(range, bytes.byteLength) : undefined;
    if (part === undefined) return { status: 200, headers, body: bytes };
    const size = bytes.byteLength;
    if (part === 'beyond')
      return { status: 416, headers: [['content-range', `bytes */${size}`]], body: Buffer.alloc(0) };
    const [from, to] = part;
    headers.push(['content-range', `bytes ${from}-${to}/${size}`]);
    return { status: 206, headers, body: bytes.subarray(from, to + 1) };
  }
}

const NOT_FOUND: StaticAnswer = { status: 404, headers: [], body: Buffer.alloc(0) };

const redirect = (status: number, to: string): StaticAnswer => ({
  status,
  headers: [['location', to]],
  body: Buffer.alloc(0),
});

/** Undefined for a path that no file has. */
function decoded(path: string): string | undefined {
  try {
    return decodeURIComponent(path);
  } catch {
    return undefined;
  }
}

/** One range of bytes (RFC 9110, section 14.2); of several, the whole file is sent. */
function rangeOf(header: string, size: number): readonly [from: number, to: number] | 'beyond' | undefined {
  const [, first = '', last = ''] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header.trim()) ?? [];
  if (first === '' && last === '') return undefined;
  const from = first === '' ? Math.max(0, size - Number(last)) : Number(first);
  const to = first === '' || last === '' ? size - 1 : Math.min(Number(last), size - 1);
  if (first !== '' && last !== '' && Number(last) < from) return undefined;
  return from >= size || from > to ? 'beyond' : [from, to];
}
