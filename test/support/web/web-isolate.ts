/**
 * A bare isolate with the web platform of `sandbox/web` and nothing of the host, for tests of the
 * sandbox. Bundled as for a cell; snippets are evaluated inside, and results cross as JSON text.
 */
import { domainToASCII } from 'node:url';
import { build } from 'esbuild';
import ivm from 'isolated-vm';
import { PARTS } from '../../../sandbox/parts/names.ts';
import { builtOnce, cellSources } from '../built-once.ts';

const SANDBOX = new URL('../../../sandbox/', import.meta.url).pathname;

/**
 * What a snippet sees as `prelude`, besides the globals: entry points that only the prelude calls.
 */
const ENTRY = `
  import { createConsole } from './web/console/console.ts';
  import * as byteSources from './web/streams/byte-source.ts';
  import { WholeSource } from './web/fetch/whole-source.ts';
  import { setDomainToAscii } from './web/url/domain.ts';
  import { fileOver } from './web/fetch/blob.ts';
  import { formOf } from './web/fetch/form-data.ts';
  import { formatError } from './web/console/format-error.ts';
  import { installGlobals } from './web/globals.ts';
  import { inspect } from './web/console/inspect.ts';
  import { setParts } from './web/parts.ts';
  import { makeRequest, takeRequest } from './web/fetch/request.ts';
  import { makeResponse, takeResponse } from './web/fetch/response.ts';
  import * as streams from './web/streams/stream.ts';
  const { host, parts } = globalThis;
  delete globalThis.host;
  delete globalThis.parts;
  setDomainToAscii((domain) => host(domain));
  setParts(${JSON.stringify(PARTS)}, parts);
  const lines = [];
  const thrown = [];
  installGlobals(globalThis, {
    console: createConsole((level, text) => lines.push([level, text])),
    onUncaught: (error) => thrown.push(formatError(error)),
  });
  const readAllBytes = async (reader) =>
    (await byteSources.collectBytes(new byteSources.ReaderSource(reader))).bytes;
  const streamState = (stream) => /state: '(\\w+)'/.exec(inspect(stream))[1];
  globalThis.prelude = { ...byteSources, readAllBytes, streamState, setParts, WholeSource, makeResponse, takeRequest, fileOver, formOf, formatError, inspect, lines, makeRequest, setDomainToAscii, streams, stringify: JSON.stringify, takeResponse, thrown };
`;

/** The script of the web platform, minified as in a cell. */
export const webBundle: Promise<string> = builtOnce('web-bundle.json', async () => {
  const result = await build({
    stdin: { contents: ENTRY, resolveDir: SANDBOX, loader: 'ts' },
    bundle: true,
    format: 'iife',
    platform: 'neutral',
    mainFields: ['module', 'main'],
    target: 'esnext',
    minify: true,
    keepNames: false,
    write: false,
  });
  return result.outputFiles[0]?.text ?? '';
});

const partSources = cellSources().then(({ isolate: [, ...parts] }) =>
  parts.map((text) => new ivm.ExternalCopy(text)),
);

export interface WebIsolate {
  /** Runs the body of an async function inside. @returns its result */
  run(body: string): Promise<unknown>;
  dispose(): void;
}

export async function createWebIsolate(options: { memoryMib?: number } = {}): Promise<WebIsolate> {
  const isolate = new ivm.Isolate({ memoryLimit: options.memoryMib ?? 64 });
  const context = await isolate.createContext();
  await context.global.set('host', new ivm.Callback((domain: string) => domainToASCII(domain)));
  await context.evalClosure(
    'globalThis.parts = [...arguments];',
    (await partSources).map((text) => text.copyInto()),
  );
  await context.eval(await webBundle);
  return {
    run: async (body) => {
      const script = `(async () => { ${body} })().then((value) => prelude.stringify({ value }))`;
      const text: unknown = await context.eval(script, { promise: true, timeout: 60_000 });
      return (JSON.parse(String(text)) as { value?: unknown }).value;
    },
    dispose: () => isolate.dispose(),
  };
}
