/**
 * The texts that the npm package `annex` carries in the place of sources and tools
 * (`src/own-files.ts`), made by the same code that makes them when a clone starts.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { NODE_SOURCE } from '../src/host/bundle/node-source.ts';
import { scriptOf } from '../src/host/http/control/session-page.ts';
import { cellSources } from '../src/host/launch/cell-sources.ts';
import { SDK_SOURCE } from '../src/imports/sdk-source.ts';
import { bundleLibraries } from '../src/libraries.ts';
import { PREBUILT_FILES } from '../src/own-files.ts';
import { devPageScript } from './dev-page/page-files.ts';

export interface Prebuilt {
  readonly sdkDeclarations: string;
}

export async function writePrebuilt(folder: string, { sdkDeclarations }: Prebuilt): Promise<void> {
  const texts: Record<keyof typeof PREBUILT_FILES, string> = {
    cellSources: JSON.stringify(await cellSources()),
    sdkSource: JSON.stringify(Object.fromEntries(SDK_SOURCE)),
    nodeSource: JSON.stringify(Object.fromEntries(NODE_SOURCE)),
    sdkDeclarations,
    devPage: await devPageScript(),
    console: await scriptOf('console'),
    portal: await scriptOf('portal'),
  };
  await mkdir(folder, { recursive: true });
  await bundleLibraries(join(folder, 'libraries'));
  for (const [name, text] of Object.entries(texts))
    await writeFile(join(folder, PREBUILT_FILES[name as keyof typeof PREBUILT_FILES]), text);
}
