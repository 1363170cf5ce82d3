/**
 * Bundles the files of one upload with esbuild. The options are fixed, but for how JSX is compiled
 * (`jsx.ts`).
 *
 * Runs in the process of the upload, which starts esbuild as a separate program to parse the
 * hostile text. esbuild ends with this process. No tenant code runs here.
 */
import {
  type BuildFailure,
  type BuildOptions,
  build,
  initialize,
  type Message,
  type Metafile,
  type OutputFile,
  transform,
} from 'esbuild';
import { ASYNC_HOOKS, takesTimersForObjects } from '../../imports/node-modules.ts';
import { sourceOptions } from '../../imports/source-options.ts';
import { tsconfigWarnings } from '../../imports/tsconfig.ts';
import { isError, limitProblem, type Problem, warning } from '../../model/problem.ts';
import { absentInputs, refusalOf, refusedBy } from './absent-modules.ts';
import type { MappedScript } from './async-contexts.ts';
import { type BundleResult, SOURCE_MAP_BYTES_MAX } from './bundle-result.ts';
import { globImportRefusals, isGlobImport } from './glob-imports.ts';
import {
  CONTEXT,
  displayName,
  NODE,
  NODE_GLOBALS,
  NODE_TIMERS,
  RUN,
  type VirtualFiles,
  virtualFiles,
} from './virtual-files.ts';
import { envNames } from './worker-frame.ts';

export interface BundleJob {
  readonly files: VirtualFiles;
  /** Value of `MODE` and `process.env.NODE_ENV`. */
  readonly mode: string;
  readonly scriptBytes: number;
  /** Whether esbuild cannot open any file or folder. */
  readonly diskless: boolean;
}

const EMPTY_MAP = JSON.stringify({ version: 3, sources: [], names: [], mappings: '' });

/**
 * Whitespace is minified, because every isolate holds and parses the script. Names are kept where
 * the script is small enough, so that stack traces show the author's. Modules that only dead
 * branches on `MODE` or `NODE_ENV` import are omitted.
 */
const optionsOf = ({ files, mode }: BundleJob, manner: Manner) =>
  ({
    entryPoints: ['frame'],
    plugins: [virtualFiles(files)],
    outfile: 'script.js',
    ...sourceOptions(files.upload, files.entry, mode),
    // ESM, because it allows top-level await; the frame module leaves no import and no export. All
    // modules become the body of one function, so its caller decides when they run and catches what
    // they throw. V8 compiles a function in parentheses eagerly: without them it would be parsed
    // twice.
    minifyWhitespace: true,
    minifyIdentifiers: manner.shortNames,
    minifySyntax: manner.shortNames,
    banner: {
      js:
        `(async function (${manner.followsContexts ? `${RUN}, ${CONTEXT}` : RUN}) { "use strict";` +
        (manner.computedRequire ? REQUIRE : ''),
    },
    footer: { js: '})' },
    // V8 does not parse decorators yet; a classic script has no `import.meta`.
    supported: {
      decorators: false,
      'import-meta': false,
      // What waits without the word `await` becomes calls of `then`, or says the word.
      ...(manner.followsContexts && { 'async-generator': false, 'for-await': false, using: false }),
    },
    metafile: true,
    charset: 'utf8',
    legalComments: 'none',
    sourcemap: 'external',
    sourcesContent: false,
    inject: takesTimersForObjects(files.upload) ? [NODE_GLOBALS, NODE_TIMERS] : [NODE_GLOBALS],
  }) satisfies BuildOptions;

/** How a bundle is built where the usual manner does not do. */
interface Manner {
  /** Whether local names are shortened, for a script that is too large as it is written. */
  readonly shortNames: boolean;
  /** Whether `AsyncLocalStorage` follows each `await` (`async-contexts.ts`). */
  readonly followsContexts: boolean;
  /** Whether code asks `require` for a name that only its run shows. */
  readonly computedRequire: boolean;
}

/** What esbuild's own replacement of `require` calls, where there is one; nothing is there. */
const REQUIRE = `const require=(name)=>{throw Object.assign(new Error("Cannot find module '"+name+"'"),{code:"MODULE_NOT_FOUND"})};require.resolve=require;`;

/** Starts esbuild early, so that it is ready once the upload has been read. */
export const startBundler = (): Promise<void> => initialize({});

export async function bundleCode(job: BundleJob): Promise<BundleResult> {
  const { upload } = job.files;
  try {
    const { outputFiles, warnings, metafile, shortNames, followsContexts } = await buildScript(job);
    const patterns = buildProblems([], warnings.filter(isOfAuthor), job.diskless);
    if (shortNames) patterns.warnings.push(namesShortened());
    const built = mappedScript(outputFiles);
    const { script, map } = followsContexts ? await following(built) : built;
    const absent = new Set<string | undefined>(absentInputs(inputsOf(metafile)));
    const refused = warnings.filter((message) => absent.has(refusedBy(message))).map(refusedModule);
    if (patterns.errors.length + refused.length > 0)
      return { ok: false, problems: [...patterns.errors, ...refused, ...patterns.warnings] };
    const scriptBytes = Buffer.byteLength(script);
    if (scriptBytes > job.scriptBytes) {
      const limit = { max: job.scriptBytes, used: scriptBytes };
      return {
        ok: false,
        problems: [limitProblem({ name: 'scriptBytes', ...limit }, { hint: 'Import less.' })],
      };
    }
    patterns.warnings.push(...tsconfigWarnings(upload, job.files.entry));
    const reviewed = await reviewOf(metafile, job.files);
    if (reviewed.some(isError)) return { ok: false, problems: [...reviewed, ...patterns.warnings] };
    patterns.warnings.push(...reviewed);
    const named = withDisplayNames(map);
    if (Buffer.byteLength(named) <= SOURCE_MAP_BYTES_MAX)
      return { ok: true, script, map: named, warnings: patterns.warnings };
    return { ok: true, script, map: EMPTY_MAP, warnings: [...patterns.warnings, mapTooLarge()] };
  } catch (error) {
    const { errors, warnings } = error as Partial<BuildFailure>;
    // No messages: esbuild itself died. The process ends without a result, and the host reports it.
    if (errors === undefined || warnings === undefined) throw error;
    await explainJsx(errors, upload);
    const found = buildProblems(errors, warnings.filter(isOfAuthor), job.diskless);
    const refused = warnings.filter((message) => refusedBy(message) !== undefined).map(refusedModule);
    return { ok: false, problems: [...found.errors, ...refused, ...found.warnings] };
  }
}

/** Builds in the usual manner, and again in the manner that the result turns out to need. */
async function buildScript(job: BundleJob) {
  const usual = { shortNames: false, followsContexts: false, computedRequire: false };
  const built = await build(optionsOf(job, usual));
  const contexts = inputsOf(built.metafile)[`${NODE}:${ASYNC_HOOKS}`];
  const needed = {
    shortNames: Math.max(...built.outputFiles.map(sizeOfScript)) > job.scriptBytes,
    followsContexts: contexts !== undefined && contexts.bytesInOutput > 0,
    computedRequire: built.outputFiles.some(({ contents }) => Buffer.from(contents.buffer).includes(SHIM)),
  };
  if (!Object.values(needed).includes(true)) return { ...built, ...usual };
  return { ...(await build(optionsOf(job, needed))), ...needed };
}

/** In esbuild's replacement of `require`. */
const SHIM = 'Dynamic require of "';

function mappedScript(files: readonly OutputFile[]): MappedScript {
  const script = files.find((file) => file.path.endsWith('.js'));
  const map = files.find((file) => file.path.endsWith('.map'));
  if (script === undefined || map === undefined) throw new Error('esbuild gave no script or no map');
  return { script: script.text, map: map.text };
}

/** The script as `AsyncLocalStorage` needs it. */
async function following({ script, map }: MappedScript): Promise<MappedScript> {
  // The parser is loaded only here, after the bundle was built.
  const { withContexts } = await import('./async-contexts.ts');
  return withContexts({ script: withCleanup(script), map }, CONTEXT);
}

/** Whether a message is shown. What esbuild finds odd in a package, its author cannot change. */
function isOfAuthor(message: Message): boolean {
  const file = message.location?.file ?? '';
  if (refusedBy(message) !== undefined || file.startsWith(`${NODE}:`)) return false;
  return isGlobImport(message) || !/[:/]node_modules\//.test(file);
}

const sizeOfScript = ({ path, contents }: OutputFile): number =>
  path.endsWith('.js') ? contents.byteLength : 0;

/** The files of a build that are left in its script. */
const inputsOf = ({ outputs }: Metafile): Metafile['outputs'][string]['inputs'] =>
  Object.entries(outputs).find(([path]) => path.endsWith('.js'))?.[1].inputs ?? {};

/** Reviews the files of the upload that are left in the script. */
async function reviewOf(metafile: Metafile, { upload, worker }: VirtualFiles): Promise<Problem[]> {
  // The parsers are loaded only here, after the bundle was built.
  const { reviewCode } = await import('./code-review.ts');
  const paths = Object.entries(inputsOf(metafile)).filter(([, { bytesInOutput }]) => bytesInOutput > 0);
  const files = paths.flatMap(([input]) => {
    const path = displayName(input);
    const source = upload.get(path);
    const isCommonJs = metafile.inputs[input]?.format === 'cjs';
    return source === undefined ? [] : [{ path, source, isCommonJs }];
  });
  return reviewCode(files, worker && envNames(worker.settings));
}

const namesShortened = (): Problem =>
  warning('The script is so large that local names were shortened: stack traces show the short names.', {
    hint: 'Import less.',
  });

const mapTooLarge = (): Problem =>
  warning('The script is so large that stack traces will show lines of the bundle.', {
    hint: 'Import less.',
  });

/** Where esbuild's replacement for async generators goes on after an `await`. */
const AFTER_AWAIT = /([\w$]{1,32})==="return"\?[\w$]{1,32}:"next",([\w$]{1,32})\[1\]\?\{done:/;

/**
 * Lets the cleanup of an async generator go on after its first `await`: esbuild's replacement
 * returns again there, which only what `yield*` delegates needs. The new text is as long as the old
 * one, so that the source map stays right.
 */
const withCleanup = (script: string): string =>
  script.replace(AFTER_AWAIT, '$2[1]&&$1[5]?$1:"next" ,$2[1]?{done:');

/** Gives the sources their uploaded names: `src/index.ts`, not `upload:src/index.ts`. */
function withDisplayNames(mapJson: string): string {
  const map = JSON.parse(mapJson) as { sources: string[] };
  return JSON.stringify({ ...map, sources: map.sources.map(displayName) });
}

const FILES_MAX = 3;
const PLAIN_TYPESCRIPT = /\.([mc]?)ts$/;

/**
 * Explains syntax errors that come from JSX in a `.ts` file, where `<` begins a type: esbuild's
 * messages are about something else then.
 *
 * Such a file is parsed once more in both ways. Only if `.tsx` alone succeeds, the message is
 * changed. Bounded in files; the process of the upload has a deadline.
 *
 * Changes the first message about each of the files.
 */
async function explainJsx(errors: readonly Message[], files: ReadonlyMap<string, Uint8Array>): Promise<void> {
  const firsts = new Map<string, Message>();
  for (const error of errors) {
    const path = error.location === null ? '' : displayName(error.location.file);
    if (PLAIN_TYPESCRIPT.test(path) && files.has(path) && !firsts.has(path)) firsts.set(path, error);
  }
  for (const [path, error] of [...firsts].slice(0, FILES_MAX)) {
    const source = files.get(path) ?? new Uint8Array();
    if ((await parses(source, 'ts')) || !(await parses(source, 'tsx'))) continue;
    const renamed = path.slice(path.lastIndexOf('/') + 1).replace(PLAIN_TYPESCRIPT, '.tsx');
    error.text = 'This file has JSX, and the name of such a file has to end with .tsx.';
    const note = { location: null, text: `Rename it to "${renamed}", also where it is named.` };
    error.notes = [note, ...error.notes];
  }
}

const parses = (source: Uint8Array, loader: 'ts' | 'tsx'): Promise<boolean> =>
  transform(source, { loader, jsx: 'preserve', logLevel: 'silent' }).then(
    () => true,
    () => false,
  );

const PROBLEMS_MAX = 100;
const TEXT_CHARS_MAX = 500;

/**
 * Turns esbuild's messages into problems for the author: file, line and column of the upload, and a
 * hint.
 *
 * Number and length are bounded: a hostile file can provoke any number of messages with any text.
 *
 * Translates the messages of one build. A last entry of each severity counts the omitted ones.
 *
 * @param diskless esbuild cannot open files or folders, so the positions of patterns reveal nothing
 * about the disk
 */
function buildProblems(
  errors: readonly Message[],
  warnings: readonly Message[],
  diskless: boolean,
): { readonly errors: Problem[]; readonly warnings: Problem[] } {
  const refusals = globImportRefusals([...errors, ...warnings].filter(isGlobImport), diskless);
  const others = (messages: readonly Message[]) => messages.filter((message) => !isGlobImport(message));
  return {
    errors: bounded([...refusals, ...others(errors)], 'error'),
    warnings: bounded(others(warnings), 'warning'),
  };
}

function bounded(found: readonly Message[], severity: Problem['severity']): Problem[] {
  const problems = found.slice(0, PROBLEMS_MAX).map((message) => buildProblem(message, severity));
  const omitted = found.length - problems.length;
  if (omitted > 0) problems.push({ severity, message: `${omitted} more were found and are not shown.` });
  return problems;
}

/** For a warning of esbuild that is about a "variable of CommonJS". */
const IN_MODULE = {
  message: '`module` and `exports` are not defined in a file that has `import` or `export`.',
  hint: 'Write `export default …`.',
};

function buildProblem(message: Message, severity: Problem['severity']): Problem {
  const known = message.id === 'commonjs-variable-in-esm' ? IN_MODULE : undefined;
  const hint = known?.hint ?? message.notes.find((note) => note.location === null)?.text;
  return {
    severity,
    ...placeOf(message),
    message: known?.message ?? clip(message.text),
    ...(hint === undefined ? {} : { hint: clip(hint) }),
  };
}

/** The problem of an import that `refusing` has marked. */
const refusedModule = (message: Message): Problem => ({
  severity: 'error',
  ...placeOf(message),
  ...refusalOf(refusedBy(message) ?? ''),
});

/** Where a message is about. */
function placeOf({ location }: Message): Pick<Problem, 'file' | 'line' | 'column'> {
  if (location === null) return {};
  const { file, line, lineText, column } = location;
  return { file: clip(displayName(file)), line, column: columnOf(lineText, column) };
}

/** esbuild counts bytes of UTF-8 from 0; editors count UTF-16 units from 1. */
function columnOf(lineText: string, bytes: number): number {
  // A line has no more units than bytes, so this prefix contains the position, however long the
  // line.
  const prefix = Buffer.from(lineText.slice(0, bytes)).subarray(0, bytes);
  return prefix.toString('utf8').length + 1;
}

const clip = (text: string): string =>
  text.length <= TEXT_CHARS_MAX ? text : `${text.slice(0, TEXT_CHARS_MAX)}…`;
