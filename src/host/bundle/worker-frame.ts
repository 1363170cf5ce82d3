/**
 * What surrounds the code of a worker that gets requests (`sandbox/worker/worker.ts`), and how such
 * code is recognised where the manifest does not say what it is
 * (docs/contract/plain-workers.md#detection).
 *
 * Code that is in doubt gets envelopes, as it always did, and its publisher is told.
 */
import { isCode } from '../../imports/source-options.ts';
import type { WorkerSettings } from '../../model/manifest/worker.ts';
import { type Problem, warning } from '../../model/problem.ts';

export interface WorkerFrame {
  readonly settings: Omit<WorkerSettings, 'takesRequests'>;
  /** Whether it registers `addEventListener('fetch', …)`. */
  readonly listens: boolean;
}

/** The names that the manifest puts into `env`. */
export const envNames = ({ vars, secrets, kv, assets }: WorkerFrame['settings']): string[] => [
  ...Object.keys(vars),
  ...secrets,
  ...kv,
  ...(assets === undefined ? [] : [assets]),
];

/** Path of the module that runs before the first line of a worker. */
export const START = 'start';

/**
 * A generated module that imports the entrypoint.
 *
 * @param run the function that receives the namespace of the entry module
 */
export function frameModule(path: string, run: string, worker: WorkerFrame | undefined): string {
  if (worker === undefined) return `import * as entry from 'entry'; ${run}(entry);`;
  const { settings, listens } = worker;
  const listeners = listens ? "import { listening, setGlobals } from 'listeners.ts';" : '';
  if (path === START) {
    const text = `JSON.parse(${JSON.stringify(JSON.stringify(settings))})`;
    const globals = listens ? 'setGlobals(settings);' : '';
    return `import { setUpWorker } from 'worker.ts'; ${listeners} const settings = ${text}; setUpWorker(settings); ${globals}`;
  }
  const given = listens ? 'entry, listening' : 'entry';
  return `import '${START}'; import * as entry from 'entry'; import { workerOf } from 'worker.ts'; ${listeners} ${run}({ default: workerOf(${given}) });`;
}

const LISTENS = /\baddEventListener\s*\(\s*['"`]fetch['"`]/;
const IMPORTS_ENV = /['"]cloudflare:workers['"]/;
const EXPORTS = /\bexport\b|\bmodule\.exports\b|\bexports\.\w/;
const HAS_DEFAULT = /\bexport\s+default\b|\bas\s+default\b/;
/** What a handler asks of its request; to others it does not matter what they get. */
const ASKS =
  /\breq(?:uest)?\.(?:url|method|headers|json)\b|\bnew Hono\b|\b(?:AutoRouter|IttyRouter|Router)\(/;
const OF_SDK = /['"]@annex\/sdk['"]|annex\.integration/;
/** A part of each envelope with a body; who reads one names it. */
const BODY_PART = 'fetch-body';
const CONFIGURATION = /^wrangler\.(?:toml|jsonc?)$/;
/** A larger file is not looked at. */
const FILE_BYTES_MAX = 2 * 1024 * 1024;

/**
 * @param folder of the manifest, with a slash at its end; empty for the root
 * @returns the frame, if the code is a worker, and what the publisher is told
 */
export function detectWorker(
  upload: ReadonlyMap<string, Uint8Array>,
  entry: string,
  { takesRequests, folder, ...settings }: WorkerSettings & { readonly folder: string },
): { readonly worker?: WorkerFrame; readonly problems: readonly Problem[] } {
  if (takesRequests === false) return { problems: [] };
  const own = [...upload.entries()].flatMap(([path, bytes]) =>
    path.includes('node_modules/') || !isCode(path) || bytes.byteLength > FILE_BYTES_MAX
      ? []
      : [{ path, source: Buffer.from(bytes).toString('latin1') }],
  );
  const listens = own.some(({ source }) => LISTENS.test(source));
  const worker = { settings, listens };
  if (takesRequests) return { worker, problems: [] };
  if (own.some(({ source }) => OF_SDK.test(source))) return { problems: [] };
  const entrySource = own.find(({ path }) => path === entry)?.source ?? '';
  const wrangler = [...upload.keys()].find(
    (path) => path.startsWith(folder) && CONFIGURATION.test(path.slice(folder.length)),
  );
  const reason =
    wrangler !== undefined
      ? `there is a "${wrangler}"`
      : listens && !EXPORTS.test(entrySource)
        ? 'it registers a listener for "fetch" and exports nothing'
        : own.some(({ source }) => IMPORTS_ENV.test(source))
          ? 'it imports "cloudflare:workers"'
          : undefined;
  if (reason !== undefined) {
    const message = `The code is a worker that receives requests as they were sent, because ${reason}.`;
    const hint = 'Write "entry: request" in the manifest to say so, or "entry: envelope" for envelopes.';
    return { worker, problems: [warning(message, { file: entry, hint })] };
  }
  const readsEnvelopes =
    own.some(({ source }) => source.includes('formData') && /['"`]event['"`]/.test(source)) ||
    [...upload.values()].some((bytes) =>
      Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).includes(BODY_PART),
    );
  if (readsEnvelopes || !HAS_DEFAULT.test(entrySource) || !own.some(({ source }) => ASKS.test(source)))
    return { problems: [] };
  const message =
    'The code seems to expect requests, and receives envelopes (POST /v1): nothing in it reads one.';
  const hint =
    'Write "entry: request" in the manifest for requests, or "entry: envelope" if envelopes are meant.';
  return { problems: [warning(message, { file: entry, hint })] };
}
