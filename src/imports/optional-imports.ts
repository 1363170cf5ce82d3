/**
 * Imports that code may do without: a `require` or an `import()` of what an upload does not have,
 * in a place that handles the failure, or that may never run.
 *
 * Node.js finds out when such an import runs, and packages rely on that for parts that may be
 * absent. So it compiles to a module that throws the error of Node.js. Any other import of what is
 * absent is refused at publish.
 */
import type { Node } from 'acorn';
import { type Loader, transform } from 'esbuild';
import { isSource } from './source-options.ts';
import { type AnyNode, isNode, nodesBelow } from './syntax-tree.ts';

/** Namespace of the modules that throw; their paths are import specifiers. */
export const MISSING = 'missing';
/** No import of a larger file is optional. */
const FILE_BYTES_MAX = 4 * 1024 * 1024;

/** Whether the error of an import is handled, or the import may never run. */
export type Guard = 'handled' | 'conditional';

/** A file that imports. */
export interface Importer {
  readonly path: string;
  readonly source: Uint8Array | undefined;
  readonly loader: Loader | undefined;
}

/** @param kind of the import, as esbuild names it */
export function missingModule(specifier: string, kind: string): string {
  const [noun, code] =
    kind === 'require-call' ? ['module', 'MODULE_NOT_FOUND'] : ['package', 'ERR_MODULE_NOT_FOUND'];
  const message = JSON.stringify(`Cannot find ${noun} '${specifier}'`);
  return `throw Object.assign(new Error(${message}), { code: '${code}' });`;
}

/**
 * Asks for `require.resolve` of a name in the terms of `require`, which esbuild looks at: what is
 * absent throws, the rest is the name. Keeps the length of each line, for the source map.
 *
 * @param isThere whether the upload has what a specifier means
 */
export function withoutRequireResolve(
  contents: Uint8Array,
  loader: Loader,
  isThere: (specifier: string) => boolean,
): Uint8Array {
  const source = Buffer.from(contents.buffer, contents.byteOffset, contents.byteLength);
  if (!isSource(loader) || !source.includes(RESOLVE)) return contents;
  const text = source
    .toString('utf8')
    .replace(REQUIRE_RESOLVE, (_found, double?: string, single?: string) => {
      const call = isThere(double ?? single ?? '') ? 'String' : 'require';
      const blank = ' '.repeat(RESOLVE.length - call.length - '(/**/'.length);
      return `${call}(/*${blank}*/`;
    });
  return Buffer.from(text);
}

const RESOLVE = 'require.resolve(';
const REQUIRE_RESOLVE = /(?<![\w$.])require\.resolve\((?=(?:"([^"\\\n]{1,200})"|'([^'\\\n]{1,200})')\))/g;

/** Finds the guards of imports; each file is parsed once. */
export class ImportGuards {
  readonly #files = new Map<string, Promise<ReadonlyMap<string, Guard | undefined>>>();

  /**
   * @param kind of the import, as esbuild names it
   * @returns the guard that each such import in the file has
   */
  async guardOf(importer: Importer, specifier: string, kind: string): Promise<Guard | undefined> {
    const { path, source, loader } = importer;
    if (kind !== 'require-call' && kind !== 'dynamic-import') return undefined;
    if (source === undefined || loader === undefined || source.byteLength > FILE_BYTES_MAX) return undefined;
    const known = this.#files.get(path) ?? guardsIn(source, loader);
    this.#files.set(path, known);
    return (await known).get(`${kind} ${specifier}`);
  }
}

/** Kind and specifier → guard; empty for code that a parser does not know. */
async function guardsIn(source: Uint8Array, loader: Loader): Promise<ReadonlyMap<string, Guard | undefined>> {
  const guards = new Map<string, Guard | undefined>();
  try {
    const { code } = await transform(source, {
      ...{ loader, target: 'esnext', jsx: 'automatic', logLevel: 'silent', supported: { decorators: false } },
      tsconfigRaw: { compilerOptions: { experimentalDecorators: true } },
    });
    for (const [name, guard] of importsIn(await parsed(code)))
      guards.set(name, guards.has(name) && !guards.get(name) ? undefined : guard);
  } catch {
    return new Map();
  }
  return guards;
}

async function parsed(code: string): Promise<Node> {
  // Loaded only here: almost no upload needs it.
  const { parse } = await import('acorn');
  try {
    return parse(code, { ecmaVersion: 'latest', sourceType: 'module' });
  } catch {
    return parse(code, { ecmaVersion: 'latest', sourceType: 'script', allowReturnOutsideFunction: true });
  }
}

/** What surrounds a node. */
interface Around {
  readonly guard: Guard | undefined;
  /** The guard that stays in a function which runs later, and elsewhere. */
  readonly later: Guard | undefined;
  /** Whether a function here is an argument, or is called at once. */
  readonly inCall: boolean;
}

function* importsIn(program: Node): Iterable<[name: string, guard: Guard | undefined]> {
  const waiting: [node: AnyNode, around: Around][] = [
    [program as AnyNode, { guard: undefined, later: undefined, inCall: false }],
  ];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const [node, around] = next;
    const name = importOf(node);
    if (name !== undefined) yield [name, around.guard];
    const own = /Function/.test(node.type) && !around.inCall ? { ...around, guard: around.later } : around;
    for (const [member, child] of nodesBelow(node)) waiting.push([child, within(node, member, own)]);
  }
}

/** Node → its members that may never run. */
const CONDITIONAL: Readonly<Record<string, readonly string[]>> = {
  IfStatement: ['consequent', 'alternate'],
  ConditionalExpression: ['consequent', 'alternate'],
  LogicalExpression: ['right'],
  SwitchCase: ['consequent'],
};

/** What surrounds a member of a node. */
function within(node: AnyNode, member: string, { guard, later }: Around): Around {
  const { type } = node;
  if (CONDITIONAL[type]?.includes(member))
    return { guard: guard ?? 'conditional', later: 'conditional', inCall: false };
  const inCall = type === 'CallExpression' && (member === 'callee' || member === 'arguments');
  const isHandled =
    type === 'TryStatement'
      ? member === 'block' && node['handler'] !== null
      : inCall && handles(node, member);
  return { guard: isHandled ? 'handled' : guard, later, inCall };
}

/** Whether a call handles the rejection of what its callee, or its arguments, make. */
function handles({ callee, arguments: given }: AnyNode, member: string): boolean {
  const property = isNode(callee) && callee.type === 'MemberExpression' ? callee['property'] : undefined;
  const name = isNode(property) ? property['name'] : undefined;
  if (member === 'arguments') return name === 'allSettled';
  return name === 'catch' || (name === 'then' && Array.isArray(given) && given.length > 1);
}

/** Kind and specifier of an import. */
function importOf(node: AnyNode): string | undefined {
  const { type, callee, arguments: given, source } = node;
  if (type === 'ImportExpression') return named('dynamic-import', source);
  const isRequire = type === 'CallExpression' && isNode(callee) && callee['name'] === 'require';
  return isRequire && Array.isArray(given) ? named('require-call', given[0]) : undefined;
}

const named = (kind: string, source: unknown): string | undefined =>
  isNode(source) && typeof source['value'] === 'string' ? `${kind} ${source['value']}` : undefined;
