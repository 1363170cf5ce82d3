/**
 * One component of a URLPattern, compiled
 * (https://urlpattern.spec.whatwg.org/#compile-a-component).
 */
import {
  type Encode,
  FULL_WILDCARD,
  type Part,
  type PatternOptions,
  parsePattern,
  segmentWildcard,
} from './part-list.ts';
import { patternString } from './pattern-string.ts';

export interface Component {
  readonly pattern: string;
  readonly expression: RegExp;
  readonly names: readonly string[];
  readonly hasRegExpGroups: boolean;
}

/** Result of `exec` for one component. */
export interface ComponentResult {
  groups: Record<string, string | undefined>;
  input: string;
}

/** @throws TypeError for an invalid pattern */
export function compileComponent(input: string, encode: Encode, options: PatternOptions): Component {
  const parts = parsePattern(input, options, encode);
  const source = parts.map((part) => partSource(part, options)).join('');
  let expression: RegExp;
  try {
    expression = new RegExp(`^${source}$`, options.ignoreCase ? 'vi' : 'v');
  } catch {
    throw new TypeError(`Invalid regular expression in a pattern: ${input.slice(0, 128)}`);
  }
  return {
    pattern: patternString(parts, options),
    expression,
    names: parts.filter((part) => part.type !== 'fixed-text').map((part) => part.name),
    hasRegExpGroups: parts.some((part) => part.type === 'regexp'),
  };
}

/** "Create a component match result"; null if the component does not match. */
export function matchComponent({ expression, names }: Component, input: string): ComponentResult | null {
  const found = expression.exec(input);
  if (found === null) return null;
  // A group may be named `__proto__`: it becomes an own property too.
  return { groups: Object.fromEntries(names.map((name, i) => [name, found[i + 1]])), input };
}

/** "Generate a regular expression and name list", for one part. */
function partSource(part: Part, options: PatternOptions): string {
  const { modifier } = part;
  if (part.type === 'fixed-text') {
    return modifier === '' ? escapeRegExp(part.value) : `(?:${escapeRegExp(part.value)})${modifier}`;
  }
  const value = groupSource(part, options);
  const prefix = escapeRegExp(part.prefix);
  const suffix = escapeRegExp(part.suffix);
  const repeats = modifier === '*' || modifier === '+';
  if (prefix === '' && suffix === '') {
    return repeats ? `((?:${value})${modifier})` : `(${value})${modifier}`;
  }
  if (!repeats) return `(?:${prefix}(${value})${suffix})${modifier}`;
  // Prefix and suffix are between the repetitions, outside of the captured group.
  const repeated = `(?:${prefix}((?:${value})(?:${suffix}${prefix}(?:${value}))*)${suffix})`;
  return modifier === '*' ? `${repeated}?` : repeated;
}

function groupSource({ type, value }: Part, options: PatternOptions): string {
  if (type === 'segment-wildcard') return segmentWildcard(options);
  return type === 'full-wildcard' ? FULL_WILDCARD : value;
}

const escapeRegExp = (text: string): string => text.replace(/[.+*?^${}()[\]|/\\]/g, '\\$&');
