/**
 * What `check` and `publish` do with a folder: the upload of it, the values of its secrets, the
 * problems that are found before anything is sent, and the check or publish by a service. A refusal
 * is a list of problems, joined with those of the folder; every other failure is thrown.
 */
import { join, relative, resolve } from 'node:path';
import Type, { type Static } from 'typebox';
import { type Annex, AnnexError, type Checked, type Published } from '../../../packages/client/src/index.ts';
import { isError, type Problem } from '../../model/problem.ts';
import type { CommandContext } from '../command.ts';
import { Failure } from '../terminal/failure.ts';
import type { ReportedFiles } from '../terminal/problem-report.ts';
import { type FolderUpload, folderUpload } from './folder-upload.ts';
import { isOfAnnex, type SecretValues, secretValues } from './secret-values.ts';
import { sizeProblems, UPLOAD_MS, uploadForm } from './upload-form.ts';

/** Options of the commands that read a folder. */
export const FOLDER_ARGUMENTS = {
  folder: { help: 'folder of the integration; default: this one', optional: true },
} as const;
export const FOLDER_OPTIONS = {
  manifest: { value: 'file', help: 'the manifest, where the folder has several' },
  env: { value: 'name', help: 'environment of the manifest (its member "envs")' },
  script: { value: 'file', help: 'send this ready script, built by tools of your own' },
} as const;
export const SECRET_OPTIONS = {
  secret: {
    value: 'name[=value]',
    help: 'value of a secret; without "=" that of the variable of this name',
    repeatable: true,
  },
  secretsFile: { value: 'file', help: 'values of secrets and variables, a line NAME=value each' },
} as const;

export interface FolderInput {
  readonly folder: string | undefined;
  readonly manifest: string | undefined;
  readonly env: string | undefined;
  readonly script: string | undefined;
}
export interface SecretInput {
  readonly secret: readonly string[];
  readonly secretsFile: string | undefined;
}

/** A problem as `--json` prints it. */
export const PROBLEM = Type.Object({
  severity: Type.Union([Type.Literal('error'), Type.Literal('warning')]),
  message: Type.String(),
  file: Type.Optional(Type.String({ description: 'Path from the folder of the command.' })),
  line: Type.Optional(Type.Integer()),
  column: Type.Optional(Type.Integer()),
  hint: Type.Optional(Type.String()),
});

export interface PreparedUpload {
  /** Absolute path. */
  readonly folder: string;
  readonly upload: FolderUpload;
  readonly files: ReportedFiles;
}

/** @throws Failure where the folder has no integration */
export async function prepareUpload({ cwd }: CommandContext, input: FolderInput): Promise<PreparedUpload> {
  const folder = resolve(cwd, input.folder ?? '.');
  const { manifest, env: environment, script } = input;
  const upload = await folderUpload({
    folder,
    ...(manifest !== undefined && { manifest }),
    ...(environment !== undefined && { environment }),
    ...(script !== undefined && { script }),
  });
  if ('files' in upload) return { folder, upload, files: reportedFiles(upload, folder, cwd) };
  const [first] = upload.problems;
  const shown = relative(cwd, folder) || '.';
  throw new Failure(`${shown} cannot be uploaded: ${first?.message ?? 'it cannot be read.'}`, {
    code: 'FOLDER_INVALID',
    problems: upload.problems,
    ...(first?.hint !== undefined && { hint: first.hint }),
  });
}

function reportedFiles({ files, manifestFile }: FolderUpload, folder: string, cwd: string): ReportedFiles {
  return {
    shown: (file) =>
      // The service names parts of the form, too.
      file === 'secrets'
        ? file
        : relative(cwd, files.get(file)?.origin ?? join(folder, file)) || manifestFile,
    textOf: (file) => {
      const bytes = files.get(file)?.bytes;
      return bytes && Buffer.from(bytes).toString('utf8');
    },
  };
}

/** The values of the secrets of a manifest; none where it has errors. */
export async function valuesOf(
  { upload, folder }: PreparedUpload,
  { secret, secretsFile: file }: SecretInput,
  { env, cwd }: Pick<CommandContext, 'env' | 'cwd'>,
): Promise<SecretValues> {
  return secretValues(upload.manifest?.secrets ?? {}, { given: secret, file, env, cwd, folder });
}

/** Problems of the folder alone, and whether they keep it from being sent. */
export async function ownProblems(
  { upload }: PreparedUpload,
  service?: Annex,
): Promise<{ readonly problems: readonly Problem[]; readonly isSent: boolean }> {
  const size = await sizeProblems(upload, service);
  return { problems: [...upload.problems, ...size], isSent: size.length === 0 };
}

/**
 * Joins the problems of the folder and those of the service. What the folder knows of a place is
 * nearer to the author than what the service says of the same place.
 */
export function joinProblems(
  own: readonly Problem[],
  its: readonly Problem[],
  open: SecretValues['open'],
): Problem[] {
  const known = new Set(own.map(placeOf));
  const added = its.filter((problem) => problem.line === undefined || !known.has(placeOf(problem)));
  const all = [...own, ...added.map((problem) => withSecretHint(problem, open))];
  return [...all.filter(isError), ...all.filter((problem) => !isError(problem))];
}

const placeOf = ({ file, line, column }: Problem): string => `${file} ${line} ${column}`;

/** The service speaks of parts of a form; a user of the command line has other means. */
function withSecretHint(problem: Problem, open: SecretValues['open']): Problem {
  const [, name = ''] =
    /^The secret "(\w+)" (?:needs the variable|is empty|has no value)/.exec(problem.message) ?? [];
  if (!open.has(name)) return problem;
  const variable = open.get(name);
  const places = isOfAnnex(variable ?? '')
    ? '.env of the folder'
    : 'the environment or in .env of the folder';
  const by = variable === undefined ? '' : `Set ${variable} in ${places}, or `;
  const given = `${by === '' ? 'Give' : 'give'} it with --secret ${name} (from the variable ${name}) or --secrets-file.`;
  return { ...problem, hint: `${by}${given}` };
}

/** As `--json` prints it. */
export const problemView = (
  { severity, message, file, line, column, hint }: Problem,
  files: ReportedFiles,
): Static<typeof PROBLEM> => ({
  ...{ severity, message },
  ...(file !== undefined && { file: files.shown(file) }),
  ...(line !== undefined && { line }),
  ...(column !== undefined && { column }),
  ...(hint !== undefined && { hint }),
});

export interface Asked {
  readonly checked?: Checked;
  readonly problems: readonly Problem[];
}

/** Has a service check an upload. */
export async function askService(annex: Annex, form: FormData, signal: AbortSignal): Promise<Asked> {
  try {
    const checked = await annex.integrations.check(form, { signal, timeoutMs: UPLOAD_MS, retries: 0 });
    return { checked, problems: checked.warnings as readonly Problem[] };
  } catch (error) {
    return { problems: refusalOf(error) };
  }
}

interface PublishRequest {
  readonly secrets: SecretValues;
  readonly overwriteSecrets: boolean;
  readonly signal: AbortSignal;
  /** Called with the number of bytes of each piece, as it is sent. */
  readonly sent?: ((bytes: number) => void) | undefined;
}

/** What became of a publish: a version with its warnings, or the problems that refused it. */
export type PublishOutcome =
  | (Pick<Published, 'integration' | 'version' | 'waits'> & {
      readonly ok: true;
      readonly problems: readonly Problem[];
    })
  | { readonly ok: false; readonly problems: readonly Problem[] };

export async function publishUpload(
  annex: Annex,
  prepared: PreparedUpload,
  { secrets, overwriteSecrets, signal, sent }: PublishRequest,
): Promise<PublishOutcome> {
  const { problems: own, isSent } = await ownProblems(prepared, annex);
  const form = () => uploadForm(prepared.upload, { secrets: secrets.values, overwriteSecrets, sent });
  const refused = (its: readonly Problem[]) =>
    ({ ok: false, problems: joinProblems(own, its, secrets.open) }) as const;
  // Nothing is published, and the author sees the problems that the service has with the rest.
  if (own.some(isError)) return refused(isSent ? (await askService(annex, form(), signal)).problems : []);
  try {
    const { warnings, ...published } = await annex.integrations.publish(form(), {
      signal,
      timeoutMs: UPLOAD_MS,
      retries: 0,
    });
    const problems = joinProblems(own, warnings as readonly Problem[], NONE_OPEN);
    return { ok: true, ...published, problems };
  } catch (error) {
    return refused(refusalOf(error));
  }
}

const NONE_OPEN: SecretValues['open'] = new Map();

/** @throws what is no refusal of an upload */
function refusalOf(error: unknown): readonly Problem[] {
  if (error instanceof AnnexError && error.code === 'PUBLISH_INVALID')
    return error.problems as readonly Problem[];
  throw error;
}
