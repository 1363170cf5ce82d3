/**
 * `Url` of `node:url`, the reading of URLs that came before the URL standard: `parse`, `format` and
 * `resolve` (https://nodejs.org/api/url.html#legacy-url-api). It reads what no browser would, and
 * packages of npm rely on how.
 */
import { invalidArgValue, nodeError, validateString } from './errors.ts';
import { parse as parseQuery, stringify } from './querystring.ts';

/** Protocols of which a URL has a host after two slashes. */
const SLASHED = /^(?:https?|ftp|gopher|file|wss?):?$/;
const isHostless = (protocol: string | null): boolean => /^javascript:?$/.test(protocol ?? '');
const isSlashed = (protocol: string | null): boolean => SLASHED.test(protocol ?? '');
/** What ends a host, and what is not in one. */
const HOST_END = /[#/?]/;
const NOT_IN_HOST = /[ "%';<>\\^`{|}]/;
const FORBIDDEN = /[\0\t\n\r #%/:<>?@[\\\]^|]/;
const FORBIDDEN_IPV6 = /[\0\t\n\r #%/<>?@\\^|]/;
const HOST_CHARS_MAX = 255;

const isIpv6 = (hostname: string): boolean => hostname.startsWith('[') && hostname.endsWith(']');
const escaped = (char: string): string =>
  `%${char.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`;

export function invalidUrl(input: string): Error {
  return Object.assign(nodeError(TypeError, 'ERR_INVALID_URL', 'Invalid URL', invalidUrl), { input });
}

/** A host as the URL standard writes it; empty where it cannot. */
export function toASCII(hostname: string): string {
  return URL.parse(`ws://${hostname}`)?.hostname ?? '';
}

/** Slashes the other way round before the query, and no spaces around. */
function cleaned(text: string): string {
  let [from, to] = [0, text.length];
  const isSpace = (char = 'x'): boolean => char < '!' || char === '\u00a0' || char === '\ufeff';
  while (from < to && isSpace(text[from])) from++;
  while (to > from && isSpace(text[to - 1])) to--;
  const whole = text.slice(from, to);
  const end = whole.search(/[?#]/);
  const head = end < 0 ? whole : whole.slice(0, end);
  return head.replaceAll('\\', '/') + whole.slice(head.length);
}

export class Url {
  protocol: string | null = null;
  slashes: boolean | null = null;
  auth: string | null = null;
  host: string | null = null;
  port: string | null = null;
  hostname: string | null = null;
  hash: string | null = null;
  search: string | null = null;
  query: string | object | null = null;
  pathname: string | null = null;
  path: string | null = null;
  href: string | null = null;

  parse(input: string, withQuery = false, slashesMeanHost = false): this {
    validateString(input, 'url');
    let rest = cleaned(input);
    if (!slashesMeanHost && !/[#@]/.test(rest) && this.#parsePath(rest, withQuery)) return this;
    const protocol = /^[a-z0-9.+-]+:/i.exec(rest)?.[0];
    if (protocol !== undefined) {
      this.protocol = protocol.toLowerCase();
      rest = rest.slice(protocol.length);
    }
    const hostless = isHostless(this.protocol);
    const credentials = /^\/\/[^@/]+@[^@/]+/.test(rest);
    const slashes =
      (slashesMeanHost || protocol !== undefined || credentials) && rest.startsWith('//') && !hostless;
    if (slashes) {
      rest = rest.slice(2);
      this.slashes = true;
    }
    if (!hostless && (slashes || (protocol !== undefined && !isSlashed(protocol)))) {
      rest = this.#parseHost(rest, input);
    }
    if (!hostless) rest = rest.replace(/[\t\n\r "'<>\\^`{|}]/g, escaped);
    this.#parseRest(rest, withQuery);
    this.href = this.format();
    return this;
  }

  /** A path alone, with a query at most. */
  #parsePath(rest: string, withQuery: boolean): boolean {
    const [, pathname, search] = /^(\/\/?(?!\/)[^?\s]*)(\?[^\s]*)?$/.exec(rest) ?? [];
    if (pathname === undefined) return false;
    this.path = rest;
    this.href = rest;
    this.pathname = pathname;
    if (search !== undefined) {
      this.search = search;
      this.query = withQuery ? parseQuery(search.slice(1)) : search.slice(1);
    } else if (withQuery) this.query = Object.create(null);
    return true;
  }

  /** @returns what follows the host */
  #parseHost(text: string, input: string): string {
    const end = text.search(HOST_END);
    let before = (end < 0 ? text : text.slice(0, end)).replace(/[\t\n\r]/g, '');
    let rest = end < 0 ? '' : text.slice(end);
    const at = before.lastIndexOf('@');
    if (at >= 0) {
      this.auth = decodeURIComponent(before.slice(0, at));
      before = before.slice(at + 1);
    }
    const wrong = before.search(NOT_IN_HOST);
    if (wrong >= 0) {
      rest = before.slice(wrong) + rest;
      before = before.slice(0, wrong);
    }
    const port = /:\d*$/.exec(before)?.[0] ?? '';
    if (port.length > 1) this.port = port.slice(1);
    let hostname = port === '' ? before : before.slice(0, -port.length);
    const ipv6 = isIpv6(hostname);
    const colon = ipv6 ? -1 : hostname.indexOf(':');
    if (colon >= 0) throw invalidArgValue('url', 'Invalid port in url', input);
    hostname = hostname.length > HOST_CHARS_MAX ? '' : hostname.toLowerCase();
    if (hostname !== '') {
      if (ipv6 ? FORBIDDEN_IPV6.test(hostname) : FORBIDDEN.test(hostname)) throw invalidUrl(input);
      const ascii = ipv6 ? hostname : asciiOf(hostname);
      if (ascii === '' || (!ipv6 && FORBIDDEN.test(ascii))) throw invalidUrl(input);
      hostname = ascii;
    }
    this.host = hostname + (this.port === null ? '' : `:${this.port}`);
    this.hostname = ipv6 ? hostname.slice(1, -1) : hostname;
    return ipv6 && rest[0] !== '/' ? `/${rest}` : rest;
  }

  #parseRest(rest: string, withQuery: boolean): void {
    const hash = rest.indexOf('#');
    if (hash >= 0) this.hash = rest.slice(hash);
    const before = hash < 0 ? rest : rest.slice(0, hash);
    const question = before.indexOf('?');
    if (question >= 0) {
      this.search = before.slice(question);
      const query = this.search.slice(1);
      this.query = withQuery ? parseQuery(query) : query;
    } else if (withQuery) this.query = Object.create(null);
    const pathname = question < 0 ? before : before.slice(0, question);
    if (pathname !== '') this.pathname = pathname;
    if (isSlashed(this.protocol) && this.hostname && !this.pathname) this.pathname = '/';
    this.#setPath();
  }

  #setPath(): void {
    if (this.pathname || this.search) this.path = (this.pathname ?? '') + (this.search ?? '');
  }

  format(): string {
    const credentials = this.auth ? `${encodeURIComponent(this.auth).replace(/%3A/gi, ':')}@` : '';
    let protocol = this.protocol ?? '';
    let pathname = this.pathname ?? '';
    let host = '';
    if (this.host) host = credentials + this.host;
    else if (this.hostname) {
      const name =
        this.hostname.includes(':') && !isIpv6(this.hostname) ? `[${this.hostname}]` : this.hostname;
      host = credentials + name + (this.port ? `:${this.port}` : '');
    }
    const query = this.query !== null && typeof this.query === 'object' ? stringify(this.query) : '';
    let search = this.search || (query && `?${query}`) || '';
    if (protocol !== '' && !protocol.endsWith(':')) protocol += ':';
    pathname = pathname.replace(/[#?]/g, escaped);
    if (this.slashes || isSlashed(protocol)) {
      if (this.slashes || host) {
        if (pathname !== '' && pathname[0] !== '/') pathname = `/${pathname}`;
        host = `//${host}`;
      } else if (protocol === 'file:') host = '//';
    }
    let hash = this.hash ?? '';
    search = search.replaceAll('#', '%23');
    if (hash !== '' && hash[0] !== '#') hash = `#${hash}`;
    if (search !== '' && search[0] !== '?') search = `?${search}`;
    return protocol + host + pathname + search + hash;
  }

  resolve(relative: string): string {
    return this.resolveObject(new Url().parse(relative, false, true)).format();
  }

  resolveObject(given: string | Url): Url {
    const relative = typeof given === 'string' ? new Url().parse(given, false, true) : given;
    const result = Object.assign(new Url(), this);
    result.hash = relative.hash;
    if (relative.href !== '') result.#take(relative);
    result.href = result.format();
    return result;
  }

  /** Goes from this URL to a relative one. */
  #take(relative: Url): void {
    if (relative.slashes && !relative.protocol) {
      Object.assign(this, relative, { protocol: this.protocol });
      if (isSlashed(this.protocol) && this.hostname && !this.pathname) this.path = this.pathname = '/';
    } else if (relative.protocol && relative.protocol !== this.protocol) this.#takeProtocol(relative);
    else this.#takePath(relative);
  }

  #takeProtocol(relative: Url): void {
    if (!isSlashed(relative.protocol)) {
      Object.assign(this, relative);
      return;
    }
    this.protocol = relative.protocol;
    let { host, hostname, pathname } = relative;
    if (!host && !/^file:?$/.test(relative.protocol ?? '') && !isHostless(relative.protocol)) {
      // The first name of the path is the host.
      const names = (pathname ?? '').split('/');
      while (names.length > 0 && !host) host = names.shift() as string;
      host ||= '';
      hostname ||= '';
      if (names[0] !== '') names.unshift('');
      if (names.length < 2) names.unshift('');
      pathname = names.join('/');
    }
    this.host = host || '';
    this.hostname = hostname || host;
    this.auth = relative.auth;
    this.port = relative.port;
    this.pathname = pathname;
    this.#takeQuery(relative);
    this.slashes = this.slashes || relative.slashes;
  }

  #takeQuery({ search, query }: Url): void {
    this.search = search;
    this.query = query;
    this.#setPath();
  }

  #takePath(relative: Url): void {
    const sourceAbsolute = this.pathname?.[0] === '/';
    const relativeAbsolute = Boolean(relative.host) || relative.pathname?.[0] === '/';
    let absolute = relativeAbsolute || sourceAbsolute || Boolean(this.host && relative.pathname);
    const dotsLeave = !absolute;
    let names = this.pathname ? this.pathname.split('/') : [];
    let added = relative.pathname ? relative.pathname.split('/') : [];
    // Without slashes, the host is the first name: `../` gets as far.
    const flat = Boolean(this.protocol) && !isSlashed(this.protocol);
    let relativeHost = relative.host;
    let relativeName = relative.hostname;
    if (flat) {
      this.hostname = '';
      this.port = null;
      names = withHost(names, this.host);
      this.host = '';
      if (relative.protocol) {
        this.auth = null;
        added = withHost(added, relativeHost);
        relativeHost = relativeName = null;
      }
      absolute &&= added[0] === '' || names[0] === '';
    }
    if (relativeAbsolute) {
      if (relativeHost || relativeHost === '') {
        if (this.host !== relativeHost) this.auth = null;
        this.host = relativeHost;
        this.port = relative.port;
      }
      if (relativeName || relativeName === '') {
        if (this.hostname !== relativeName) this.auth = null;
        this.hostname = relativeName;
      }
      this.search = relative.search;
      this.query = relative.query;
      names = added;
    } else if (added.length > 0) {
      names = [...names.slice(0, -1), ...added];
      this.search = relative.search;
      this.query = relative.query;
    } else if (relative.search !== null && relative.search !== undefined) {
      if (flat) this.#hostFrom(names.shift() ?? '');
      this.#takeQuery(relative);
      return;
    }
    if (names.length === 0) {
      this.pathname = null;
      this.path = this.search ? `/${this.search}` : null;
      return;
    }
    this.#setNames(names, { absolute, dotsLeave, flat, relativeHost });
    this.auth = relative.auth || this.auth;
    this.slashes = this.slashes || relative.slashes;
  }

  #setNames(
    names: string[],
    how: { absolute: boolean; dotsLeave: boolean; flat: boolean; relativeHost: string | null },
  ): void {
    const last = names.at(-1) as string;
    const dots = last === '.' || last === '..';
    const trailing = (Boolean(this.host || how.relativeHost || names.length > 1) && dots) || last === '';
    const kept: string[] = [];
    let up = 0;
    for (const name of names.toReversed()) {
      if (name === '..') up++;
      else if (name !== '.') {
        if (up > 0) up--;
        else kept.unshift(name);
      }
    }
    let { absolute } = how;
    if (!absolute && how.dotsLeave) kept.unshift(...Array<string>(up).fill('..'));
    if (absolute && kept[0] !== '' && kept[0]?.[0] !== '/') kept.unshift('');
    if (trailing && !kept.join('/').endsWith('/')) kept.push('');
    const begins = kept[0] === '' || kept[0]?.[0] === '/';
    if (how.flat) this.#hostFrom(begins || kept.length === 0 ? '' : (kept.shift() as string));
    absolute ||= Boolean(this.host && kept.length > 0);
    if (absolute && !begins) kept.unshift('');
    this.pathname = kept.length === 0 ? null : kept.join('/');
    if (kept.length === 0) this.path = null;
    if (this.pathname !== null || this.search !== null)
      this.path = (this.pathname ?? '') + (this.search ?? '');
  }

  #hostFrom(text: string): void {
    const at = text.indexOf('@');
    if (at > 0) this.auth = text.slice(0, at);
    this.host = this.hostname = at > 0 ? (text.slice(at + 1).split('@')[0] as string) : text;
  }

  parseHost(): void {
    if (this.host === null) return;
    const port = /:\d*$/.exec(this.host)?.[0] ?? '';
    if (port.length > 1) this.port = port.slice(1);
    const hostname = port === '' ? this.host : this.host.slice(0, -port.length);
    if (hostname !== '') this.hostname = hostname;
  }
}

function withHost(names: readonly string[], host: string | null): string[] {
  if (!host) return [...names];
  return names[0] === '' ? [host, ...names.slice(1)] : [host, ...names];
}

/** Names beyond ASCII are written in Punycode; others stay, whatever the standard says of them. */
function asciiOf(hostname: string): string {
  return /^[\0-\x7f]*$/.test(hostname) ? hostname : toASCII(hostname);
}
