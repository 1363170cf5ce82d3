/** `load()`: publishes the folder of an integration to the service of the tests. */
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { App } from './app.ts';
import type { Mocks } from './fetch-table.ts';
import { serviceProcess } from './service-process.ts';
import type { PublishedFolder } from './test-messages.ts';

export interface LoadOptions {
  /**
   * Values of the secrets that the manifest declares. A secret without a value has a made-up one:
   * neither the environment nor `.env` is read.
   */
  readonly secrets?: Readonly<Record<string, string>>;
  /** Mocks of all installations. */
  readonly fetches?: Mocks;
}

/**
 * Publishes the folder of an integration, and returns it ready to be installed. It runs in an
 * isolate in a confined process, with the limits of production. A folder that was not changed is
 * not published again.
 *
 * @param folder path from the working directory, or a `file:` URL
 * @throws an Error that lists the problems of the folder
 *
 * @example
 * const app = await load('.');
 * const installation = await app.install();
 * const answer = await installation.fetch('/?name=Ada');
 */
export async function load(folder: string | URL = '.', options: LoadOptions = {}): Promise<App> {
  const path = folder instanceof URL ? fileURLToPath(folder) : resolve(folder);
  const service = await serviceProcess();
  const { secrets = {}, fetches } = options;
  const published = await service.ask<PublishedFolder>({ ask: 'publish', folder: path, secrets });
  return new App(service, published, fetches);
}
