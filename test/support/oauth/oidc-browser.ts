/**
 * A browser as far as OAuth flows need one: it stores cookies by origin, path and name, follows
 * redirects, and fills in the provider's forms. A `POST` from one origin to another one carries no
 * cookie with `SameSite=Lax`; the `GET` that it is redirected to does.
 */
export interface Page {
  readonly url: string;
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

interface Cookie {
  readonly origin: string;
  readonly path: string;
  readonly value: string;
  readonly isLax: boolean;
}

const REDIRECTS_MAX = 20;

export class Browser {
  /** Cookies by origin, path and name. */
  readonly #cookies = new Map<string, Cookie & { readonly name: string }>();

  /** Opens this URL and follows redirects. With `until`, stops before a URL that begins so. */
  async open(url: string, until?: string): Promise<Page> {
    return this.#go(url, 'GET', undefined, until);
  }

  /** Submits the only form of a page. */
  async submit(page: Page, fields: Readonly<Record<string, string>> = {}, until?: string): Promise<Page> {
    const action = /<form[^>]* action="([^"]+)"/.exec(page.text)?.[1];
    if (action === undefined)
      throw new Error(`no form at ${page.url} (${page.status}): ${page.text.slice(0, 500)}`);
    const hidden = [...page.text.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g)];
    const form = new URLSearchParams({
      ...Object.fromEntries(hidden.map(([, name = '', value = '']) => [name, value])),
      ...fields,
    });
    return this.post(new URL(action.replaceAll('&amp;', '&'), page.url).href, form, page.url, until);
  }

  /** Posts a form of a page at `from`. */
  async post(url: string, form: URLSearchParams, from: string, until?: string): Promise<Page> {
    return this.#go(url, 'POST', form, until, from);
  }

  /** The cookies of a later request to this URL. */
  cookiesFor(url: string, isForeignPost = false): string {
    const { origin, pathname } = new URL(url);
    return [...this.#cookies.values()]
      .filter(({ path, ...cookie }) => {
        if (cookie.origin !== origin || (isForeignPost && cookie.isLax)) return false;
        return pathname === path || pathname.startsWith(path.endsWith('/') ? path : `${path}/`);
      })
      .map(({ name, value }) => `${name}=${value}`)
      .join('; ');
  }

  async #go(
    url: string,
    method: string,
    form: URLSearchParams | undefined,
    until?: string,
    from = url,
  ): Promise<Page> {
    let next = url;
    let [verb, body] = [method, form];
    for (let hop = 0; hop < REDIRECTS_MAX; hop += 1) {
      const isForeignPost = verb === 'POST' && new URL(from).origin !== new URL(next).origin;
      const cookie = this.cookiesFor(next, isForeignPost);
      const response = await fetch(next, {
        method: verb,
        redirect: 'manual',
        headers: { ...(cookie !== '' && { cookie }) },
        ...(body && { body }),
      });
      const text = await response.text();
      this.#keep(next, response.headers.getSetCookie());
      const location = response.headers.get('location');
      const seen = { url: next, status: response.status, headers: response.headers, text };
      if (response.status < 300 || response.status > 399 || location === null) return seen;
      next = new URL(location, next).href;
      if (until !== undefined && next.startsWith(until)) return { ...seen, url: next };
      [verb, body] = ['GET', undefined];
    }
    throw new Error(`redirects without an end at ${next}`);
  }

  #keep(url: string, lines: readonly string[]): void {
    const { origin, pathname } = new URL(url);
    for (const line of lines) {
      const [pair = '', ...attributes] = line.split(';').map((part) => part.trim());
      const [name = '', ...rest] = pair.split('=');
      const attribute = (key: string) =>
        attributes.find((text) => text.toLowerCase().startsWith(`${key}=`))?.slice(key.length + 1);
      const path = attribute('path') ?? (pathname.slice(0, pathname.lastIndexOf('/')) || '/');
      const expires = attribute('expires');
      const isOver =
        attribute('max-age') === '0' || (expires !== undefined && Date.parse(expires) <= Date.now());
      const key = `${origin} ${path} ${name}`;
      if (isOver) this.#cookies.delete(key);
      else
        this.#cookies.set(key, {
          ...{ origin, path, name, value: rest.join('=') },
          isLax: attribute('samesite')?.toLowerCase() === 'lax',
        });
    }
  }
}

/** Signs in at the provider and consents, up to its redirect back. */
export async function consent(browser: Browser, page: Page, account: string, until?: string): Promise<Page> {
  const agreed = await browser.submit(page, { login: account, password: 'any' }, until);
  // The provider asks for consent on a page of its own.
  return agreed.text.includes('<form') ? browser.submit(agreed, {}, until) : agreed;
}
