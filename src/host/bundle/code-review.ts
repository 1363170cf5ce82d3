/**
 * Finds in the author's own files what fails only when a handler runs: names that nothing defines,
 * and `throw` of a text, which has no stack. Each is a warning with its place.
 *
 * Looks at the files that the bundle consists of, not at packages. Every file is compiled alone,
 * parsed once more, and its scopes are resolved; what cannot be decided for sure is left out.
 * Bounded in bytes and warnings. Runs in the process of the upload.
 */
import { originalPositionFor, TraceMap } from '@jridgewell/trace-mapping';
import { type Node, parse } from 'acorn';
import { transform } from 'esbuild';
import { analyze } from 'eslint-scope';
import { type AnyNode, isNode, nodesBelow } from '../../imports/syntax-tree.ts';
import { ABSENT_BINDINGS } from '../../model/manifest/worker.ts';
import { isError, type Problem, problem, warning } from '../../model/problem.ts';

/** More code than this is not looked at: a bundle that somebody uploads as one file. */
const FILE_BYTES_MAX = 128 * 1024;
const ALL_BYTES_MAX = 512 * 1024;
const WARNINGS_MAX = 20;
const NAME_CHARS_MAX = 80;
/** Names of CommonJS: esbuild resolves `require`, and warns of the others in modules. */
const COMMONJS: ReadonlySet<string> = new Set(['module', 'exports', 'require']);
const NOT_CODE = /\.(?:json|txt|md|html|css|svg|wasm)$|\.raw\.\w+$/i;

/** A file of the bundle. */
export interface ReviewedFile {
  readonly path: string;
  readonly source: Uint8Array;
  readonly isCommonJs: boolean;
}

/** @param env names in the `env` of a worker; undefined for code that gets envelopes */
export async function reviewCode(
  files: readonly ReviewedFile[],
  env?: readonly string[],
): Promise<Problem[]> {
  const own = files.filter(
    ({ path, source }) =>
      !path.includes('node_modules/') && !NOT_CODE.test(path) && source.byteLength <= FILE_BYTES_MAX,
  );
  let bytes = 0;
  const read = own.filter(({ source }) => {
    bytes += source.byteLength;
    return bytes <= ALL_BYTES_MAX;
  });
  const declared = env && new Set([...env, ...WORKER_ENV]);
  const reviews = await Promise.all(read.map((file) => reviewFile(file, declared)));
  // Code may define globals for other files of its own.
  const defined = new Set(reviews.flatMap((review) => [...(review?.defines ?? [])]));
  for (const name of declared ? [...declared, ...WORKER_GLOBALS] : []) defined.add(name);
  const found = reviews
    .flatMap((review) => review?.findings ?? [])
    .filter(({ name }) => name === undefined || !defined.has(name))
    .map(({ problem }) => problem);
  const refused = found.filter(isError);
  return (refused.length > 0 ? refused : found).slice(0, WARNINGS_MAX);
}

interface Finding {
  /** Present for a name that is not defined. */
  readonly name?: string;
  readonly problem: Problem;
}
type PlaceOf = (node: Node) => Place;
interface Review {
  readonly findings: readonly Finding[];
  /** Names that the file puts on the global object. */
  readonly defines: ReadonlySet<string>;
}

type Place = Pick<Problem, 'file' | 'line' | 'column'>;

async function reviewFile(
  { path, source, isCommonJs }: ReviewedFile,
  env: ReadonlySet<string> | undefined,
): Promise<Review | undefined> {
  try {
    const loader = /\.[mc]?ts$/.test(path) ? 'ts' : path.endsWith('.tsx') ? 'tsx' : 'jsx';
    const compiled = await transform(source, {
      ...{ loader, target: 'esnext', jsx: 'automatic', sourcemap: 'external', sourcefile: path },
      ...{ format: 'esm', logLevel: 'silent', tsconfigRaw: '{}' },
    });
    const program = parse(compiled.code, {
      ...{ ecmaVersion: 'latest', locations: true, ranges: true },
      ...(isCommonJs
        ? ({ sourceType: 'script', allowReturnOutsideFunction: true } as const)
        : ({ sourceType: 'module' } as const)),
    });
    const map = new TraceMap(compiled.map);
    const placeOf: PlaceOf = ({ loc }) => {
      if (!loc) return { file: path };
      const { line, column } = originalPositionFor(map, loc.start);
      return line === null ? { file: path } : { file: path, line, column: column + 1 };
    };
    const facts = factsOf(program);
    return {
      findings: [
        ...(env ? undeclaredBindings(facts, env, placeOf) : []),
        ...undefinedNames(program, facts, { isCommonJs, placeOf, isWorker: env !== undefined }),
        ...facts.thrownTexts.map((node) => ({ problem: thrownText(placeOf(node)) })),
      ],
      defines: facts.defines,
    };
  } catch {
    // The bundle was built: this is syntax that the second parser does not know.
    return undefined;
  }
}

function undefinedNames(
  program: Node,
  { asked, guarded, evaluates }: Facts,
  {
    isCommonJs,
    placeOf,
    isWorker,
  }: { readonly isCommonJs: boolean; placeOf(node: Node): Place; readonly isWorker: boolean },
): Finding[] {
  if (evaluates) return [];
  const scopes = analyze(program as unknown as Parameters<typeof analyze>[0], {
    ...{ ecmaVersion: 2024, sourceType: isCommonJs ? 'script' : 'module', ignoreEval: true },
    ...(isCommonJs && { nodejsScope: true }),
  });
  const found = new Map<string, Finding>();
  for (const { identifier } of scopes.globalScope?.through ?? []) {
    const { name } = identifier as { readonly name?: unknown };
    const node = identifier as unknown as Node;
    if (typeof name !== 'string' || found.has(name) || COMMONJS.has(name) || KNOWN_GLOBALS.has(name))
      continue;
    if (asked.has(name) || guarded.some(([from, to]) => node.start >= from && node.end <= to)) continue;
    const instead = isWorker && Object.hasOwn(ABSENT_GLOBALS, name) ? ABSENT_GLOBALS[name] : undefined;
    const problem =
      instead === undefined
        ? undefinedName(name.slice(0, NAME_CHARS_MAX), placeOf(node))
        : absentGlobal(name, instead, placeOf(node));
    found.set(name, { name, problem });
  }
  return [...found.values()];
}

/** What `env` of a worker has whatever its manifest says. */
const WORKER_ENV = ['CONFIGURATION', 'ANNEX'];
/** What `sandbox/worker/worker.ts` puts on the global object. */
const WORKER_GLOBALS = ['caches', 'scheduler'];

/** Method that one kind of binding alone has → the key that declares it. */
const METHODS: Readonly<Record<string, string>> = {
  prepare: 'd1_databases',
  idFromName: 'durable_objects',
  idFromString: 'durable_objects',
  newUniqueId: 'durable_objects',
  getByName: 'durable_objects',
  createMultipartUpload: 'r2_buckets',
  sendBatch: 'queues',
  writeDataPoint: 'analytics_engine_datasets',
};

/** Reads of `env` that find nothing; those of a binding that does not exist here are errors. */
function undeclaredBindings({ reads }: Facts, env: ReadonlySet<string>, placeOf: PlaceOf): Finding[] {
  const found = new Map<string, Finding>();
  for (const { name, method, node } of reads) {
    if (env.has(name)) continue;
    const key = method !== undefined && Object.hasOwn(METHODS, method) ? METHODS[method] : undefined;
    const absent = key === undefined ? undefined : ABSENT_BINDINGS[key];
    const known = found.get(name);
    if (known !== undefined && (absent === undefined || isError(known.problem))) continue;
    const shown = name.slice(0, NAME_CHARS_MAX);
    const place = placeOf(node);
    const isKv = method === 'getWithMetadata';
    found.set(name, {
      problem:
        absent === undefined
          ? warning(`env.${shown} is not in the manifest, so it is undefined.`, {
              ...place,
              hint: isKv
                ? `Write "kv: [${shown}]".`
                : 'Declare it in "vars", "secrets" or "kv" of the manifest.',
            })
          : problem(`env.${shown} is used as a binding of ${absent.name}, and Annex has none.`, {
              ...place,
              hint: absent.instead,
            }),
    });
  }
  return [...found.values()];
}

/** Globals of Workers that do not exist here → what does instead. */
const ABSENT_GLOBALS: Readonly<Record<string, string>> = {
  HTMLRewriter: 'Rewrite pages with a package of npm, such as htmlparser2 or parse5.',
  WebSocketPair: 'Send what happens as a stream of server-sent events.',
};

const absentGlobal = (name: string, hint: string, place: Place): Problem =>
  problem(`"${name}" is not available: Annex has none.`, { ...place, hint });

const undefinedName = (name: string, place: Place): Problem =>
  warning(`"${name}" is not defined: neither in this file, nor by the platform.`, {
    ...place,
    hint: 'Declare or import it. Code that uses it fails with a ReferenceError.',
  });

const thrownText = (place: Place): Problem =>
  warning('What is thrown here is no Error, so the log cannot show its place.', {
    ...place,
    hint: 'Write `throw new Error(…)`.',
  });

/** What the syntax tree of a file shows by itself. */
interface Facts {
  /** Names in `typeof name`: code that asks does without them. */
  readonly asked: Set<string>;
  /** Ranges of `try` blocks with a `catch`, whose errors are handled. */
  readonly guarded: [number, number][];
  readonly defines: Set<string>;
  readonly thrownTexts: Node[];
  /** Reads of `env.NAME`, and the method that is called on it. */
  readonly reads: { readonly name: string; readonly method: string | undefined; readonly node: Node }[];
  /** Whether code is made at run time, which may declare anything. */
  evaluates: boolean;
}

const nameOf = (value: unknown): string =>
  isNode(value) && value.type === 'Identifier' ? String(value['name']) : '';

function factsOf(program: Node): Facts {
  const facts: Facts = {
    asked: new Set(),
    guarded: [],
    defines: new Set(),
    thrownTexts: [],
    reads: [],
    evaluates: false,
  };
  const waiting = [program as AnyNode];
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    look(node, facts);
    for (const [, child] of nodesBelow(node)) waiting.push(child);
  }
  return facts;
}

function look(node: AnyNode, facts: Facts): void {
  const { argument, block, handler, left, callee } = node;
  if (node.type === 'MemberExpression') lookAtMember(node, facts);
  if (node.type === 'UnaryExpression' && node['operator'] === 'typeof') facts.asked.add(nameOf(argument));
  if (node.type === 'TryStatement' && isNode(block) && handler !== null)
    facts.guarded.push([block.start, block.end]);
  if (node.type === 'ThrowStatement' && isText(argument)) facts.thrownTexts.push(node);
  if (node.type === 'CallExpression' && nameOf(callee) === 'eval') facts.evaluates = true;
  if (node.type !== 'AssignmentExpression' || !isNode(left) || left.type !== 'MemberExpression') return;
  if (/^(?:globalThis|global|self|window)$/.test(nameOf(left['object'])))
    facts.defines.add(nameOf(left['property']));
}

/** `env.NAME`, of a parameter `env` or a member of that name, in the capitals of bindings. */
const bindingIn = (value: unknown): string | undefined => {
  if (!isNode(value) || value.type !== 'MemberExpression' || value['computed'] === true) return undefined;
  const object = value['object'];
  const owner = isNode(object) && object.type === 'MemberExpression' ? object['property'] : object;
  const name = nameOf(value['property']);
  return nameOf(owner) === 'env' && /^[A-Z][A-Z0-9_]*$/.test(name) ? name : undefined;
};

function lookAtMember(node: AnyNode, { reads }: Facts): void {
  const own = bindingIn(node);
  if (own !== undefined) reads.push({ name: own, method: undefined, node });
  const object = bindingIn(node['object']);
  if (object !== undefined) reads.push({ name: object, method: nameOf(node['property']), node });
}

const isText = (value: unknown): boolean =>
  isNode(value) &&
  (value.type === 'TemplateLiteral' || (value.type === 'Literal' && typeof value['value'] === 'string'));

const NAMES = `
  AggregateError Array ArrayBuffer AsyncDisposableStack BigInt BigInt64Array BigUint64Array Boolean
  DataView Date DisposableStack Error EvalError Float16Array Float32Array Float64Array Function
  Infinity Int16Array Int32Array Int8Array Intl Iterator JSON Map Math NaN Number Object Promise
  Proxy RangeError ReferenceError Reflect RegExp Set String SuppressedError Symbol SyntaxError
  Temporal TypeError URIError Uint16Array Uint32Array Uint8Array Uint8ClampedArray WeakMap WeakRef
  WeakSet WebAssembly decodeURI decodeURIComponent encodeURI encodeURIComponent escape eval globalThis isFinite
  isNaN parseFloat parseInt undefined unescape AbortController AbortSignal Blob
  ByteLengthQueuingStrategy CompressionStream CountQueuingStrategy Crypto CryptoKey CustomEvent
  DOMException DecompressionStream ErrorEvent Event EventSource EventTarget File FormData Headers
  MessageChannel MessageEvent MessagePort Navigator Performance PerformanceEntry PerformanceMark
  PerformanceMeasure PerformanceObserver PerformanceObserverEntryList PerformanceResourceTiming QuotaExceededError ReadableByteStreamController ReadableStream
  ReadableStreamBYOBReader ReadableStreamBYOBRequest ReadableStreamDefaultController
  ReadableStreamDefaultReader Request Response SubtleCrypto TextDecoder TextDecoderStream
  TextEncoder TextEncoderStream TransformStream TransformStreamDefaultController URL URLPattern
  URLSearchParams WritableStream WritableStreamDefaultController WritableStreamDefaultWriter
  addEventListener atob btoa clearInterval clearTimeout console crypto dispatchEvent fetch
  navigator onerror performance queueMicrotask removeEventListener reportError self setInterval
  setTimeout structuredClone`;

const GIVEN = [
  ...['Buffer', 'process', 'setImmediate', 'clearImmediate', 'global', 'MODE'],
  ...['__dirname', '__filename'],
];

/**
 * Names that code finds without declaring them: the globals of an isolate, which a test compares
 * with a real one, and those that the bundler gives (`sandbox/node/globals.ts`, `define`).
 *
 * What an isolate has itself.
 */
export const ISOLATE_GLOBALS: readonly string[] = NAMES.trim().split(/\s+/);

const KNOWN_GLOBALS: ReadonlySet<string> = new Set([...ISOLATE_GLOBALS, ...GIVEN, 'arguments']);
