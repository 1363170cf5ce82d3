/**
 * Reads the members of one YAML map by their type, and notes what is wrong with each at its line.
 *
 * A reader asks for members one after the other and always gets a value of the right type, an empty one where the text
 * has none, so that a single reading lists every problem. Whoever started it looks at `problems` before using the result.
 */
import { nearest } from './nearest.ts';
import { type Problem, problem, warning } from './problem.ts';
import type { YamlPath, YamlSource } from './yaml-source.ts';

interface TextRule {
  readonly pattern?: RegExp;
  /** Says what `pattern` wants, to follow "must be". */
  readonly wanted?: string;
  readonly charsMax?: number;
}

export class YamlFields {
  readonly #source: YamlSource;
  readonly #path: YamlPath;
  readonly #values: Readonly<Record<string, unknown>>;
  readonly #problems: Problem[];

  constructor(source: YamlSource, path: YamlPath, value: unknown, problems: Problem[]) {
    this.#source = source;
    this.#path = path;
    this.#problems = problems;
    this.#values = isObject(value) ? value : {};
    if (!isObject(value)) this.#error(path, `${nameOf(path)} must be a map of keys to values.`);
  }

  /** The keys that are there and have a value. */
  keys(): string[] {
    return Object.keys(this.#values).filter((key) => this.#has(key));
  }

  raw(key: string): unknown {
    return this.#values[key];
  }

  text(key: string, rule: TextRule = {}): string {
    const value = this.optionalText(key, rule);
    if (value === undefined && !this.#has(key)) {
      this.#error([...this.#path, key], `${nameOf([...this.#path, key])} is required.`);
    }
    return value ?? '';
  }

  optionalText(key: string, { pattern, wanted, charsMax }: TextRule = {}): string | undefined {
    if (!this.#has(key)) return undefined;
    const value = this.#values[key];
    const path = [...this.#path, key];
    if (typeof value !== 'string') {
      const hint = typeof value === 'object' ? undefined : 'Put it in quotes.';
      return this.#error(path, `${nameOf(path)} must be text, not ${typeName(value)}.`, hint);
    }
    if (value.trim() === '') return this.#error(path, `${nameOf(path)} must not be empty.`);
    if (pattern?.test(value) === false)
      return this.#error(path, `${nameOf(path)} must be ${wanted ?? pattern.source}.`);
    if (charsMax !== undefined && value.length > charsMax) {
      return this.#error(
        path,
        `${nameOf(path)} has ${value.length} characters; at most ${charsMax} are allowed.`,
      );
    }
    return value;
  }

  /** One of a few words; the first of them stands in where the text has another. */
  choice<Word extends string>(key: string, words: readonly [Word, ...Word[]]): Word {
    const value = this.text(key);
    const found = words.find((word) => word === value);
    if (found === undefined && value !== '') {
      const path = [...this.#path, key];
      this.#error(
        path,
        `${nameOf(path)} must be one of ${words.join(', ')}, not "${excerpt(value)}".`,
        meant(value, words),
      );
    }
    return found ?? words[0];
  }

  /**
   * A list of texts; the empty list where there is none.
   *
   * @param rule `fault` tells what is wrong with one of them, to follow its name
   */
  texts(
    key: string,
    { required = false, fault }: { required?: boolean; fault?: (text: string) => string | undefined } = {},
  ): readonly string[] {
    return this.#list(key, required).flatMap((value, index) => {
      const path = [...this.#path, key, index];
      const isText = typeof value === 'string' && value !== '';
      const wrong = isText ? fault?.(value) : `must be text, not ${typeName(value)}`;
      if (isText && wrong === undefined) return [value];
      this.#error(path, `${nameOf(path)} ${wrong}${isText ? `, not "${excerpt(value)}"` : ''}.`);
      return [];
    });
  }

  /** A list of maps. */
  maps(key: string): YamlFields[] {
    return this.#list(key, false).map(
      (value, index) => new YamlFields(this.#source, [...this.#path, key, index], value, this.#problems),
    );
  }

  /** A map, undefined where there is none. */
  map(key: string): YamlFields | undefined {
    if (!this.#has(key)) return undefined;
    return new YamlFields(this.#source, [...this.#path, key], this.#values[key], this.#problems);
  }

  /** Warns of every key that is not among the known ones. */
  warnUnknown(known: readonly string[]): void {
    for (const key of Object.keys(this.#values)) {
      if (known.includes(key)) continue;
      const place = this.#source.keyPlaceOf([...this.#path, key]);
      const hint = meant(key, known);
      const message = `${nameOf([...this.#path, key])} is not a known key and is ignored.`;
      this.#problems.push(warning(message, hint === undefined ? place : { ...place, hint }));
    }
  }

  /** Notes a problem with a member, or with the whole map. */
  error(key: string | number | undefined, message: string, hint?: string): undefined {
    return this.#error(key === undefined ? this.#path : [...this.#path, key], message, hint);
  }

  #list(key: string, required: boolean): readonly unknown[] {
    const value = this.#values[key];
    if (Array.isArray(value)) return value;
    const path = [...this.#path, key];
    if (this.#has(key)) this.#error(path, `${nameOf(path)} must be a list, not ${typeName(value)}.`);
    else if (required) this.#error(path, `${nameOf(path)} is required.`, 'Write [] for an empty list.');
    return [];
  }

  /** A key without a value reads as null, and counts as absent. */
  #has(key: string): boolean {
    return Object.hasOwn(this.#values, key) && this.#values[key] !== null;
  }

  #error(path: YamlPath, message: string, hint?: string): undefined {
    const place = this.#source.placeOf(path);
    this.#problems.push(problem(message, hint === undefined ? place : { ...place, hint }));
  }
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** How a problem names a value: `blocks[0].id`. */
function nameOf(path: YamlPath): string {
  const name = path.map((part) => (typeof part === 'number' ? `[${part}]` : `.${excerpt(part)}`)).join('');
  return name === '' ? 'The manifest' : `"${name.replace(/^\./, '')}"`;
}

function typeName(value: unknown): string {
  if (value === null || value === undefined) return 'empty';
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' ? 'a map' : `a ${typeof value}`;
}

function meant(word: string, known: readonly string[]): string | undefined {
  const near = nearest(word, known);
  return near === undefined ? undefined : `Did you mean "${near}"?`;
}

const excerpt = (text: string): string => (text.length > 80 ? `${text.slice(0, 80)}…` : text);
