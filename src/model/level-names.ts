/**
 * The product's words for "space" and "site", in what people see (docs/operating/settings.md):
 * forms, the page of `annex dev`, the output of commands and the built-in integrations. Names of
 * the API stay.
 */

/** The words that the operator has set; a level without one keeps its name. */
export interface LevelNames {
  readonly space?: string;
  readonly site?: string;
}

const LEVELS = ['space', 'site'] as const;

const NAME_CHARS_MAX = 40;

/**
 * Letters and digits in groups joined by single blanks or hyphens. Attack: a name that is markup
 * where it is shown, ends a value of YAML, moves the cursor of a terminal or turns the direction of
 * a line.
 */
const NAME = /^\p{L}[\p{L}\p{M}\p{N}]*(?:[ -][\p{L}\p{M}\p{N}]+)*$/u;

/** Reads `space=Project,site=Shop`. @returns undefined where it cannot be read */
export function readLevelNames(text: string): LevelNames | undefined {
  const pairs = text.split(',').map((pair) => pair.split('=').map((part) => part.trim()));
  const names = Object.fromEntries(pairs) as LevelNames;
  const isRead = pairs.every(([level, name, ...rest]) => isLevel(level) && isName(name) && rest.length === 0);
  const isClear = names.space?.toLowerCase() !== names.site?.toLowerCase();
  return isRead && isClear && Object.keys(names).length === pairs.length ? names : undefined;
}

const isLevel = (word: string | undefined): boolean => LEVELS.some((level) => level === word);

const isName = (name = ''): boolean => [...name].length <= NAME_CHARS_MAX && NAME.test(name);

/** `a Project` and `an Area`. */
const withArticle = (name: string): string => `${/^[aeiou]/i.test(name) ? 'an' : 'a'} ${name}`;

/** A sentence of Annex with the product's words: `in a space` becomes `in a Project`. */
export const inWordsOf = (names: LevelNames, text: string): string =>
  text.replaceAll(/ a (space|site)\b/g, (found, level: keyof LevelNames) => {
    const name = names[level];
    return name === undefined ? found : ` ${withArticle(name)}`;
  });
