/** The page of `annex dev` in a real Chromium, by default on a running service. */
import type { Browser, Page } from 'playwright-core';
import { startChromium, type Watched, watchPage } from '../renderer/chromium.ts';
import type { TestService } from '../service.ts';
import { annex, type Ran } from './annex-run.ts';

export class DevPage {
  readonly page: Page;
  readonly watched: Watched;
  readonly #browser: Browser;
  readonly #endSession: () => Promise<unknown>;

  private constructor(
    [browser, page, watched]: readonly [Browser, Page, Watched],
    endSession: () => Promise<unknown>,
  ) {
    this.page = page;
    this.watched = watched;
    this.#browser = browser;
    this.#endSession = endSession;
  }

  /** Publishes the folder, and opens the page. */
  static async open({ service, admin }: TestService, folder: string): Promise<DevPage> {
    const ending = new AbortController();
    const started = Promise.withResolvers<string>();
    const session: Promise<Ran> = annex({
      words: ['dev', folder, '--service', '--json', '--page-port', '0'],
      env: { ANNEX_URL: service.controlUrl, ANNEX_TOKEN: admin },
      signal: ending.signal,
      onOutput: (output) => {
        const [, url] = /"page":"([^"]+)"/.exec(output) ?? [];
        if (url !== undefined && output.includes('"event":"live"')) started.resolve(url);
      },
    });
    const url = await Promise.race([started.promise, session.then(({ stderr }) => Promise.reject(stderr))]);
    return DevPage.at(url, () => {
      ending.abort('SIGINT');
      return session;
    });
  }

  /** Opens the page of a session. */
  static async at(url: string, endSession: () => Promise<unknown>): Promise<DevPage> {
    const browser = await startChromium();
    const page = await browser.newPage();
    page.setDefaultTimeout(90_000);
    const shown = new DevPage([browser, page, watchPage(page)], endSession);
    await page.goto(url);
    return shown;
  }

  /** What happens, beside the view. */
  get activity() {
    return this.page.getByRole('complementary', { name: 'What happens' });
  }

  /** Shows a view. @param name of the way to it */
  async open(name: string): Promise<void> {
    await this.page.getByRole('navigation').getByRole('link', { name, exact: true }).click();
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
    await this.#endSession();
  }
}
