/**
 * A real Chromium, of the machine's packages. It resolves no name and reaches this machine alone.
 */
import { type Browser, chromium, type Page } from 'playwright-core';
import { pathOf } from '../programs.ts';

export function startChromium(): Promise<Browser> {
  return chromium.launch({
    executablePath: pathOf('chromium') ?? '',
    // Its sandbox needs namespaces, which a container may forbid. Its pages are those of the tests.
    args: [
      ...['--no-sandbox', '--disable-gpu', '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1'],
      // Nobody listens there, and the machine itself is reached without it: so is no other address.
      '--proxy-server=127.0.0.1:1',
    ],
  });
}

/** What a page must not do. */
export interface Watched {
  /** Errors in the console, and of scripts. */
  readonly errors: string[];
  /** Requests that would leave this machine; none does. A policy that stops one is an error. */
  readonly foreign: string[];
}

/** The path of a drawing. The browser notes the status of one that is refused as an error. */
const DRAWING = /\/render\b/;

/**
 * Watches a new page, without a word to the browser: requests that pass through the test cost a
 * busy machine seconds, and the browser its cache.
 */
export function watchPage(page: Page): Watched {
  const errors: string[] = [];
  const foreign: string[] = [];
  page.on('pageerror', (error) => void errors.push(String(error)));
  page.on('console', (message) => {
    if (message.type() === 'error' && !DRAWING.test(message.location().url)) errors.push(message.text());
  });
  page.context().on('request', (request) => {
    const { hostname, protocol } = new URL(request.url());
    if (hostname !== '127.0.0.1' && protocol !== 'data:') foreign.push(request.url());
  });
  return { errors, foreign };
}
