/**
 * `annex import`: writes the manifest of a worker beside its `wrangler.toml` or `wrangler.jsonc`,
 * and lists what that file has and a manifest cannot say. Sends nothing.
 */
import { readdirSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { basename, join, relative, resolve } from 'node:path';
import Type from 'typebox';
import { isCode } from '../../imports/source-options.ts';
import { ORGANIZATION_ID } from '../../model/identifiers.ts';
import { MANIFEST_FILE } from '../../model/manifest/manifest.ts';
import { isError } from '../../model/problem.ts';
import { readInside } from '../../real-files.ts';
import { type Command, defineCommand } from '../command.ts';
import { Failure, UsageError } from '../terminal/failure.ts';
import { printProblems, type ReportedFiles } from '../terminal/problem-report.ts';
import { PROBLEM, problemView } from '../upload/prepared-upload.ts';
import { variablesOf } from '../upload/secret-values.ts';
import { importWorker, WRANGLER_BYTES_MAX, WRANGLER_FILES } from '../upload/wrangler-file.ts';

/** Values for development; their names are those of secrets. */
const VALUE_FILES = ['.dev.vars', '.dev.vars.example'];
const SOURCE_BYTES_MAX = 1024 * 1024;
const SOURCES_MAX = 500;
const DEPTH_MAX = 6;

export const importCommand: Command = defineCommand({
  name: 'import',
  summary: 'write the manifest of a worker from its wrangler file',
  description: [
    'Reads wrangler.json, wrangler.jsonc or wrangler.toml of the folder, and writes platform-manifest.yaml beside it: name, entrypoint, variables, stores, static files, crons. Names that the code reads from env and the file does not have become secrets.',
    'It lists what has no counterpart, with its line. A manifest that is there stays as it is.',
  ],
  arguments: { folder: { help: 'folder of the worker; default: this one', optional: true } },
  options: {
    organization: {
      value: 'id',
      help: 'organization that owns it',
      parse: organizationId,
      default: 'acme',
    },
  },
  examples: [
    { line: 'annex import worker --organization acme', does: 'write worker/platform-manifest.yaml' },
  ],
  exits: { 1: 'there is no wrangler file, or it cannot be read' },
  json: Type.Object({
    name: Type.String(),
    manifest: Type.String({ description: 'Path of the file that was written.' }),
    problems: Type.Array(PROBLEM),
  }),
  async run({ output, cwd }, { folder: given = '.', organization }) {
    const folder = resolve(cwd, given);
    const shown = (file: string): string => relative(cwd, join(folder, file)) || file;
    const found = WRANGLER_FILES.flatMap((file) => {
      const read = readInside(folder, file, WRANGLER_BYTES_MAX);
      return typeof read === 'object' ? [{ file, text: String(read.bytes) }] : [];
    })[0];
    if (found === undefined)
      throw new Failure(`${shown('.')} has no ${WRANGLER_FILES.join(', ')}.`, {
        code: 'FOLDER_INVALID',
        hint: 'Give the folder of a worker, or begin with "annex new".',
      });
    const read = { ...found, folder: basename(folder), organization: String(organization) };
    const sources = sourcesIn(folder);
    const code = { main: mainIn(folder, sources), envNames: envNamesIn(folder, sources) };
    const { yaml, name, problems } = imported({ ...read, ...code }, shown(found.file));
    const file = join(folder, MANIFEST_FILE);
    try {
      // Attack: a link in a cloned folder, which leads to a file of the machine.
      await writeFile(file, yaml, { flag: 'wx' });
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code !== 'EEXIST') throw cause;
      throw new Failure(`${shown(MANIFEST_FILE)} is there already, and stays as it is.`, {
        code: 'MANIFEST_EXISTS',
        hint: 'Remove it to have it written anew.',
      });
    }
    const files: ReportedFiles = { shown, textOf: () => found.text };
    const manifest = shown(MANIFEST_FILE);
    output.result({ name, manifest, problems: problems.map((one) => problemView(one, files)) }, () => {
      output.line(`${manifest} written.`);
      printProblems(problems, files, output);
    });
    if (!problems.some(isError)) output.talk(`Next: annex publish ${relative(cwd, folder) || '.'}`);
  },
});

function imported(source: Parameters<typeof importWorker>[0], shown: string) {
  try {
    return importWorker(source);
  } catch (cause) {
    const [message = ''] = String((cause as Error).message).split('\n');
    throw new Failure(`${shown} cannot be read: ${message}`, { code: 'FOLDER_INVALID' });
  }
}

function organizationId(text: string): string {
  if (ORGANIZATION_ID.test(text)) return text;
  throw new UsageError('It is the id of an organization: letters, digits, ".", "_" and "-".');
}

/** Code that is the worker of a folder without `main`. */
const USUAL_MAINS = /^(?:src\/)?(?:index|worker)\.(?:[cm]?js|tsx?)$/;

/** The code of a worker whose file names none: `main` of its package.json, or the usual file. */
function mainIn(folder: string, sources: readonly string[]): string | undefined {
  const read = readInside(folder, 'package.json', WRANGLER_BYTES_MAX);
  try {
    const { main } = typeof read === 'object' ? JSON.parse(String(read.bytes)) : {};
    if (typeof main === 'string' && sources.includes(main.replace(/^\.\//, ''))) return main;
  } catch {
    // It is reported where packages are read.
  }
  return sources.find((path) => USUAL_MAINS.test(path));
}

/** `env.NAME` or `env['NAME']`, in the capitals of bindings, and names that are taken out of it. */
const READS = /\benv(?:\.|\[["'])([A-Z][A-Z0-9_]{0,63})\b/g;
const TAKEN = /\{([\w\s,:]{1,500})\}\s*=\s*(?:\w{1,20}\.)?env\b/g;

/** Names that code in the folder reads from `env`, and those of values for development. */
function envNamesIn(folder: string, sources: readonly string[]): string[] {
  const names = new Set<string>();
  for (const path of sources) {
    const read = readInside(folder, path, SOURCE_BYTES_MAX);
    if (typeof read !== 'object') continue;
    const source = String(read.bytes);
    for (const [, name = ''] of source.matchAll(READS)) names.add(name);
    for (const [, list = ''] of source.matchAll(TAKEN))
      for (const part of list.split(',')) {
        const [name = ''] = part.split(':').map((one) => one.trim());
        if (/^[A-Z][A-Z0-9_]*$/.test(name)) names.add(name);
      }
  }
  for (const file of VALUE_FILES) {
    const read = readInside(folder, file, WRANGLER_BYTES_MAX);
    if (typeof read === 'object') for (const name of variablesOf(String(read.bytes)).keys()) names.add(name);
  }
  return [...names];
}

function sourcesIn(folder: string): string[] {
  const found: string[] = [];
  const waiting = [{ path: '', depth: 0 }];
  for (const { path, depth } of waiting) {
    for (const entry of readdirSync(join(folder, path), { withFileTypes: true })) {
      const inside = path === '' ? entry.name : `${path}/${entry.name}`;
      if (entry.name.startsWith('.') || entry.name === 'node_modules') continue;
      if (found.length >= SOURCES_MAX || waiting.length >= SOURCES_MAX) return found;
      if (entry.isDirectory() && depth < DEPTH_MAX) waiting.push({ path: inside, depth: depth + 1 });
      else if (entry.isFile() && isCode(inside) && !/\.(?:test|spec)\.\w+$/.test(inside)) found.push(inside);
    }
  }
  return found;
}
