/**
 * The choices of a URL: while the list is open, the first page, more pages, and those of a search;
 * before, the names of what is chosen.
 */
import { useEffect, useRef, useState } from 'preact/hooks';
import {
  type AskedPage,
  type Choice,
  type ChoicePage,
  readChoicePage,
} from '../../../../src/model/contentkit/choice-page.ts';
import type { AskedChoices, OfferedChoices } from '../../../ui/src/choices.ts';
import { choicesUrl } from '../drawing/urls.ts';
import { LIMITS } from '../limits.ts';
import { useScope } from './scope.ts';

interface Loaded extends OfferedChoices {
  readonly after: Pick<ChoicePage, 'next' | 'nextPage'> | undefined;
}

const NOTHING: Loaded = { choices: [], selected: [], after: undefined, loading: false, failed: false };
/** Time after the last key before a search is sent. */
const TYPING_MS = 200;

/** What tells pages apart. The service answers its own pages at its own scheme, whatever was asked. */
const pageKey = (url: string): string => url.replace(/^https?:/, '');

/** @param address `options.url`; no web URL has no choices */
export function useChoices(address: unknown, { search, open, isUnnamed }: AskedChoices): OfferedChoices {
  const { session, stage } = useScope();
  const [loaded, setLoaded] = useState(NOTHING);
  const asked = useRef<AbortController>(undefined);
  const urls = useRef(new Set<string>());
  const urlOf = (page: AskedPage) => choicesUrl(session.client.resolve(address), page);

  const load = async (after: Loaded['after'], before: readonly Choice[]) => {
    asked.current?.abort();
    const controller = new AbortController();
    asked.current = controller;
    setLoaded((loaded) => ({ ...NOTHING, selected: loaded.selected, choices: before, loading: true }));
    try {
      const url = urlOf({ search: search.trim(), ...after });
      if (after === undefined) urls.current.clear();
      if (url !== undefined) urls.current.add(pageKey(url));
      const page = url && readChoicePage(await stage.choicesOf(session)(url, controller.signal), url);
      if (controller.signal.aborted) return;
      if (!page) throw new Error('The choices cannot be read.');
      const known = new Set(before.map(({ id }) => id));
      const choices = [...before, ...page.items.filter(({ id }) => !known.has(id))];
      const { next, nextPage } = page;
      const follows =
        next === undefined && nextPage === undefined
          ? undefined
          : { ...(next !== undefined && { next }), ...(nextPage !== undefined && { nextPage }) };
      // Attack: pages without end, or in a circle. Each is asked for by the user, once, one that adds
      // nothing is the last, and all are bounded together.
      const nextUrl = follows && urlOf({ search: search.trim(), ...follows });
      const isOver =
        choices.length >= LIMITS.choices || (after !== undefined && choices.length === before.length);
      const isLast = isOver || nextUrl === undefined || urls.current.has(pageKey(nextUrl));
      setLoaded((loaded) => ({
        ...NOTHING,
        choices: choices.slice(0, LIMITS.choices),
        selected: page.selected ?? loaded.selected,
        after: isLast ? undefined : follows,
      }));
    } catch {
      if (!controller.signal.aborted)
        setLoaded(({ selected }) => ({ ...NOTHING, selected, choices: before, failed: true }));
    }
  };

  // An open list stays as it is when a name becomes known.
  const isNaming = isUnnamed && !open;
  useEffect(() => {
    if (!(open || (isNaming && stage.mayName()))) return;
    const timer = setTimeout(() => void load(undefined, []), search === '' ? 0 : TYPING_MS);
    return () => clearTimeout(timer);
  }, [search, open, isNaming]);
  useEffect(() => () => asked.current?.abort(), []);

  const { after } = loaded;
  return { ...loaded, more: after === undefined ? undefined : () => void load(after, loaded.choices) };
}
