/**
 * The choices of a `select`: from its list, or from a URL, page by page
 * (docs/contract/components.md#choices-from-a-url).
 */

import { cutText } from '../drawing/cut-text.ts';
import { isObject, listMember, member, textMember } from '../drawing/json.ts';
import { addressUrl } from '../drawing/urls.ts';
import { LIMITS } from '../limits.ts';

export interface Choice {
  readonly id: string;
  readonly label: string;
  readonly icon: string | undefined;
}

export interface ChoicePage {
  readonly choices: readonly Choice[];
  /** Where the next page begins; absent at the last one. */
  readonly next: string | undefined;
}

/** The choices of a list. Attack: entries of other forms, or too many. They are left out. */
export function readChoices(values: readonly unknown[]): readonly Choice[] {
  const found: Choice[] = [];
  for (const value of values) {
    if (found.length >= LIMITS.choices) break;
    const id = isObject(value) ? textMember(value, 'id') : undefined;
    if (!isObject(value) || id === undefined || id.length > LIMITS.textChars) continue;
    const label = cutText(textMember(value, 'label') ?? id, LIMITS.labelChars);
    found.push({ id, label, icon: textMember(value, 'icon') });
  }
  return found;
}

/** An answer of the URL: a list of choices, or `{items, next}`. */
export function readChoicePage(answer: unknown): ChoicePage | undefined {
  if (Array.isArray(answer)) return { choices: readChoices(answer), next: undefined };
  const items = isObject(answer) ? listMember(answer, 'items') : undefined;
  if (!isObject(answer) || items === undefined) return undefined;
  return { choices: readChoices(items), next: textMember(answer, 'next') };
}

/**
 * The URL of a page. @param address `options.url`, with its bindings resolved
 * @returns undefined if it is no web URL
 */
export function choicesUrl(
  address: unknown,
  { search, next }: { search: string; next: string | undefined },
): string | undefined {
  const base = addressUrl(address);
  if (base === undefined) return undefined;
  const url = new URL(base);
  if (search !== '') url.searchParams.set('search', search.slice(0, LIMITS.labelChars));
  if (next !== undefined) url.searchParams.set('next', next.slice(0, LIMITS.labelChars));
  return url.href;
}

/** `options.url`; undefined if the choices are a list. */
export const choicesAddress = (options: unknown): unknown =>
  isObject(options) ? member(options, 'url') : undefined;

/** Choices whose label has the text. */
export const matching = (choices: readonly Choice[], search: string): readonly Choice[] => {
  const wanted = search.trim().toLowerCase();
  return wanted === '' ? choices : choices.filter(({ label }) => label.toLowerCase().includes(wanted));
};
