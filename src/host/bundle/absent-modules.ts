/**
 * Modules of Node.js that an isolate does not have, inside a bundle: each is a generated module
 * that throws when it is used (`sandbox/node/absent.ts`).
 *
 * The import of a refused module is an error only if it is left in the finished bundle, so that an
 * import in a dead branch costs nothing. The path of the generated module names the importing file.
 */
import type { Message, PartialMessage } from 'esbuild';
import { packageNameOf } from '../../imports/node-modules.ts';

/** Namespace of the generated modules. */
export const ABSENT = 'absent';
/** Import in a generated module → file of `node-source.ts`. */
export const ABSENT_IMPORTS: Readonly<Record<string, string>> = {
  absent: 'node/absent.ts',
  http: 'node/http-present.ts',
  module: 'node/module-present.ts',
};
/** Module → code for its own members. */
const PRESENT: Readonly<Record<string, string>> = {
  http: "require('http').http",
  https: "require('http').https",
  http2: "{ sensitiveHeaders: Symbol('sensitiveHeaders') }",
  module: "require('module').present",
};

/** The path of a module in the namespace. */
export const absentPath = (name: string, refused: boolean, importer: string): string =>
  refused ? `${name} refused ${importer}` : `${name} allowed ${userOf(importer)}`;

/** The generated module: CommonJS, so that an import by any name finds a member. */
export function absentModule(path: string): string {
  const { name, refused, importer } = readPath(path);
  const user = refused ? userOf(importer) : importer;
  const present = Object.hasOwn(PRESENT, name) ? `, ${PRESENT[name]}` : '';
  return `module.exports = require('absent').absent(${JSON.stringify(name)}, ${JSON.stringify(user)}${present});`;
}

/** Words for the importing package or file. */
function userOf(importer: string): string {
  const name = packageNameOf(importer);
  return name === undefined ? importer : `the package "${name}"`;
}

/** The paths of the generated modules that a bundle has, by the inputs of esbuild's metafile. */
export const absentInputs = (
  inputs: Readonly<Record<string, { readonly bytesInOutput: number }>>,
): string[] =>
  Object.entries(inputs)
    .filter(([input, { bytesInOutput }]) => bytesInOutput > 0 && input.startsWith(`${ABSENT}:`))
    .map(([input]) => input.slice(ABSENT.length + 1));

/** A message by which esbuild remembers the place of a refused import. @param path of its module */
export const refusing = (path: string): PartialMessage => ({ text: '', detail: { refused: path } });

/** The path of the module that `refusing` was told; undefined for other messages. */
export const refusedBy = ({ detail }: Message): string | undefined =>
  (detail as { readonly refused?: string } | undefined)?.refused;

/** Why an import is refused. @param path of its module */
export function refusalOf(path: string): { readonly message: string; readonly hint: string } {
  const { name, importer } = readPath(path);
  const user = packageNameOf(importer);
  if (user === undefined)
    return {
      message: `"node:${name}" is a module of Node.js that does not exist in an isolate.`,
      hint: 'Use the web platform instead: fetch, Request, Response, Blob.',
    };
  return {
    message: `Package "${user}" imports "node:${name}", a module of Node.js that does not exist in an isolate.`,
    hint: `Use a client that works over fetch. If you do not use what needs "${name}", add "browser": {"${name}": false} to the package.json of the integration.`,
  };
}

/** Reads what `absentPath` made; a path may have spaces. */
function readPath(path: string): { name: string; refused: boolean; importer: string } {
  const [name = '', fate, ...rest] = path.split(' ');
  return { name, refused: fate === 'refused', importer: rest.join(' ') };
}
