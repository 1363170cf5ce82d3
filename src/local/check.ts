/** `annex check`: finds out whether a publish would succeed, and stores nothing. */
import { resolve } from 'node:path';
import Type from 'typebox';
import { Annex, type Checked } from '../../packages/client/src/index.ts';
import type { CommandContext } from '../cli/command.ts';
import { type Command, defineCommand } from '../cli/command.ts';
import { EVENT_TYPES_OPTION } from '../cli/commands/event-types.ts';
import { EXIT } from '../cli/terminal/failure.ts';
import { printProblems } from '../cli/terminal/problem-report.ts';
import { compilerOf, compilerProblems } from '../cli/upload/compiler-check.ts';
import {
  type Asked,
  askService,
  FOLDER_ARGUMENTS,
  FOLDER_OPTIONS,
  joinProblems,
  ownProblems,
  PROBLEM,
  type PreparedUpload,
  prepareUpload,
  problemView,
  SECRET_OPTIONS,
  valuesOf,
} from '../cli/upload/prepared-upload.ts';
import { sizeText, uploadForm, uploadProgress, weightOf } from '../cli/upload/upload-form.ts';
import { isError } from '../model/problem.ts';

const TEMPORARY = 'a temporary service';
/** Stands for a secret that only a real service has. */
const STAND_IN = 'value-for-a-check';

/** The service that checks. */
interface Checker {
  readonly annex: Annex;
  readonly name: string;
  readonly isTemporary: boolean;
  end(): Promise<void>;
}

export const check: Command = defineCommand({
  name: 'check',
  summary: 'find out whether an integration can be published',
  description: [
    'Uploads the folder as a publish does, and has the service check rights, manifest, bundle and exports. Nothing is stored. Without a service, or with --offline, a temporary one in this process does it; secrets are not checked then.',
    'It also runs the TypeScript compiler of the folder, where it has one and a tsconfig.json.',
  ],
  arguments: FOLDER_ARGUMENTS,
  options: {
    ...FOLDER_OPTIONS,
    ...SECRET_OPTIONS,
    eventTypes: EVENT_TYPES_OPTION,
    offline: { help: 'ask a temporary service in this process' },
    skipTypes: { help: 'do not run the TypeScript compiler of the folder' },
  },
  examples: [
    { line: 'annex check', does: 'check the integration in this folder' },
    {
      line: 'annex check --offline --event-types types.yaml',
      does: "know the product's event types without a service",
    },
    { line: 'annex check hello --offline', does: 'check the folder hello without a service' },
  ],
  exits: { 1: 'problems found, or the service cannot be reached' },
  json: Type.Object({
    ok: Type.Boolean({ description: 'Whether it can be published.' }),
    integration: Type.Union([Type.String(), Type.Null()]),
    checkedBy: Type.String(),
    types: Type.Boolean({ description: 'Whether a TypeScript compiler has run.' }),
    files: Type.Integer(),
    bytes: Type.Integer(),
    scriptBytes: Type.Union([Type.Integer(), Type.Null()]),
    problems: Type.Array(PROBLEM),
  }),
  async run(context, input) {
    const { output, signal } = context;
    const prepared = await prepareUpload(context, input);
    const secrets = await valuesOf(prepared, input, context);
    const checker = await checkerFor(context, input, prepared);
    const { problems: own, isSent } = await ownProblems(prepared, checker.annex).catch(async (cause) => {
      await checker.end();
      throw cause;
    });
    const standIns = checker.isTemporary ? [...secrets.open.keys()].map((name) => [name, STAND_IN]) : [];
    const values = { ...Object.fromEntries(standIns), ...secrets.values };
    const sent = uploadProgress(context, prepared.upload);
    const compiler = input.skipTypes ? undefined : compilerOf(prepared.folder);
    const compiling = compiler === undefined ? [] : compilerProblems(compiler, prepared.folder, signal);
    const asking = isSent
      ? askService(checker.annex, uploadForm(prepared.upload, { secrets: values, sent }), signal)
      : NOT_ASKED;
    const [types, { checked, problems: its }] = await Promise.all([compiling, asking]).finally(() =>
      checker.end(),
    );
    const problems = joinProblems(own, [...its, ...types], secrets.open);
    const ok = !problems.some(isError);
    const { files, bytes } = weightOf(prepared.upload);
    const name = prepared.upload.manifest?.name ?? null;
    const value = {
      ...{ ok, integration: name, checkedBy: checker.name, types: compiler !== undefined, files, bytes },
      scriptBytes: checked?.scriptBytes ?? null,
      problems: problems.map((problem) => problemView(problem, prepared.files)),
    };
    output.result(value, () => {
      printProblems(problems, prepared.files, output);
      if (ok) output.line(summaryOf(name ?? '', { files, bytes, checked }));
    });
    output.talk(`Checked by ${checker.name}${compiler === undefined ? '' : ' and tsc'}.`);
    if (checker.isTemporary && secrets.open.size > 0)
      output.talk(`Not checked: whether these secrets have values: ${[...secrets.open.keys()].join(', ')}.`);
    return ok ? EXIT.ok : EXIT.failed;
  },
});

interface Weighed {
  readonly files: number;
  readonly bytes: number;
  readonly checked?: Checked | undefined;
}

const summaryOf = (name: string, { files, bytes, checked }: Weighed): string =>
  `${name} can be published: ${files} ${files === 1 ? 'file' : 'files'}, ${sizeText(bytes)}; its script has ${sizeText(checked?.scriptBytes ?? 0)}.`;

const NOT_ASKED: Asked = { problems: [] };

async function checkerFor(
  context: CommandContext,
  { offline, eventTypes }: { readonly offline: boolean; readonly eventTypes?: string | undefined },
  { upload }: PreparedUpload,
): Promise<Checker> {
  const { url, urlFrom, token } = offline ? NO_SERVICE : await context.connection();
  // A service that was named is meant, also without a token for it.
  if (!offline && (token !== undefined || urlFrom !== NO_SERVICE.urlFrom))
    return { annex: await context.client(), name: url, isTemporary: false, end: async () => undefined };
  if (!offline) context.output.talk(`There is no token for a service: ${TEMPORARY} checks.`);
  // Loaded here: the other commands do without a service of their own.
  const { startTemporaryService } = await import('./temporary-service.ts');
  const organization = upload.manifest?.organization;
  const { service, end } = await startTemporaryService({
    flags: [
      ...['--built-ins', 'none', '--cells', '1'],
      ...(organization === undefined ? [] : ['--internal-organizations', organization]),
      ...(eventTypes === undefined ? [] : ['--event-types', resolve(context.cwd, eventTypes)]),
    ],
    logLevel: 'error',
  });
  const annex = new Annex({ url: service.controlUrl, token: service.firstAdminToken });
  return { annex, name: TEMPORARY, isTemporary: true, end };
}

const NO_SERVICE = { url: '', urlFrom: 'the default', token: undefined };
