/**
 * How the JSX of an upload is compiled: by `jsx…` of the `tsconfig.json` nearest to the entrypoint,
 * else by the package that the entrypoint imports and that has a JSX runtime, else by the SDK.
 *
 * A file of the upload may say otherwise for itself, by the comments `@jsxImportSource` and `@jsx`.
 */
import { isRecord } from './package-entry.ts';
import { type FileTree, packageOf, resolveImport } from './resolve-import.ts';
import { tsconfigOf } from './tsconfig.ts';

/** Options of esbuild. */
export type JsxOptions =
  | { readonly jsx: 'automatic'; readonly jsxImportSource: string }
  | { readonly jsx: 'transform'; readonly jsxFactory: string; readonly jsxFragment: string };

const SDK = '@annex/sdk';
const PACKAGE_NAME = /^(?:@[\w.-]{1,100}\/)?[\w.-]{1,100}(?:\/[\w.-]{1,100}){0,4}$/;
const FACTORY = /^[A-Za-z_$][\w$]{0,63}(?:\.[A-Za-z_$][\w$]{0,63}){0,4}$/;
/** Most dependencies of the upload that are looked at. */
const DEPENDENCIES_MAX = 200;
/** A pragma stands at the beginning of a file. */
const PRAGMA_BYTES = 8 * 1024;

export function jsxOf(files: FileTree, entry: string): JsxOptions {
  const options = tsconfigOf(files, entry)?.options ?? {};
  const { jsxImportSource, jsxFactory, jsxFragmentFactory } = options;
  if (typeof jsxImportSource === 'string' && hasRuntime(files, jsxImportSource, entry))
    return { jsx: 'automatic', jsxImportSource };
  if (options.jsx === 'react' && isFactory(jsxFactory)) {
    const jsxFragment = isFactory(jsxFragmentFactory) ? jsxFragmentFactory : 'Fragment';
    return { jsx: 'transform', jsxFactory, jsxFragment };
  }
  return { jsx: 'automatic', jsxImportSource: importedRuntime(files, entry) ?? SDK };
}

const isFactory = (name: unknown): name is string => typeof name === 'string' && FACTORY.test(name);

/**
 * Makes esbuild obey `@jsx` of a file, which it ignores in its automatic mode. The comment is
 * appended, so that no line of the author moves.
 */
export function withPragma(contents: Uint8Array): Uint8Array {
  const source = Buffer.from(contents.buffer, contents.byteOffset, contents.byteLength);
  const head = source.toString('latin1', 0, PRAGMA_BYTES);
  if (!/^[ \t]*(?:\/\/|\/?\*).*@jsx[ \t]+[\w.$]+/m.test(head) || /@jsx(?:Runtime|ImportSource)\s/.test(head))
    return contents;
  return Buffer.concat([source, Buffer.from('\n/** @jsxRuntime classic */')]);
}

/**
 * The package with a JSX runtime that the entrypoint imports, for code that its own tools compile
 * so without being asked.
 */
function importedRuntime(files: FileTree, entry: string): string | undefined {
  const code = Buffer.from(files.get(entry) ?? []).toString('latin1');
  if (code.includes(SDK)) return undefined;
  const { manifest } = packageOf(files, entry);
  if (!isRecord(manifest)) return undefined;
  const names = ['dependencies', 'devDependencies', 'peerDependencies'].flatMap((member) =>
    isRecord(manifest[member]) ? Object.keys(manifest[member]) : [],
  );
  return names
    .slice(0, DEPENDENCIES_MAX)
    .filter((name) => code.includes(`'${name}'`) || code.includes(`"${name}"`))
    .find((name) => hasRuntime(files, name, entry));
}

/** Whether JSX can be compiled to a package: an uploaded one with a runtime, or the SDK. */
const hasRuntime = (files: FileTree, name: string, entry: string): boolean =>
  name === SDK ||
  (PACKAGE_NAME.test(name) && 'path' in resolveImport(files, `${name}/jsx-runtime`, entry, 'import'));
