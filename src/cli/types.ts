/**
 * `npm run types -- <folder>`: generates the types of one integration from its manifest, beside its
 * code.
 *
 * Writes `annex-env.d.ts` (types of what the manifest declares), `annex-sdk.d.ts` (the SDK and the
 * globals of an isolate) and, if it is missing, a `tsconfig.json` by which editors and `tsc` find
 * both. With `--check` it writes nothing and compares the first two with what it would write: it
 * exits with 0 if both are up to date, else with 1.
 */
import { readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { AUTHOR_TYPES_FILE, authorTypes } from '../model/manifest/author-types.ts';
import { MANIFEST_FILE, type Manifest, parseManifest } from '../model/manifest/manifest.ts';
import type { Problem } from '../model/problem.ts';
import { SDK_DECLARATIONS_FILE, sdkDeclarations } from './sdk-declarations.ts';

const HELP = `usage: npm run types -- <folder> [--manifest FILE] [--env NAME] [--check]

Reads the manifest in <folder>, the one file *-manifest.yaml, and writes beside it
  ${AUTHOR_TYPES_FILE}   types of its configurations, secrets and components
  ${SDK_DECLARATIONS_FILE}   types of @annex/sdk and of the globals of an isolate
  tsconfig.json    settings for editors and tsc, where there are none yet

  --manifest FILE   the manifest, where the folder has several
  --env NAME        the environment of the manifest; else "default"
  --check   write nothing; exit 1 where one of the first two is not up to date
  --help    print this
`;

const EXIT_TROUBLE = 1;
const EXIT_USAGE = 2;

/**
 * As the bundler compiles: JSX of the SDK, each file by itself, no types of a browser or of Node.
 */
const TSCONFIG = `{
  "compilerOptions": {
    "target": "esnext",
    "lib": ["esnext"],
    "types": [],
    "module": "esnext",
    "moduleResolution": "bundler",
    "allowImportingTsExtensions": true,
    "isolatedModules": true,
    "jsx": "react-jsx",
    "jsxImportSource": "@annex/sdk",
    "strict": true,
    "skipLibCheck": true,
    "noEmit": true
  }
}
`;

const print = (line: string): void => {
  process.stdout.write(`${line}\n`);
};
const printError = (line: string): void => {
  process.stderr.write(`${line}\n`);
};

/** npm runs scripts in the folder of the package; `INIT_CWD` is the folder of the user. */
const CALLED_FROM = process.env['INIT_CWD'] ?? process.cwd();
const shown = (path: string): string => relative(CALLED_FROM, path) || '.';

/** @returns the exit code */
async function run(folder: string, { check: onlyCheck, manifest: file, env }: Flags): Promise<number> {
  const path = join(folder, file ?? (await manifestIn(folder)));
  const yaml = await textOf(path);
  if (yaml === undefined) {
    printError(`There is no ${shown(path)}. Give the folder of an integration.`);
    return EXIT_USAGE;
  }
  const manifest = read(yaml, path, env);
  if (manifest === undefined) return EXIT_TROUBLE;
  const files = [
    [AUTHOR_TYPES_FILE, authorTypes(manifest)],
    [SDK_DECLARATIONS_FILE, await sdkDeclarations()],
  ] as const;
  let code = 0;
  for (const [name, text] of files) {
    const file = join(folder, name);
    // Git may have changed the line endings; that is no difference.
    const upToDate = (await textOf(file))?.replaceAll('\r\n', '\n') === text;
    if (upToDate) print(`${shown(file)} is up to date`);
    else if (onlyCheck) {
      printError(`${shown(file)} is not up to date: npm run types -- ${shown(folder)}`);
      code = EXIT_TROUBLE;
    } else {
      await replace(file, text);
      print(`${shown(file)} written`);
    }
  }
  if (!onlyCheck) await offerSettings(join(folder, 'tsconfig.json'));
  return code;
}

/** Prints the problems of a manifest. @returns undefined if it has errors */
function read(yaml: string, path: string, environment?: string): Manifest | undefined {
  const parsed = parseManifest(yaml, environment === undefined ? {} : { environment });
  for (const problem of parsed.ok ? parsed.warnings : parsed.problems) printError(problemLine(problem, path));
  return parsed.ok ? parsed.manifest : undefined;
}

/**
 * One problem as a line of text. Attack: a problem quotes the manifest, which may hold control
 * characters for the terminal; each is shown as `?`.
 */
function problemLine({ severity, line, column, message, hint }: Problem, path: string): string {
  const place = [shown(path), line, column].filter((part) => part !== undefined).join(':');
  const text = `${place}: ${severity}: ${message}${hint === undefined ? '' : ` ${hint}`}`;
  return text.replaceAll(/[\p{Cc}\p{Bidi_Control}]/gu, '?');
}

/** The one manifest of a folder; else the name that it should have. */
async function manifestIn(folder: string): Promise<string> {
  const names = await readdir(folder).catch(() => []);
  const [only, ...others] = names.filter((name) => name.endsWith('-manifest.yaml'));
  return only === undefined || others.length > 0 ? MANIFEST_FILE : only;
}

/** Writes `tsconfig.json` unless the author already has one. */
async function offerSettings(file: string): Promise<void> {
  try {
    await writeFile(file, TSCONFIG, { flag: 'wx' });
    print(`${shown(file)} written`);
  } catch (cause) {
    if (!isErrno(cause, 'EEXIST')) throw cause;
    print(`${shown(file)} left as it is`);
  }
}

/**
 * Replaces a file by a rename: editors never read half of one, and a symbolic link is not followed.
 */
async function replace(file: string, text: string): Promise<void> {
  const draft = `${file}.${process.pid}`;
  await writeFile(draft, text, { flag: 'wx' });
  await rename(draft, file);
}

async function textOf(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (cause) {
    if (isErrno(cause, 'ENOENT') || isErrno(cause, 'ENOTDIR')) return undefined;
    throw cause;
  }
}

const isErrno = (cause: unknown, code: string): boolean =>
  cause instanceof Error && 'code' in cause && cause.code === code;

interface Flags {
  readonly folder?: string;
  /** Name of the manifest in the folder. */
  readonly manifest?: string;
  /** Name of the environment. */
  readonly env?: string;
  readonly check: boolean;
  readonly help: boolean;
}

/** The parsed flags, or a sentence that says what is wrong with them. */
function readFlags(args: string[]): Flags | string {
  try {
    const { values, positionals } = parseArgs({
      args,
      allowPositionals: true,
      options: {
        check: { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
        manifest: { type: 'string' },
        env: { type: 'string' },
      },
    });
    const { check = false, help = false, manifest, env } = values;
    const [folder, ...others] = positionals;
    if (help) return { check, help };
    if (folder === undefined) return 'The folder of an integration is missing.';
    if (others.length > 0) return 'One folder at a time.';
    return { folder, check, help, ...(manifest && { manifest }), ...(env && { env }) };
  } catch (cause) {
    return cause instanceof Error ? cause.message : String(cause);
  }
}

const options = readFlags(process.argv.slice(2));
if (typeof options === 'string') {
  printError(`${options}\n\n${HELP}`);
  process.exitCode = EXIT_USAGE;
} else if (options.folder === undefined) {
  process.stdout.write(HELP);
} else {
  try {
    process.exitCode = await run(resolve(CALLED_FROM, options.folder), options);
  } catch (cause) {
    printError(cause instanceof Error ? cause.message : String(cause));
    process.exitCode = EXIT_TROUBLE;
  }
}
