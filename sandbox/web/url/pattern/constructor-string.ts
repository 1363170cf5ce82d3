/**
 * Parses a pattern for a whole URL into its components
 * (https://urlpattern.spec.whatwg.org/#constructor-string-parsing).
 *
 * Follows the states of the URL parser, on tokens instead of characters, so that `:name` is not a
 * port, and `?` after a group not a search.
 */
import { compileProtocol, matchesSpecialScheme } from './component-kinds.ts';
import type { URLPatternInit } from './init.ts';
import { type Token, tokenize } from './tokens.ts';

type State =
  | 'init'
  | 'protocol'
  | 'authority'
  | 'username'
  | 'password'
  | 'hostname'
  | 'port'
  | 'pathname'
  | 'search'
  | 'hash'
  | 'done';

/** @throws TypeError if the protocol is not a valid pattern */
export const parseConstructorString = (input: string): URLPatternInit =>
  new ConstructorStringParser(input).parse();

class ConstructorStringParser {
  readonly #chars: readonly string[];
  readonly #tokens: readonly Token[];
  readonly #result: URLPatternInit = {};
  #state: State = 'init';
  #componentStart = 0;
  #index = 0;
  /** Whether the state has already moved to the next token. */
  #moved = false;
  #groupDepth = 0;
  #bracketDepth = 0;
  #special = false;

  constructor(input: string) {
    this.#chars = [...input];
    this.#tokens = tokenize(input, 'lenient');
  }

  parse(): URLPatternInit {
    while (this.#state !== 'done') {
      this.#moved = false;
      this.#step();
      if (!this.#moved) this.#index++;
    }
    // A host without a port means the default port.
    if (this.#result.hostname !== undefined) this.#result.port ??= '';
    return this.#result;
  }

  #step(): void {
    const { type } = this.#token(this.#index);
    if (type === 'end') {
      this.#end();
      return;
    }
    // Within braces nothing separates components.
    if (type === 'open') {
      this.#groupDepth++;
      return;
    }
    if (this.#groupDepth > 0) {
      if (type !== 'close') return;
      this.#groupDepth--;
    }
    this.#stepIn(this.#state);
  }

  #end(): void {
    if (this.#state === 'init') {
      // Without a protocol, the pattern is relative.
      this.#rewind('init');
      if (this.#is('#')) this.#change('hash', 1);
      else if (this.#isSearchPrefix()) this.#change('search', 1);
      else this.#change('pathname', 0);
    } else if (this.#state === 'authority') {
      this.#rewind('hostname');
    } else {
      this.#change('done', 0);
    }
  }

  #stepIn(state: State): void {
    switch (state) {
      case 'init':
        if (this.#is(':')) this.#rewind('protocol');
        break;
      case 'protocol':
        if (this.#is(':')) this.#endProtocol();
        break;
      case 'authority':
        if (this.#is('@')) this.#rewind('username');
        else if (this.#is('/') || this.#isSearchPrefix() || this.#is('#')) this.#rewind('hostname');
        break;
      case 'username':
        if (this.#is(':')) this.#change('password', 1);
        else if (this.#is('@')) this.#change('hostname', 1);
        break;
      case 'password':
        if (this.#is('@')) this.#change('hostname', 1);
        break;
      case 'hostname':
        if (this.#is('[')) this.#bracketDepth++;
        else if (this.#is(']')) this.#bracketDepth--;
        else if (this.#is(':') && this.#bracketDepth === 0) this.#change('port', 1);
        else this.#stepAfterHost(state);
        break;
      default:
        this.#stepAfterHost(state);
    }
  }

  #stepAfterHost(state: State): void {
    const beforePath = state === 'hostname' || state === 'port';
    if (beforePath && this.#is('/')) this.#change('pathname', 0);
    else if ((beforePath || state === 'pathname') && this.#isSearchPrefix()) this.#change('search', 1);
    else if (state !== 'hash' && this.#is('#')) this.#change('hash', 1);
  }

  #endProtocol(): void {
    this.#special = matchesSpecialScheme(compileProtocol(this.#component()));
    if (this.#is('/', 1) && this.#is('/', 2)) this.#change('authority', 3);
    else this.#change(this.#special ? 'authority' : 'pathname', 1);
  }

  /**
   * "Change state". Components passed over on the way become empty, those that follow stay
   * wildcards.
   */
  #change(next: State, skip: number): void {
    const state = this.#state;
    if (isComponent(state)) this.#result[state] = this.#component();
    if (state !== 'init' && next !== 'done') {
      const from = ORDER.indexOf(state);
      const to = ORDER.indexOf(next);
      if (from < ORDER.indexOf('hostname') && to > ORDER.indexOf('hostname')) this.#result.hostname ??= '';
      if (from < ORDER.indexOf('pathname') && to > ORDER.indexOf('pathname')) {
        this.#result.pathname ??= this.#special ? '/' : '';
      }
      if (from < ORDER.indexOf('search') && to > ORDER.indexOf('search')) this.#result.search ??= '';
    }
    this.#state = next;
    this.#index += skip;
    this.#componentStart = this.#index;
    this.#moved = true;
  }

  /** "Rewind and set state". */
  #rewind(state: State): void {
    this.#index = this.#componentStart;
    this.#state = state;
    this.#moved = true;
  }

  /** "Make a component string". */
  #component(): string {
    const start = this.#token(this.#componentStart).index;
    return this.#chars.slice(start, this.#token(this.#index).index).join('');
  }

  /** "Get a safe token": the last one past the end. */
  #token(index: number): Token {
    return this.#tokens[Math.min(index, this.#tokens.length - 1)] as Token;
  }

  /** "Is a non-special pattern char". */
  #is(char: string, ahead = 0): boolean {
    const { type, value } = this.#token(this.#index + ahead);
    return value === char && (type === 'char' || type === 'escaped-char' || type === 'invalid-char');
  }

  /** Whether `?` begins the search, and is not a modifier. */
  #isSearchPrefix(): boolean {
    if (this.#is('?')) return true;
    if (this.#token(this.#index).value !== '?') return false;
    if (this.#index === 0) return true;
    const { type } = this.#token(this.#index - 1);
    return type !== 'name' && type !== 'regexp' && type !== 'close' && type !== 'asterisk';
  }
}

/** Prefix characters of components in a URL. */
const ORDER: readonly State[] = [
  'protocol',
  'authority',
  'username',
  'password',
  'hostname',
  'port',
  'pathname',
  'search',
  'hash',
];

const isComponent = (state: State): state is Exclude<State, 'init' | 'authority' | 'done'> =>
  state !== 'init' && state !== 'authority' && state !== 'done';
