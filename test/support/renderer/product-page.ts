/**
 * A host product with one page: its backend forwards drawings to a real service with its token, its
 * page has a strict policy, and a real Chromium shows it.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { Browser, CDPSession, Locator, Page } from 'playwright-core';
import { componentsModule, tagModule } from '../../../packages/components/build.ts';
import { builtOnce } from '../built-once.ts';
import type { Installed, TestService } from '../service.ts';
import { startChromium, type Watched, watchPage } from './chromium.ts';
import { PRODUCT_SCRIPT } from './product-script.ts';
import { reactPage } from './react-page.ts';

/** Nothing is allowed but what the renderer needs: no inline script or style, no text as HTML. */
const POLICY = [
  "default-src 'none'; script-src 'self'; connect-src http://127.0.0.1:*; img-src http://127.0.0.1:*",
  "frame-src http://127.0.0.1:*; base-uri 'none'; form-action 'none'",
  "require-trusted-types-for 'script'; trusted-types 'none'",
].join('; ');
const DOCUMENT = `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Product</title>
<meta name="viewport" content="width=device-width"><script type="module" src="/product.js"></script></head>
<body><main></main></body></html>`;

export interface Shown {
  readonly componentId: string;
  readonly props?: object;
  readonly context?: object;
  readonly theme?: 'light' | 'dark';
  readonly dir?: 'ltr' | 'rtl';
  /** Answers instead of those of the service. */
  readonly answers?: readonly unknown[];
}

/** What a page was told first: of a drawing, a failure or the end. */
export interface Told {
  readonly event: 'render' | 'complete' | 'error';
  readonly nodes: number;
  readonly slices: number;
  readonly cut: boolean;
}

export class ProductPage {
  readonly page: Page;
  readonly #session: CDPSession;
  readonly #watched: Watched;
  readonly #browser: Browser;
  readonly #server: Server;

  private constructor(parts: {
    browser: Browser;
    server: Server;
    page: Page;
    session: CDPSession;
    watched: Watched;
  }) {
    this.#browser = parts.browser;
    this.#server = parts.server;
    this.page = parts.page;
    this.#session = parts.session;
    this.#watched = parts.watched;
  }

  /**
   * @param shown an installation whose components the page shows; none if it answers itself
   * @param started a browser in the place of its own
   */
  static async start(
    shown?: { service: TestService; integration: string; installed: Installed },
    started?: Browser,
  ): Promise<ProductPage> {
    const module = await builtOnce('components-module.json', componentsModule);
    const configuration = await builtOnce('configuration-module.json', () => tagModule('configuration', ''));
    const webhooks = await builtOnce('webhooks-module.json', () => tagModule('webhooks', ''));
    const menu = await builtOnce('insert-menu-module.json', () => tagModule('insert-menu', ''));
    const withReact = await builtOnce('react-page.json', reactPage);
    const files = new Map([
      ['/', ['text/html', DOCUMENT]],
      ['/product.js', ['text/javascript', PRODUCT_SCRIPT]],
      ['/index.js', ['text/javascript', module]],
      ['/configuration.js', ['text/javascript', configuration]],
      ['/webhooks.js', ['text/javascript', webhooks]],
      ['/insert-menu.js', ['text/javascript', menu]],
      ['/react-page.js', ['text/javascript', withReact]],
    ] as const);
    const server = createServer(async (request, response) => {
      const [type, body] = files.get((request.url ?? '') as '/') ?? [];
      if (body !== undefined)
        response.writeHead(200, { 'content-type': type, 'content-security-policy': POLICY }).end(body);
      else if (request.url === '/render' && shown !== undefined) await forward(request, response, shown);
      else if (request.url?.startsWith('/ui-token') && shown !== undefined)
        response.end(JSON.stringify(await uiToken(`http://${request.headers.host}`, request.url, shown)));
      else response.writeHead(204).end();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const browser = started ?? (await startChromium());
    const page = await browser.newPage();
    const session = await page.context().newCDPSession(page);
    const product = new ProductPage({ browser, server, page, session, watched: watchPage(page) });
    await product.#open(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
    return product;
  }

  async #open(url: string): Promise<void> {
    const { page } = this;
    page.setDefaultTimeout(60_000);
    await page.goto(url);
    await page.locator('html[data-ready]').waitFor({ state: 'attached' });
  }

  /** Another page of the browser, which is not watched. */
  newPage(): Promise<Page> {
    return this.#browser.newPage();
  }

  /** Errors in the console, and of scripts. */
  get errors(): readonly string[] {
    return this.#watched.errors;
  }

  /** Requests that would leave this machine. */
  get foreign(): readonly string[] {
    return this.#watched.foreign;
  }

  /**
   * Shows a component in place of the one before. @returns its first drawing, or why there is none
   */
  mount(shown: Shown): Promise<Told> {
    // Parsed in the page: as code, a member `__proto__` would be another thing.
    return this.run(`product.mount(JSON.parse(${JSON.stringify(JSON.stringify(shown))}))`);
  }

  /** Runs code in the page. Unlike `page.evaluate`, it does not count as an act of the user. */
  async run<T>(code: string): Promise<T> {
    const parameters = { expression: code, awaitPromise: true, returnByValue: true };
    const { result, exceptionDetails } = await this.#session.send('Runtime.evaluate', parameters);
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value as T;
  }

  /** Composes characters in the field that has the focus, as an input method does. */
  async compose(text: string): Promise<void> {
    const selectionStart = text.length;
    await this.#session.send('Input.imeSetComposition', {
      text,
      selectionStart,
      selectionEnd: selectionStart,
    });
  }

  get component(): Locator {
    return this.page.locator('annex-component');
  }

  get configuration(): Locator {
    return this.page.locator('annex-configuration');
  }

  get webhooks(): Locator {
    return this.page.locator('annex-webhooks');
  }

  button(name: string): Locator {
    return this.component.getByRole('button', { name, exact: true });
  }

  field(name: string): Locator {
    return this.component.getByLabel(name, { exact: true });
  }

  /** Requests for drawings since the component was mounted. */
  requests(): Promise<Record<string, unknown>[]> {
    return this.run('product.requests');
  }

  /** What the component has told the page, of one kind. */
  async told(name: string): Promise<unknown[]> {
    const events = await this.run<[string, unknown][]>('product.events');
    return events.filter(([kind]) => kind === name).map(([, detail]) => detail);
  }

  async stop(): Promise<void> {
    await this.#browser.close();
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

/** The product's backend: it makes a token for the page that asks. */
async function uiToken(
  origin: string,
  asked: string,
  { service, integration, installed }: { service: TestService; integration: string; installed: Installed },
): Promise<{ token: unknown; target: string }> {
  const { searchParams } = new URL(asked, origin);
  const place = searchParams.get('place') ?? '';
  const path = `/v1/integrations/${integration}/installations/${installed.id}${place}`;
  const { body } = await service.api('POST', `${path}/ui-tokens`, {
    token: service.platform,
    json: { origins: [origin], ...(searchParams.has('webhook') && { webhook: true }) },
  });
  return { token: body['token'], target: `${service.service.controlUrl}${path}` };
}

/** The product's backend: it adds its token, and passes on status, body and `Cache-Control`. */
async function forward(
  request: IncomingMessage,
  response: ServerResponse,
  { service, integration, installed }: { service: TestService; integration: string; installed: Installed },
): Promise<void> {
  const url = `${service.service.controlUrl}/v1/integrations/${integration}/installations/${installed.id}/render`;
  const headers = { authorization: `Bearer ${service.platform}`, 'content-type': 'application/json' };
  const answer = await fetch(url, { method: 'POST', headers, body: await text(request) });
  const cacheControl = answer.headers.get('cache-control') ?? 'no-store';
  response
    .writeHead(answer.status, { 'content-type': 'application/json', 'cache-control': cacheControl })
    .end(await answer.text());
}
