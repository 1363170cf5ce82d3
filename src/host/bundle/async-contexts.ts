/**
 * Lets `AsyncLocalStorage` follow `await` in a bundled script: each `await` keeps the asynchronous
 * context of before, and sets it again behind itself and where its rejection is caught.
 *
 * What an async function returns may be a thenable of a library, whose method is called later: it
 * is called in the context, too.
 *
 * V8 tells no code of an isolate when an async function goes on. The functions stay native: a stack
 * names the functions that wait, and the order of microtasks does not change. `for await` and async
 * generators are calls of `await` and `then` by now (`bundle-code.ts`).
 *
 * The script was made by esbuild: one expression, without comments. It is hostile all the same, and
 * parsed in the process of its upload.
 */
import { decode, encode } from '@jridgewell/sourcemap-codec';
import { parse } from 'acorn';
import { type AnyNode, nodesBelow } from '../../imports/syntax-tree.ts';

/** Text to insert before a position of the script. */
interface Insertion {
  readonly at: number;
  readonly text: string;
  /** Order of those at one position. */
  readonly order: number;
}

/** A function that is walked. */
interface Scope {
  readonly isAsync: boolean;
  /** Whether something in it may catch a rejection. */
  readonly catches: boolean;
  /** Where it catches. */
  readonly blocks: AnyNode[];
  awaits: boolean;
}

/** Expressions whose value is a thenable that was not waited for. */
const MAY_BE_THENABLE =
  /^(?:Call|New|Member|Conditional|Logical|TaggedTemplate)Expression$|^(?:Identifier|ChainExpression)$/;

/** A script with its source map. */
export interface MappedScript {
  readonly script: string;
  readonly map: string;
}

/**
 * @param context the parameter of the script that has the asynchronous context
 * @throws an error where the script cannot be parsed
 */
export function withContexts({ script, map }: MappedScript, context: string): MappedScript {
  const program = parse(script, { ecmaVersion: 'latest', sourceType: 'script' }) as unknown as AnyNode;
  const insertions = new Insertions(script, context);
  insertions.walk(program);
  const sorted = insertions.found.sort((one, other) => one.at - other.at || one.order - other.order);
  let written = '';
  let from = 0;
  for (const { at, text } of sorted) {
    written += script.slice(from, at) + text;
    from = at;
  }
  return { script: written + script.slice(from), map: moved(map, script, sorted) };
}

class Insertions {
  readonly found: Insertion[] = [];
  readonly #script: string;
  readonly #context: string;
  /** Begins the names of this module's variables. */
  readonly #name: string;
  #nodes = 0;

  constructor(script: string, context: string) {
    this.#script = script;
    this.#context = context;
    let name = '__kept';
    while (script.includes(name)) name += '_';
    this.#name = name;
  }

  walk(program: AnyNode): void {
    const functions: { node: AnyNode; scope: Scope }[] = [];
    const open: { node: AnyNode; scope: Scope | undefined }[] = [{ node: program, scope: undefined }];
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      const { node } = next;
      let { scope } = next;
      this.#nodes += 1;
      if (isFunction(node)) {
        const isAsync = node['async'] === true;
        const catches = isAsync && hasTry(node['body'] as AnyNode);
        scope = { isAsync, catches, blocks: [], awaits: false };
        functions.push({ node, scope });
        if (isAsync) this.#return(node['body']);
      } else if (node.type === 'AwaitExpression' && scope !== undefined) this.#await(node, scope);
      else if (node.type === 'ReturnStatement' && scope?.isAsync) this.#return(node['argument']);
      else if (node.type === 'TryStatement') scope?.blocks.push(...catching(node));
      for (const [, child] of nodesBelow(node)) open.push({ node: child, scope });
    }
    for (const { node, scope } of functions) if (scope.awaits) this.#function(node, scope);
    const main = functions[0]?.node;
    if (main !== undefined) this.#head(main);
  }

  /** What encloses comes first, and what ends first is inside. */
  #before(at: number, text: string): void {
    this.found.push({ at, text, order: this.#nodes });
  }
  #after(at: number, text: string): void {
    this.found.push({ at, text, order: -this.#nodes });
  }
  /** At the beginning of a block. */
  #in(at: number, text: string): void {
    this.found.push({ at, text, order: 0 });
  }

  #await(node: AnyNode, scope: Scope): void {
    scope.awaits = true;
    const name = this.#name;
    const [mark, clear] = scope.catches ? [`,${name}_w=1`, `,${name}_w=0`] : ['', ''];
    this.#before(node.start, `${name}_set(`);
    this.#before(node.start + 'await'.length, ` ${name}_wait(`);
    this.#after(node.end, `,${name}=${this.#context}.get()${mark}),${name}${clear})`);
  }

  /** @param value what an async function returns, or its body */
  #return(value: unknown): void {
    const { type, start, end } = (value ?? { type: '' }) as AnyNode;
    if (!MAY_BE_THENABLE.test(type)) return;
    this.#before(start, ` ${this.#name}_wait(`);
    this.#after(end, `,${this.#context}.get())`);
  }

  #function(node: AnyNode, scope: Scope): void {
    const body = node['body'] as AnyNode;
    const name = this.#name;
    for (const block of scope.blocks) {
      this.#in(block.start + 1, `${name}_w&&(${name}_w=0,${this.#context}.set(${name}));`);
    }
    const variables = `let ${name}${scope.catches ? `,${name}_w` : ''};`;
    if (body.type === 'BlockStatement') return this.#in(behindDirectives(body), variables);
    const arrow = this.#script.lastIndexOf('=>', body.start);
    this.#in(arrow + '=>'.length, `{${variables}return `);
    // Behind all that ends with the body.
    this.found.push({ at: node.end, text: '}', order: -0.5 });
    return undefined;
  }

  /**
   * The functions that the insertions call. A thenable of a library is called in the context, too.
   */
  #head(main: AnyNode): void {
    const [name, context] = [this.#name, this.#context];
    this.#in(
      behindDirectives(main['body'] as AnyNode),
      `const ${name}_set=(v,c)=>(${context}.set(c),v),` +
        `${name}_wait=(v,c)=>v===null||typeof v!=="object"&&typeof v!=="function"||` +
        `Object.getPrototypeOf(v)===Promise.prototype||typeof v.then!=="function"?v:` +
        `{then:(a,b)=>${context}.run(c,()=>v.then(a,b))};`,
    );
  }
}

const isFunction = ({ type }: AnyNode): boolean =>
  type === 'FunctionDeclaration' || type === 'FunctionExpression' || type === 'ArrowFunctionExpression';

/** The blocks that run after an exception. */
const catching = ({ handler, finalizer }: AnyNode): AnyNode[] =>
  [(handler as AnyNode | null)?.['body'], finalizer].filter(Boolean) as AnyNode[];

/** Whether the code of a function itself, not of those inside it, has a `try`. */
function hasTry(body: AnyNode): boolean {
  const open = [body];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    if (node.type === 'TryStatement') return true;
    if (!isFunction(node)) for (const [, child] of nodesBelow(node)) open.push(child);
  }
  return false;
}

function behindDirectives(block: AnyNode): number {
  const statements = block['body'] as AnyNode[];
  const last = statements.findLast((statement) => typeof statement['directive'] === 'string');
  return last?.end ?? block.start + 1;
}

/** The source map of the script with the insertions, which are sorted. */
function moved(map: string, script: string, insertions: readonly Insertion[]): string {
  const parsed = JSON.parse(map) as { mappings: string };
  const lines = decode(parsed.mappings);
  let lineStart = 0;
  let next = 0;
  for (const segments of lines) {
    const newline = script.indexOf('\n', lineStart);
    const lineEnd = newline < 0 ? script.length : newline;
    let shift = 0;
    for (const segment of segments) {
      for (let one = insertions[next]; one !== undefined && one.at <= lineStart + segment[0]; ) {
        shift += one.text.length;
        next += 1;
        one = insertions[next];
      }
      segment[0] += shift;
    }
    while ((insertions[next]?.at ?? Number.POSITIVE_INFINITY) <= lineEnd) next += 1;
    lineStart = lineEnd + 1;
  }
  return JSON.stringify({ ...parsed, mappings: encode(lines) });
}
