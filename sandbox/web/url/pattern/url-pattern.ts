/**
 * URLPattern (https://urlpattern.spec.whatwg.org/#urlpattern-class): the interface.
 *
 * Annex has its own implementation (docs/decisions/url-pattern.md), because no published one
 * follows the current standard in `ignoreCase`, `hasRegExpGroups` and the components that a pattern
 * inherits from a base URL.
 */
import { defineInterface, isObject, toDictionary, toUSVString } from '../../web-idl.ts';
import { parseUrl } from './canonicalize.ts';
import { type Component, type ComponentResult, matchComponent } from './component.ts';
import { compileComponents } from './component-kinds.ts';
import { parseConstructorString } from './constructor-string.ts';
import { COMPONENTS, type ComponentName, processInit, toInput, type URLPatternInit } from './init.ts';

type Result = { inputs: (string | URLPatternInit)[] } & { [Name in ComponentName]: ComponentResult };

export class URLPattern {
  readonly #components: Readonly<Record<ComponentName, Component>>;

  constructor(
    input: unknown = undefined,
    baseUrlOrOptions: unknown = undefined,
    options: unknown = undefined,
  ) {
    const converted = toInput(input);
    // Web IDL's choice between the overloads (input, baseURL, options) and (input, options).
    const hasBase =
      arguments.length > 2 ||
      (baseUrlOrOptions !== undefined && baseUrlOrOptions !== null && !isObject(baseUrlOrOptions));
    const baseUrl = hasBase ? toUSVString(baseUrlOrOptions) : undefined;
    const { ignoreCase } = toDictionary(hasBase ? options : baseUrlOrOptions, 'URLPattern: options');
    const init = processInit(toInit(converted, baseUrl), 'pattern');
    this.#components = compileComponents(init, Boolean(ignoreCase));
  }

  test(input: unknown = undefined, baseURL: unknown = undefined): boolean {
    return match(this.#components, input, baseURL) !== null;
  }

  exec(input: unknown = undefined, baseURL: unknown = undefined): Result | null {
    return match(this.#components, input, baseURL);
  }

  get protocol(): string {
    return this.#components.protocol.pattern;
  }

  get username(): string {
    return this.#components.username.pattern;
  }

  get password(): string {
    return this.#components.password.pattern;
  }

  get hostname(): string {
    return this.#components.hostname.pattern;
  }

  get port(): string {
    return this.#components.port.pattern;
  }

  get pathname(): string {
    return this.#components.pathname.pattern;
  }

  get search(): string {
    return this.#components.search.pattern;
  }

  get hash(): string {
    return this.#components.hash.pattern;
  }

  get hasRegExpGroups(): boolean {
    return COMPONENTS.some((name) => this.#components[name].hasRegExpGroups);
  }
}
defineInterface(URLPattern, 'URLPattern');
for (const target of [URLPattern, URLPattern.prototype.test, URLPattern.prototype.exec]) {
  Object.defineProperty(target, 'length', { value: 0 });
}

function toInit(input: string | URLPatternInit, baseUrl: string | undefined): URLPatternInit {
  if (typeof input !== 'string') {
    if (baseUrl !== undefined) throw new TypeError('URLPattern: a base URL goes with a string only');
    return input;
  }
  const init = parseConstructorString(input);
  if (baseUrl !== undefined) init.baseURL = baseUrl;
  else if (init.protocol === undefined) {
    throw new TypeError(`URLPattern: a relative pattern without a base URL: ${input.slice(0, 128)}`);
  }
  return init;
}

/** "Match". */
function match(
  components: Readonly<Record<ComponentName, Component>>,
  input: unknown,
  baseURL: unknown,
): Result | null {
  const converted = toInput(input);
  const baseUrl = baseURL === undefined ? undefined : toUSVString(baseURL);
  const url = toComponents(converted, baseUrl);
  if (url === null) return null;
  const result: Partial<Result> = {};
  for (const name of COMPONENTS) {
    const found = matchComponent(components[name], url[name] ?? '');
    if (found === null) return null;
    result[name] = found;
  }
  result.inputs = baseUrl === undefined ? [converted] : [converted, baseUrl];
  return inOrder(result as Result);
}

/** The components of the input; null unless it is a URL. */
function toComponents(input: string | URLPatternInit, baseUrl: string | undefined): URLPatternInit | null {
  if (typeof input === 'string') {
    const url = parseUrl(input, baseUrl);
    if (url === null) return null;
    const { protocol, username, password, hostname, port, pathname, search, hash } = url;
    return {
      protocol: protocol.slice(0, -1),
      username,
      password,
      hostname,
      port,
      pathname,
      search: search.slice(1),
      hash: hash.slice(1),
    };
  }
  if (baseUrl !== undefined) throw new TypeError('URLPattern: a base URL goes with a string only');
  try {
    return processInit(input, 'url');
  } catch (error) {
    // Any other error, such as a used-up bound on domain look-ups, does not mean that the input is
    // invalid.
    if (!(error instanceof TypeErrorIntrinsic)) throw error;
    return null;
  }
}
const TypeErrorIntrinsic = TypeError;

/** The members of a dictionary in lexicographical order, as in Web IDL. */
const inOrder = (result: Result): Result =>
  Object.fromEntries(Object.entries(result).sort(([a], [b]) => (a < b ? -1 : 1))) as Result;
