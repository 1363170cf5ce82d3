/** `annex dev` on a running service, and its page in a real Chromium. */
import type { Browser, Page } from 'playwright-core';
import { startChromium } from '../renderer/chromium.ts';
import type { TestService } from '../service.ts';
import { annex, type Ran } from './annex-run.ts';

export class DevPage {
  readonly page: Page;
  /** Errors in the console, and of scripts. */
  readonly faults: string[] = [];
  /** Requests that would leave this machine. */
  readonly foreign: string[] = [];
  readonly #browser: Browser;
  readonly #ending: AbortController;
  readonly #session: Promise<Ran>;

  private constructor(page: Page, browser: Browser, ending: AbortController, session: Promise<Ran>) {
    this.page = page;
    this.#browser = browser;
    this.#ending = ending;
    this.#session = session;
  }

  /** Publishes the folder, and opens the page. */
  static async open({ service, admin }: TestService, folder: string): Promise<DevPage> {
    const ending = new AbortController();
    const started = Promise.withResolvers<string>();
    const session = annex({
      words: ['dev', folder, '--service', '--json', '--page-port', '0'],
      env: { ANNEX_URL: service.controlUrl, ANNEX_TOKEN: admin },
      signal: ending.signal,
      onOutput: (output) => {
        const [, url] = /"page":"([^"]+)"/.exec(output) ?? [];
        if (url !== undefined && output.includes('"event":"live"')) started.resolve(url);
      },
    });
    const url = await Promise.race([started.promise, session.then(({ stderr }) => Promise.reject(stderr))]);
    const browser = await startChromium();
    const shown = new DevPage(await browser.newPage(), browser, ending, session);
    await shown.#watch();
    await shown.page.goto(url);
    return shown;
  }

  /** The drawing of a component among those of the manifest. */
  drawing(id: string) {
    return this.component(id).locator('.drawing');
  }

  component(id: string) {
    const { page } = this;
    return page
      .getByRole('region', { name: 'Components' })
      .getByRole('article')
      .filter({ has: page.getByRole('heading', { name: id, exact: true }) });
  }

  async end(): Promise<void> {
    await this.#browser.close();
    this.#ending.abort('SIGINT');
    await this.#session;
  }

  async #watch(): Promise<void> {
    const { page, faults, foreign } = this;
    page.setDefaultTimeout(30_000);
    page.on('pageerror', (error) => void faults.push(String(error)));
    page.on('console', (message) => {
      // The browser notes the status of a drawing that is refused.
      if (message.type() === 'error' && !/\/render\b/.test(message.location().url))
        faults.push(message.text());
    });
    await page.context().route('**', async (route) => {
      const { hostname, protocol } = new URL(route.request().url());
      if (hostname === '127.0.0.1' || protocol === 'data:') return route.continue();
      foreign.push(route.request().url());
      return route.abort();
    });
  }
}
