/** `annex publish`: publishes the integration of a folder, with the packages that it imports. */
import { join, relative } from 'node:path';
import Type from 'typebox';
import { variableOf } from '../../model/manifest/secrets.ts';
import { isError, type Problem } from '../../model/problem.ts';
import { isIn, realPath } from '../../real-files.ts';
import type { CommandContext } from '../command.ts';
import { type Command, defineCommand } from '../command.ts';
import { Failure } from '../terminal/failure.ts';
import { type Painted, paint } from '../terminal/output.ts';
import { printProblems } from '../terminal/problem-report.ts';
import { installOnce, pendingText } from '../traffic/installation.ts';
import {
  FOLDER_ARGUMENTS,
  FOLDER_OPTIONS,
  PROBLEM,
  type PreparedUpload,
  prepareUpload,
  problemView,
  publishUpload,
  SECRET_OPTIONS,
  valuesOf,
} from '../upload/prepared-upload.ts';
import { sizeText, uploadProgress, weightOf } from '../upload/upload-form.ts';

const INSTALLED = Type.Object({
  id: Type.String(),
  organization: Type.String(),
  publicEndpoint: Type.String(),
  isNew: Type.Boolean(),
  status: Type.Enum(['active', 'pending', 'paused']),
});
const LISTED = Type.Object({
  path: Type.String(),
  bytes: Type.Integer(),
  package: Type.Union([Type.String(), Type.Null()]),
  from: Type.String({ description: 'The file on this disk, by its path without links.' }),
});

export const publish: Command = defineCommand({
  name: 'publish',
  summary: 'publish the integration of a folder',
  description: [
    'Uploads the manifest, its images, and exactly the files that the entrypoint imports, in the folder and in node_modules. The service bundles them, makes the version the active one, and answers with every problem at once otherwise.',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is an expression of a manifest
    'Secrets that the service has stay. For the others, ${{ env.NAME }} of the manifest is looked up in --secrets-file, in the environment and in .env of the folder.',
    'Files that hold credentials, such as .env and private keys, and those that .annexignore names, are never uploaded.',
  ],
  arguments: FOLDER_ARGUMENTS,
  options: {
    ...FOLDER_OPTIONS,
    ...SECRET_OPTIONS,
    overwriteSecrets: { help: 'let the values that are found replace those that the service has' },
    install: { value: 'organization', help: 'install it for this organization, unless it is installed' },
    list: { help: 'list the files and variables that would be sent, and stop' },
  },
  examples: [
    { line: 'annex publish', does: 'publish the integration in this folder' },
    { line: 'annex publish hello --install acme', does: 'publish the folder hello and install it for acme' },
    { line: 'annex publish --list', does: 'see what would be uploaded' },
    { line: 'annex publish --secret CLIENT_SECRET', does: 'take a secret from the variable CLIENT_SECRET' },
  ],
  json: Type.Union([
    Type.Object({
      integration: Type.String(),
      version: Type.Integer(),
      waits: Type.Optional(Type.Object({ activeVersion: Type.Integer() })),
      files: Type.Integer(),
      bytes: Type.Integer(),
      warnings: Type.Array(PROBLEM),
      installation: Type.Union([INSTALLED, Type.Null()]),
    }),
    Type.Object({ manifest: Type.String(), bytes: Type.Integer(), files: Type.Array(LISTED) }),
  ]),
  async run(context, input) {
    const { output, signal } = context;
    const prepared = await prepareUpload(context, input);
    if (input.list) return listed(context, prepared);
    const secrets = await valuesOf(prepared, input, context);
    const annex = await context.client();
    const { files, bytes } = weightOf(prepared.upload);
    const { overwriteSecrets } = input;
    const sent = uploadProgress(context, prepared.upload);
    const outcome = await publishUpload(annex, prepared, { secrets, overwriteSecrets, signal, sent });
    if (!outcome.ok) throw refusal(context, prepared, outcome.problems);
    const { integration, version, waits, problems: shown } = outcome;
    printProblems(shown, prepared.files, { line: (...pieces) => output.talk(...pieces) });
    const installation =
      input.install === undefined ? null : await installOnce(annex, integration, input.install, signal);
    const value = { integration, version, ...(waits && { waits }), files, bytes, installation };
    output.result(
      { ...value, warnings: shown.map((problem) => problemView(problem, prepared.files)) },
      () => {
        output.line(paint('green', 'published '), `${integration}, version ${version}`);
        if (waits) output.line(waitingText(version, waits.activeVersion));
        if (installation === null) return;
        const { id, organization, publicEndpoint, isNew, status } = installation;
        output.line(`${isNew ? 'installed' : 'is installed'} for ${organization}: ${id}`);
        output.line(publicEndpoint);
        if (status === 'pending') output.talk(pendingText({ integration, organization }));
      },
    );
  },
});

const waitingText = (version: number, active: number): string =>
  `version ${version} waits for the operator's approval; ${
    active === version ? 'your organization runs it meanwhile' : `version ${active} goes on`
  }`;

/** Prints the problems, and returns the failure that names their number. */
function refusal(
  { output }: CommandContext,
  { upload, files }: PreparedUpload,
  problems: readonly Problem[],
): Failure {
  if (!output.isJson) printProblems(problems, files, { line: (...pieces) => output.talk(...pieces) });
  const errors = problems.filter(isError).length;
  const name = upload.manifest?.name ?? upload.manifestFile;
  return new Failure(`${name} is not published: it has ${errors} ${errors === 1 ? 'error' : 'errors'}.`, {
    code: 'PUBLISH_INVALID',
    problems: problems.map((problem) => problemView(problem, files)),
  });
}

function listed(
  { output }: CommandContext,
  { folder: given, upload, files: reported }: PreparedUpload,
): undefined {
  const { files, packages, bytes } = weightOf(upload);
  const all = [...upload.files].map(([path, file]) => ({
    path,
    bytes: file.bytes.byteLength,
    package: file.packageName ?? null,
    from: file.real,
  }));
  const folder = realPath(given) ?? given;
  /** Where a file is that is not at its path in the folder. */
  const elsewhere = (path: string, from: string): Painted =>
    paint(
      'dim',
      from === join(folder, path) ? '' : `  from ${isIn(folder, from) ? relative(folder, from) : from}`,
    );
  output.result({ manifest: upload.manifestFile, bytes, files: all }, () => {
    for (const file of all.filter(isOwn))
      output.line(sizeText(file.bytes).padStart(10), '  ', file.path, elsewhere(file.path, file.from));
    for (const { name, files: count, bytes: size, folders } of packages) {
      const places = [...folders].map((from) => elsewhere(`node_modules/${name}`, from));
      output.line(sizeText(size).padStart(10), '  ', `node_modules/${name} (${count} files)`, ...places);
    }
    output.line(sizeText(bytes).padStart(10), '  ', `in all, ${files} files`);
    for (const [secret, written] of Object.entries(upload.manifest?.secrets ?? {})) {
      const variable = variableOf(written);
      if (variable !== undefined) output.line(`the secret ${secret}, if it is new: the variable ${variable}`);
    }
  });
  printProblems(upload.problems, reported, { line: (...pieces) => output.talk(...pieces) });
  return undefined;
}

const isOwn = (file: { readonly package: string | null }): boolean => file.package === null;
