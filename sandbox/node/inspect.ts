/**
 * `inspect` and `format` of `node:util`: those of Node.js, taken out of its sources by
 * `node-inspect-extracted`.
 *
 * The console has an inspector of its own, in the platform: hostile values cannot harm it, and each
 * isolate has it. This one has all options of Node.js. It is code of the bundle, with the rights
 * and the CPU time of the code that calls it.
 *
 * It cannot see the state of a promise, nor what an iterator or a WeakMap holds.
 */
import type Exported from 'node-inspect-extracted';

type Library = typeof Exported & {
  /** Columns of a text on a terminal. */
  getStringWidth(text: string): number;
  Proxy: { revocable(target: object, handler: object): { proxy: object; revoke: () => void } };
};

/**
 * The library looks at what an isolate or a bundle may lack when it is loaded: two globals, and the
 * prototype of async generators, which are compiled to plain functions beside `AsyncLocalStorage`.
 * For that time there is something in their place.
 */
function load(): Library {
  const places = [
    { at: globalThis, name: 'Atomics' },
    { at: globalThis, name: 'FinalizationRegistry' },
    { at: Function.prototype, name: 'prototype' },
  ].filter(({ at, name }) => !(name in at));
  for (const { at, name } of places) Object.defineProperty(at, name, { value: class {}, configurable: true });
  try {
    return require('node-inspect-extracted') as Library;
  } finally {
    for (const { at, name } of places) Reflect.deleteProperty(at, name);
  }
}

/**
 * Makes `Proxy` remember what it makes: V8 does not tell JavaScript what is a proxy. So `inspect`
 * runs no traps, and shows what is behind a proxy where it is asked to.
 */
function rememberProxies(library: Library): void {
  const Native = globalThis.Proxy;
  const remember = <T extends object>(proxy: T): T => {
    proxies.add(proxy);
    return proxy;
  };
  const revocable = (target: object, handler: object): { proxy: object; revoke: () => void } => {
    const made = library.Proxy.revocable(target, handler);
    remember(made.proxy);
    return made;
  };
  globalThis.Proxy = new Native(Native, {
    construct: (_, [target, handler]) => remember(new library.Proxy(target, handler)),
    get: (native, name, self) => (name === 'revocable' ? revocable : Reflect.get(native, name, self)),
  });
}

type Custom = (this: unknown, depth: number, options: object) => unknown;
const ATTRIBUTES = [
  ...['href', 'origin', 'protocol', 'username', 'password', 'host', 'hostname', 'port', 'pathname'],
  ...['search', 'searchParams', 'hash'],
] as const;

/** Gives the URL classes their text of Node.js: what they hold is in private members. */
function showUrls(library: Library): void {
  const nameOf = (value: object): string => value.constructor?.name || 'Object';
  const custom = (prototype: object, value: Custom): void => {
    const name = Symbol.for('nodejs.util.inspect.custom');
    if (!Object.hasOwn(prototype, name))
      Object.defineProperty(prototype, name, { value, configurable: true });
  };
  custom(URL.prototype, function (this: URL, depth, options) {
    if (depth < 0) return this;
    const shown = Object.fromEntries(ATTRIBUTES.map((name) => [name, this[name as keyof URL]]));
    return `${nameOf(this)} ${library.inspect(shown, options)}`;
  } as Custom);
  custom(URLSearchParams.prototype, function (this: URLSearchParams, depth, options) {
    if (depth < 0) return '[Object]';
    const show = (value: string): string => library.inspect(value, options);
    const pairs = [...this].map(([name, value]) => `${show(name)} => ${show(value)}`);
    const length = pairs.reduce((sum, pair) => sum + library.stripVTControlCharacters(pair).length + 2, -2);
    if (pairs.length === 0) return `${nameOf(this)} {}`;
    const { breakLength = 80 } = options as { breakLength?: number };
    if (length > breakLength) return `${nameOf(this)} {\n  ${pairs.join(',\n  ')} }`;
    return `${nameOf(this)} { ${pairs.join(', ')} }`;
  } as Custom);
}

function prepared(): Library {
  const library = load();
  rememberProxies(library);
  showUrls(library);
  return library;
}

const proxies = /* @__PURE__ */ new WeakSet<object>();
export const isProxy = (value: unknown): boolean => proxies.has(value as object);
export const {
  inspect,
  format,
  formatWithOptions,
  stripVTControlCharacters,
  getStringWidth: widthOf,
} = /* @__PURE__ */ prepared();
