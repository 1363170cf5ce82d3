/**
 * Typed access to the members of one map of a manifest; records a problem with its line for each
 * invalid member.
 *
 * A reader always gets a value of the right type, an empty one where the text has none, so that one
 * pass lists every problem. Callers must check `problems` before they use the result.
 */
import { type Problem, problem, warning } from '../problem.ts';
import { nearest } from '../spelling-hint.ts';
import type { YamlPath, YamlSource } from './yaml-source.ts';

/** Positions of values; sources other than YAML text supply their own. */
export type Places = Pick<YamlSource, 'placeOf' | 'keyPlaceOf' | 'asText'>;

/** Rule for one text. */
export interface TextRule {
  readonly pattern?: RegExp;
  /** Describes `pattern`; follows "must be". */
  readonly wanted?: string;
  readonly charsMax?: number;
  readonly mayBeEmpty?: boolean;
  /** Finds the fault of a text: a clause that follows its name. */
  readonly fault?: (text: string) => string | undefined;
  /** Hint for a text that breaks `pattern` or has a `fault`. */
  readonly hint?: string;
}

/** Rule for a list of texts and for each of its entries. */
interface ListRule extends TextRule {
  readonly max?: number;
  /** Warns of duplicates, and leaves them out. */
  readonly unique?: boolean;
}

/** Maximum problems with a spelling hint: each costs a comparison with every known word. */
const GUESSES_MAX = 100;

export class YamlFields {
  readonly #places: Places;
  readonly #path: YamlPath;
  #values: Readonly<Record<string, unknown>>;
  readonly #problems: Problem[];

  constructor(places: Places, path: YamlPath, value: unknown, problems: Problem[]) {
    this.#places = places;
    this.#path = path;
    this.#problems = problems;
    this.#values = isObject(value) ? value : {};
    if (!isObject(value)) this.#error(path, `${nameOf(path)} must be a map of keys to values.`);
  }

  /** The keys that have a value. */
  keys(): string[] {
    return Object.keys(this.#values).filter((key) => this.has(key));
  }

  /** Records an error for each key without a value. @param what names an entry in the message */
  refuseEmpty(what: string): void {
    for (const key of Object.keys(this.#values)) {
      if (!this.has(key)) this.error([key], `The ${what} "${excerpt(key)}" has no value.`);
    }
  }

  /** A key without a value reads as null, and counts as absent. */
  has(key: string): boolean {
    return Object.hasOwn(this.#values, key) && this.#values[key] !== null;
  }

  raw(key: string): unknown {
    return this.has(key) ? this.#values[key] : undefined;
  }

  /** Records that a required member is absent. */
  refuseAbsent(key: string, isList: boolean): void {
    const hint = isList ? 'Write [] for an empty list.' : undefined;
    this.error(key, `${this.nameOf(key)} is required.`, hint);
  }

  text(key: string, rule: TextRule = {}): string | undefined {
    return this.has(key) ? this.#textAt(this.#pathTo(key), this.#values[key], rule) : undefined;
  }

  boolean(key: string): boolean | undefined {
    const value = this.raw(key);
    if (value === undefined || typeof value === 'boolean') return value;
    const hint = typeof value === 'string' ? 'Remove the quotes.' : undefined;
    return this.error(key, `${this.nameOf(key)} must be true or false, not ${typeName(value)}.`, hint);
  }

  /** One of a few words. */
  choice<Word extends string>(key: string, words: readonly Word[]): Word | undefined {
    const value = this.text(key);
    const found = words.find((word) => word === value);
    if (found !== undefined || value === undefined) return found;
    return this.errorMeant(key, `must be one of ${words.join(', ')}`, value, words);
  }

  /** A list of texts; empty where it is absent. */
  texts(key: string, { max, unique, ...rule }: ListRule = {}): readonly string[] {
    const found: string[] = [];
    const seen = new Set<string>();
    for (const [index, value] of this.list(key, max).entries()) {
      const text = this.textAt([key, index], value, rule);
      if (text === undefined) continue;
      if (unique && seen.has(text)) this.#warnRepeated([key, index], text);
      else found.push(text);
      seen.add(text);
    }
    return found;
  }

  /**
   * A list of known words, without duplicates. A word that is no misspelling of a known one is left
   * out with a warning.
   *
   * @param aliases other spelling → known word
   */
  words<Word extends string>(
    key: string,
    words: readonly Word[],
    aliases: ReadonlyMap<string, Word>,
  ): readonly Word[] {
    const found = new Set<Word>();
    for (const [index, value] of this.list(key).entries()) {
      const at = [key, index];
      const text = this.textAt(at, value);
      if (text === undefined) continue;
      const word = aliases.get(text) ?? words.find((known) => known === text);
      if (word === undefined && nearest(text, words) === undefined) {
        this.warning(at, `${this.nameOf(at)} "${excerpt(text)}" is not known here and is ignored.`);
      } else if (word === undefined) {
        this.errorMeant(at, `must be one of ${words.join(', ')}`, text, words);
      } else if (found.has(word)) this.#warnRepeated(at, text);
      else found.add(word);
    }
    return [...found];
  }

  /** A list of maps. */
  maps(key: string, max?: number): YamlFields[] {
    return this.list(key, max).map(
      (value, index) => new YamlFields(this.#places, [...this.#path, key, index], value, this.#problems),
    );
  }

  /** A map; undefined where it is absent. */
  map(key: string): YamlFields | undefined {
    if (!this.has(key)) return undefined;
    return new YamlFields(this.#places, [...this.#path, key], this.#values[key], this.#problems);
  }

  /** A list of anything; empty where it is absent. */
  list(key: string, max = Number.POSITIVE_INFINITY): readonly unknown[] {
    const value = this.#values[key];
    const path = [...this.#path, key];
    if (Array.isArray(value)) {
      if (value.length <= max) return value;
      this.#error(path, `${nameOf(path)} has ${value.length} entries; at most ${max} are allowed.`);
      return value.slice(0, max);
    }
    if (this.has(key)) this.#error(path, `${nameOf(path)} must be a list, not ${typeName(value)}.`);
    return [];
  }

  /**
   * Warns of every key that is not among the known ones. A key that only differs in capitals, "_"
   * and "-" from a known key is read as that key.
   *
   * @param of the kind of map, where the path does not say it, such as "a button property"
   */
  warnUnknown(known: readonly string[], of?: string): void {
    const plain = new Map(known.map((key) => [plainKey(key), key]));
    for (const key of Object.keys(this.#values)) {
      if (known.includes(key)) continue;
      const place = this.#places.keyPlaceOf([...this.#path, key]);
      const same = plain.get(plainKey(key));
      if (same !== undefined && !Object.hasOwn(this.#values, same)) {
        this.#values = { ...this.#values, [same]: this.#values[key] };
        const message = `${nameOf([...this.#path, key])} is read as "${same}".`;
        this.#problems.push(warning(message, { ...place, hint: `Write "${same}".` }));
        continue;
      }
      const hint = this.#meant(key, known);
      const whose = of === undefined ? 'is not a known key' : `is not a known key of ${of}`;
      const message = `${nameOf([...this.#path, key])} ${whose} and is ignored.`;
      this.#problems.push(warning(message, hint === undefined ? place : { ...place, hint }));
    }
  }

  /** Records an error at a member, at a path below the map, or at the whole map. */
  error(at: string | YamlPath | undefined, message: string, hint?: string): undefined {
    this.#error(this.#pathTo(at), message, hint);
  }

  /**
   * Records that a text is not a known word, with a spelling hint.
   * @param fault a clause that
   * follows its name
   */
  errorMeant(at: string | YamlPath, fault: string, given: string, known: readonly string[]): undefined {
    const path = this.#pathTo(at);
    this.#error(path, `${nameOf(path)} ${fault}, not "${excerpt(given)}".`, this.#meant(given, known));
  }

  /** Records a warning. */
  warning(at: string | YamlPath | undefined, message: string, hint?: string): undefined {
    const place = this.#places.placeOf(this.#pathTo(at));
    this.#problems.push(warning(message, hint === undefined ? place : { ...place, hint }));
  }

  /** Records a warning about a word that is not known, with a spelling hint. */
  warningMeant(at: string | YamlPath, message: string, given: string, known: readonly string[]): undefined {
    this.warning(at, message, this.#meant(given, known));
  }

  /** Checks a text that the caller found at a path below the map. */
  textAt(at: YamlPath, value: unknown, rule: TextRule = {}): string | undefined {
    return this.#textAt(this.#pathTo(at), value, rule);
  }

  /** Text of a number, `true` or `false` as it is written: JSON has `3.1` for `3.10`. */
  written(at: string | YamlPath, value: unknown): string {
    return this.#places.asText(this.#pathTo(at)) ?? String(value);
  }

  /** Name of a member in a message. */
  nameOf(at: string | YamlPath): string {
    return nameOf(this.#pathTo(at));
  }

  #pathTo(at: string | YamlPath | undefined): YamlPath {
    if (at === undefined) return this.#path;
    return [...this.#path, ...(typeof at === 'string' ? [at] : at)];
  }

  #textAt(path: YamlPath, value: unknown, rule: TextRule): string | undefined {
    const name = nameOf(path);
    if (typeof value !== 'string') {
      const isScalar = typeof value === 'number' || typeof value === 'boolean';
      const hint = isScalar ? 'Put it in quotes.' : undefined;
      return this.#error(path, `${name} must be text, not ${typeName(value)}.`, hint);
    }
    if (value.trim() === '' && !rule.mayBeEmpty) return this.#error(path, `${name} must not be empty.`);
    // PostgreSQL cannot store U+0000, and a lone surrogate is a different character after it is
    // stored.
    if (value.includes('\0') || !value.isWellFormed())
      return this.#error(path, `${name} contains a character that cannot be stored.`);
    const { pattern, wanted, charsMax, fault, hint } = rule;
    if (charsMax !== undefined && value.length > charsMax) {
      const chars = [...value].length;
      if (chars > charsMax)
        return this.#error(path, `${name} has ${chars} characters; at most ${charsMax} are allowed.`);
    }
    if (pattern?.test(value) === false)
      return this.#error(path, `${name} must be ${wanted ?? pattern.source}, not "${excerpt(value)}".`, hint);
    const wrong = fault?.(value);
    if (wrong !== undefined) return this.#error(path, `${name} ${wrong}, not "${excerpt(value)}".`, hint);
    return value;
  }

  #warnRepeated(at: YamlPath, text: string): void {
    this.warning(at, `${this.nameOf(at)} repeats "${excerpt(text)}" and is ignored.`);
  }

  #meant(word: string, known: readonly string[]): string | undefined {
    const near = this.#problems.length < GUESSES_MAX ? nearest(word, known) : undefined;
    return near === undefined ? undefined : `Did you mean "${near}"?`;
  }

  #error(path: YamlPath, message: string, hint?: string): undefined {
    const place = this.#places.placeOf(path);
    this.#problems.push(problem(message, hint === undefined ? place : { ...place, hint }));
  }
}

/** A key without what spellings of one key differ in: `preview_images`, `previewImages`. */
const plainKey = (key: string): string => key.replaceAll(/[-_]/g, '').toLowerCase();

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The name of a value in a message: `blocks[0].id`. */
function nameOf(path: YamlPath): string {
  const name = path.map((part) => (typeof part === 'number' ? `[${part}]` : `.${excerpt(part)}`)).join('');
  return name === '' ? 'The manifest' : `"${name.replace(/^\./, '')}"`;
}

function typeName(value: unknown): string {
  if (value === null || value === undefined) return 'empty';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'string') return 'text';
  return typeof value === 'object' ? 'a map' : `a ${typeof value}`;
}

/** The beginning of a text, for a message. */
export const excerpt = (text: string): string => (text.length > 80 ? `${text.slice(0, 80)}…` : text);
