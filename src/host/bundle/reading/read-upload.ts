/**
 * Reads one upload up to the bundling of its code: parts, manifest, secrets, images and entrypoint,
 * and every problem with them.
 *
 * Runs in the process of the upload, under its deadline and memory limit. The host receives the
 * result as bounded JSON and validates it again (`reading.ts`).
 */

import { isCode } from '../../../imports/source-options.ts';
import type { Limits } from '../../../limits.ts';
import { absentHint } from '../../../model/manifest/absent-file.ts';
import { checkManifest, type ManifestRules, type ParsedManifest } from '../../../model/manifest/manifest.ts';
import { resolveSecrets } from '../../../model/manifest/secrets.ts';
import { readYaml } from '../../../model/manifest/yaml-source.ts';
import { quote } from '../../../model/plain-text.ts';
import { isError, type Problem, problem } from '../../../model/problem.ts';
import type { UploadForm } from '../upload-form.ts';
import { collectImages, type NamedImage } from './images.ts';
import { type ReceivedUpload, readForm } from './read-form.ts';
import { inspectedPaths, PROBLEMS_MAX, READY_SCRIPT, REFUSALS_MAX, type ReadingMessage } from './reading.ts';

const PAGES_SCRIPT = 'assets.js';
const pagesScript = (binding: string) =>
  `export default { fetch: (request, env) => env[${JSON.stringify(binding)}].fetch(request) };`;

/** Result of reading: the message for the host, and the code, which the process keeps. */
export interface UploadRead {
  readonly message: ReadingMessage;
  /** In the order of `message.images`. */
  readonly images: readonly NamedImage[];
  /** Path → bytes of the code; of no use where the parts were refused. */
  readonly files: ReadonlyMap<string, Uint8Array>;
}

/** Reads one upload. Invalid uploads become problems and never throw. */
export async function readUpload(
  form: UploadForm,
  { limits, rules }: { readonly limits: Limits; readonly rules: ManifestRules },
): Promise<UploadRead> {
  const received = await readForm(form, limits);
  if (!received.ok) {
    const problems = received.problems.slice(0, REFUSALS_MAX);
    return { message: { t: 'refused', problems, more: 0 }, images: [], files: form.files };
  }
  const { upload } = received;
  const source = readYaml(upload.manifest, upload.manifestFile);
  const { environment } = upload;
  const parsed = checkManifest(source, environment === undefined ? rules : { ...rules, environment });
  const problems: Problem[] = [...(parsed.ok ? parsed.warnings : parsed.problems)];
  const contents = parsed.ok ? contentsOf(upload, parsed, limits, problems) : NOTHING;
  const code = codeOf(upload, parsed, problems);
  const message: ReadingMessage = {
    t: 'read',
    ...shown(problems),
    ...(code.entry !== undefined && { entry: code.entry }),
    ...(parsed.ok && {
      manifest: source.value,
      manifestFile: upload.manifestFile,
      ...(environment !== undefined && { environment }),
      places: inspectedPaths(parsed.manifest).map((path) => {
        const { line, column } = parsed.placeOf(path);
        return [line, column] as const;
      }),
    }),
    secrets: [...contents.secrets],
    unsent: contents.unsent,
    images: contents.images.map(({ path }) => path),
  };
  return { message, images: contents.images, files: code.files };
}

interface Contents {
  readonly unsent: readonly string[];
  readonly secrets: ReadonlyMap<string, string>;
  readonly images: readonly NamedImage[];
}

const NOTHING: Contents = { secrets: new Map(), unsent: [], images: [] };

/** Returns the secrets and images of an upload; adds their problems to `problems`. */
function contentsOf(
  upload: ReceivedUpload,
  { manifest, placeOf }: ParsedManifest & { ok: true },
  limits: Limits,
  problems: Problem[],
): Contents {
  const resolved = resolveSecrets({ manifest, values: upload.secrets, limits, placeOf });
  const { files, folder } = upload;
  const collected = collectImages({ manifest, placeOf, files, folder, limits });
  const found = [...resolved.problems, ...collected.problems];
  problems.push(...found);
  const { secrets, unsent } = resolved;
  // The host cannot use refused contents, but says which secrets have no value.
  return found.some(isError) ? { ...NOTHING, unsent } : { secrets, unsent, images: collected.images };
}

/** The files of the code, and its entrypoint; adds problems to `problems`. */
function codeOf(
  upload: ReceivedUpload,
  parsed: ParsedManifest,
  problems: Problem[],
): Pick<UploadRead, 'files'> & { readonly entry?: string | undefined } {
  const { script, files } = upload;
  if (script !== undefined)
    return { entry: READY_SCRIPT, files: new Map([[READY_SCRIPT, Buffer.from(script, 'utf8')]]) };
  const assets = parsed.ok && parsed.manifest.script === undefined ? parsed.manifest.assets : undefined;
  if (assets === undefined) return { entry: entryOf(upload, parsed, problems), files };
  // A site without code: its worker hands out files.
  const pages = Buffer.from(pagesScript(assets.binding));
  return { entry: PAGES_SCRIPT, files: new Map([[PAGES_SCRIPT, pages]]) };
}

/** Returns the path of the entrypoint; adds its problems to `problems`. */
function entryOf(upload: ReceivedUpload, parsed: ParsedManifest, problems: Problem[]): string | undefined {
  const script = parsed.ok ? (parsed.manifest.script ?? null) : parsed.script;
  if (script === null) {
    const hint = 'Add, for instance, "script: src/index.ts".';
    problems.push(
      problem('"script" must name the entrypoint among the files.', { file: upload.manifestFile, hint }),
    );
  }
  // Undefined: the manifest could not be read that far, and its problems already say so.
  if (script === null || script === undefined) return undefined;
  const entry = `${upload.folder}${script.replace(/^(\.\/)+/, '')}`;
  if (upload.files.has(entry) && isCode(entry)) return entry;
  if (upload.files.has(entry)) {
    const hint = 'Name the file that has the default export, such as src/index.ts.';
    const message = `"script" names ${quote(script)}, which is no JavaScript or TypeScript file.`;
    problems.push(problem(message, { ...parsed.placeOf(['script']), hint }));
    return undefined;
  }
  const hint = absentHint(entry, upload.files) ?? 'Name an uploaded file, relative to the manifest.';
  problems.push(
    problem(`The entrypoint ${quote(script)} is not among the uploaded files.`, {
      ...parsed.placeOf(['script']),
      hint,
    }),
  );
  return undefined;
}

/**
 * Truncates the problems, errors first: an omitted problem must not be the reason of the refusal.
 */
function shown(problems: readonly Problem[]): {
  readonly problems: readonly Problem[];
  readonly more: number;
} {
  if (problems.length <= PROBLEMS_MAX) return { problems, more: 0 };
  const sorted = [...problems.filter(isError), ...problems.filter((found) => !isError(found))];
  return { problems: sorted.slice(0, PROBLEMS_MAX), more: problems.length - PROBLEMS_MAX };
}
