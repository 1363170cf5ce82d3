/** `load()`: publishes the folder of an integration to the service of the tests. */
import { readFile } from 'node:fs/promises';
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
  /**
   * Event types that the product declares: the path of a file from the folder, as `annex serve
   * --event-types` takes it, or what such a file has, name → declaration. All integrations of a
   * process share them.
   */
  readonly eventTypes?: string | URL | Readonly<Record<string, object>>;
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
  const { secrets = {}, eventTypes, fetches } = options;
  const published = await service.ask<PublishedFolder>({
    ...{ ask: 'publish', folder: path, secrets },
    ...(eventTypes !== undefined && { eventTypes: await eventTypesOf(eventTypes, path) }),
  });
  return new App(service, published, fetches);
}

async function eventTypesOf(given: NonNullable<LoadOptions['eventTypes']>, folder: string) {
  if (typeof given !== 'string' && !(given instanceof URL))
    return { name: 'eventTypes', text: JSON.stringify(given) };
  const file = given instanceof URL ? fileURLToPath(given) : resolve(folder, given);
  return { name: file, text: await readFile(file, 'utf8') };
}
