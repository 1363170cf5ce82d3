/**
 * `util.parseArgs` (https://nodejs.org/api/util.html#utilparseargsconfig).
 */
import {
  invalidArgType,
  invalidArgValue,
  nodeError,
  validateArray,
  validateBoolean,
  validateObject,
  validateString,
  validateStringArray,
} from './errors.ts';

type Value = string | boolean;
interface Option {
  readonly type: 'string' | 'boolean';
  readonly short?: string;
  readonly multiple?: boolean;
  readonly default?: Value | Value[];
}
type Options = Readonly<Record<string, Option>>;
interface Config {
  readonly args?: readonly string[];
  readonly options?: Options;
  readonly strict?: boolean;
  readonly allowPositionals?: boolean;
  readonly allowNegative?: boolean;
  readonly tokens?: boolean;
}
interface OptionToken {
  readonly kind: 'option';
  name: string;
  readonly rawName: string;
  readonly index: number;
  readonly value: string | undefined;
  readonly inlineValue: boolean | undefined;
}
type Token =
  | OptionToken
  | { readonly kind: 'positional'; readonly index: number; readonly value: string }
  | { readonly kind: 'option-terminator'; readonly index: number };

export function parseArgs(config: Config = {}): object {
  const { args = [], options = {}, strict = true, tokens = false, allowNegative = false } = config;
  const { allowPositionals = !strict } = config;
  validateArray(args, 'args');
  validateBoolean(strict, 'strict');
  validateBoolean(allowPositionals, 'allowPositionals');
  validateBoolean(tokens, 'tokens');
  validateBoolean(allowNegative, 'allowNegative');
  checkOptions(options);
  const values: Record<string, unknown> = Object.create(null);
  const positionals: string[] = [];
  const found = tokensOf(args, options);
  for (const token of found) {
    if (token.kind === 'option') {
      if (strict) checkUse(token, options, { allowPositionals, allowNegative });
      store(values, token, options, allowNegative);
    } else if (token.kind === 'positional') {
      if (!allowPositionals) throw unexpected(token.value);
      positionals.push(token.value);
    }
  }
  for (const [name, option] of Object.entries(options)) {
    if (option.default !== undefined) values[name] ??= option.default;
  }
  return tokens ? { values, positionals, tokens: found } : { values, positionals };
}

function checkOptions(options: Options): void {
  validateObject(options, 'options');
  for (const [name, option] of Object.entries(options)) {
    const at = `options.${name}`;
    validateObject(option, at);
    if (!['string', 'boolean'].includes(option.type)) {
      throw invalidArgType(`${at}.type`, "('string|boolean')", option.type);
    }
    if (Object.hasOwn(option, 'short')) {
      validateString(option.short, `${at}.short`);
      if (option.short.length !== 1) {
        throw invalidArgValue(`${at}.short`, option.short, 'must be a single character');
      }
    }
    if (Object.hasOwn(option, 'multiple')) validateBoolean(option.multiple, `${at}.multiple`);
    if (option.default !== undefined) checkDefault(option, `${at}.default`);
  }
}

function checkDefault({ type, multiple, default: value }: Option, at: string): void {
  if (type === 'string') {
    if (multiple) validateStringArray(value, at);
    else validateString(value, at);
  } else if (multiple) {
    validateArray(value, at);
    for (const [index, one] of value.entries()) validateBoolean(one, `${at}[${index}]`);
  } else validateBoolean(value, at);
}

/** The arguments one after the other; a group of short options as its options. */
function tokensOf(args: readonly string[], options: Options): Token[] {
  const tokens: Token[] = [];
  const typeOf = (name: string): string | undefined =>
    Object.hasOwn(options, name) ? options[name]?.type : undefined;
  const named = (short: string): string =>
    Object.entries(options).find(([, option]) => option.short === short)?.[0] ?? short;
  const rest = [...args];
  let index = -1;
  let grouped = 0;
  while (rest.length > 0) {
    const arg = rest.shift() as string;
    const next = rest[0];
    if (grouped > 0) grouped--;
    else index++;
    const add = (name: string, rawName: string, value?: string, inlineValue?: boolean): void => {
      tokens.push({ kind: 'option', name, rawName, index, value, inlineValue });
      if (inlineValue === false) index++;
    };
    const short = arg.length > 1 && arg[0] === '-' && arg[1] !== '-' ? named(arg[1] as string) : undefined;
    const lone =
      short === undefined
        ? arg.startsWith('--') && !arg.includes('=', 3)
          ? arg.slice(2)
          : ''
        : arg.length === 2
          ? short
          : '';
    if (arg === '--') {
      tokens.push({ kind: 'option-terminator', index });
      for (const value of rest) tokens.push({ kind: 'positional', index: ++index, value });
      break;
    }
    if (lone !== '') {
      const takes = typeOf(lone) === 'string' && next !== undefined;
      if (takes) rest.shift();
      add(lone, arg, takes ? next : undefined, takes ? false : undefined);
    } else if (short !== undefined && typeOf(short) !== 'string') {
      const expanded: string[] = [];
      for (let at = 1; at < arg.length; at++) {
        const last = typeOf(named(arg[at] as string)) === 'string' && at < arg.length - 1;
        expanded.push(`-${last ? arg.slice(at) : arg[at]}`);
        if (last) break;
      }
      rest.unshift(...expanded);
      grouped = expanded.length;
    } else if (short !== undefined) {
      add(short, arg.slice(0, 2), arg.slice(2), true);
    } else if (arg.length > 2 && arg.startsWith('--')) {
      const at = arg.indexOf('=', 3);
      add(arg.slice(2, at), arg.slice(0, at), arg.slice(at + 1), true);
    } else tokens.push({ kind: 'positional', index, value: arg });
  }
  return tokens;
}

interface Allowed {
  readonly allowPositionals: boolean;
  readonly allowNegative: boolean;
}

function checkUse(token: OptionToken, options: Options, allowed: Allowed): void {
  const { rawName, value } = token;
  const positive = token.name.slice(3);
  const negated =
    allowed.allowNegative &&
    !Object.hasOwn(options, token.name) &&
    token.name.startsWith('no-') &&
    Object.hasOwn(options, positive) &&
    options[positive]?.type === 'boolean';
  const name = negated ? positive : token.name;
  if (!Object.hasOwn(options, name)) throw unknown(rawName, allowed.allowPositionals);
  const { type, short } = options[name] as Option;
  const both = `${short ? `-${short}, ` : ''}--${name}`;
  if (type === 'string' && typeof value !== 'string')
    throw wrong(`Option '${both} <value>' argument missing`);
  if (type === 'boolean' && value !== undefined) throw wrong(`Option '${both}' does not take an argument`);
  if (token.inlineValue !== false || value === undefined || value.length < 2 || value[0] !== '-') return;
  const example = rawName.startsWith('--') ? `'${rawName}=-XYZ'` : `'--${name}=-XYZ' or '${rawName}-XYZ'`;
  throw wrong(`Option '${rawName}' argument is ambiguous.
Did you forget to specify the option argument for '${rawName}'?
To specify an option argument starting with a dash use ${example}.`);
}

const wrong = (message: string): Error =>
  nodeError(TypeError, 'ERR_PARSE_ARGS_INVALID_OPTION_VALUE', message, wrong);

function unknown(option: string, positionals: boolean): Error {
  const advice = `. To specify a positional argument starting with a '-', place it at the end of the command after '--', as in '-- "${option}"`;
  const message = `Unknown option '${option}'${positionals ? advice : ''}`;
  return nodeError(TypeError, 'ERR_PARSE_ARGS_UNKNOWN_OPTION', message, unknown);
}

function unexpected(value: string): Error {
  const message = `Unexpected argument '${value}'. This command does not take positional arguments`;
  return nodeError(TypeError, 'ERR_PARSE_ARGS_UNEXPECTED_POSITIONAL', message, unexpected);
}

function store(
  values: Record<string, unknown>,
  token: OptionToken,
  options: Options,
  allowNegative: boolean,
): void {
  const { name, value } = token;
  if (name === '__proto__') return;
  const negated =
    allowNegative && name.startsWith('no-') && value === undefined && !Object.hasOwn(options, name);
  const key = negated ? name.slice(3) : name;
  token.name = key;
  const stored = negated ? false : (value ?? true);
  const multiple = Object.hasOwn(options, key) && options[key]?.multiple;
  if (!multiple) values[key] = stored;
  else values[key] = [...((values[key] as unknown[] | undefined) ?? []), stored];
}
