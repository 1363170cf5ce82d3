/**
 * Reads a page of choices that the URL of a `select` answers, as hostile input, and makes the URL
 * of a page (docs/contract/components.md#choices-from-a-url). The service reads it for the
 * renderer, and the renderer reads what it gets by the same rule.
 *
 * Pure. What does not fit is left out: choices are a convenience, not a promise.
 */
import { CHOICES_MAX, withoutPiledMarks } from './drawing-bounds.ts';

/** Bytes of one answer. */
export const CHOICES_BYTES_MAX = 256 * 1024;
export const CHOICES_URL_CHARS_MAX = 8_192;
const ID_CHARS_MAX = 20_000;
const LABEL_CHARS_MAX = 1_000;
/** Characters of a search, and of a mark where the next page begins. */
const PARAMETER_CHARS_MAX = 1_000;

export interface Choice {
  readonly id: string;
  readonly label: string;
  readonly icon?: string;
}

export interface ChoicePage {
  readonly items: readonly Choice[];
  /** Choices that are chosen: their labels, though another page has them. */
  readonly selected?: readonly Choice[];
  /** A mark that the endpoint knows the next page by. */
  readonly next?: string;
  /** Absolute URL of the next page, in place of a mark. */
  readonly nextPage?: string;
}

type Json = Readonly<Record<string, unknown>>;
const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
/** Attack: a member that is not the object's own, such as `constructor`. */
const own = (object: Json, name: string): unknown => (Object.hasOwn(object, name) ? object[name] : undefined);
const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;

/** The choices of a list, up to a bound. Entries of other forms are left out. */
export function readChoices(values: readonly unknown[]): readonly Choice[] {
  const found: Choice[] = [];
  for (const value of values) {
    if (found.length >= CHOICES_MAX) break;
    const id = isObject(value) ? textOf(own(value, 'id')) : undefined;
    if (!isObject(value) || id === undefined || id.length > ID_CHARS_MAX) continue;
    const label = textOf(own(value, 'label')) ?? id;
    const icon = own(value, 'icon');
    const words = withoutPiledMarks(label.slice(0, LABEL_CHARS_MAX).toWellFormed());
    found.push({ id, label: words, ...(typeof icon === 'string' && { icon }) });
  }
  return found;
}

/**
 * @param answer parsed JSON: a list of choices, or an object with `items`
 * @param url that was asked, which a relative `nextPage` belongs to
 * @returns undefined if it is neither
 */
export function readChoicePage(answer: unknown, url: string): ChoicePage | undefined {
  if (Array.isArray(answer)) return { items: readChoices(answer) };
  const items = isObject(answer) ? own(answer, 'items') : undefined;
  if (!isObject(answer) || !Array.isArray(items)) return undefined;
  const selected = own(answer, 'selected');
  return {
    items: readChoices(items),
    ...(Array.isArray(selected) && selected.length > 0 && { selected: readChoices(selected) }),
    ...nextOf(answer, url),
  };
}

/** A URL, unlike a mark, has one of these in it. */
const URL_SIGNS = /[/?]/;

function nextOf(answer: Json, url: string): Pick<ChoicePage, 'next' | 'nextPage'> {
  const page = textOf(own(answer, 'nextPage'));
  if (page !== undefined && URL_SIGNS.test(page)) {
    const next = page.length > CHOICES_URL_CHARS_MAX ? null : URL.parse(page, url);
    return next !== null && /^https?:$/.test(next.protocol) ? { nextPage: next.href } : {};
  }
  const next = own(answer, 'next');
  const mark = page ?? textOf(isObject(next) ? own(next, 'page') : next);
  return mark === undefined || mark === '' || mark.length > PARAMETER_CHARS_MAX ? {} : { next: mark };
}

/** The page that is asked for: by a search, and after another one. */
export interface AskedPage extends Pick<ChoicePage, 'next' | 'nextPage'> {
  readonly search: string;
}

/**
 * The URL of a page. Endpoints know search and page by other names, too.
 *
 * @param base web URL of the choices
 */
export function choicePageUrl(base: string, { search, next, nextPage }: AskedPage): string {
  const url = new URL(nextPage ?? base);
  const words = search.slice(0, PARAMETER_CHARS_MAX).toWellFormed();
  const add = (name: string, value: string) => {
    // A page that the endpoint has named has its own query.
    if (nextPage === undefined || !url.searchParams.has(name)) url.searchParams.set(name, value);
  };
  if (words !== '') for (const name of ['search', 'q']) add(name, words);
  if (next !== undefined) for (const name of ['next', 'page']) add(name, next);
  return url.href;
}
