/**
 * The choices of a URL, while the list is open: the first page, more pages, and those of a search.
 */
import { useEffect, useRef, useState } from 'preact/hooks';
import { LIMITS } from '../limits.ts';
import { type Choice, choicesUrl, readChoicePage } from './choices.ts';
import { useScope } from './scope.ts';

interface Loaded {
  readonly choices: readonly Choice[];
  readonly next: string | undefined;
  readonly loading: boolean;
  readonly failed: boolean;
}

const NOTHING: Loaded = { choices: [], next: undefined, loading: false, failed: false };
/** Time after the last key before a search is sent. */
const TYPING_MS = 200;

export function useChoices(address: unknown, search: string, open: boolean) {
  const { session, stage } = useScope();
  const [loaded, setLoaded] = useState(NOTHING);
  const asked = useRef<AbortController>(undefined);

  const load = async (next: string | undefined, before: readonly Choice[]) => {
    asked.current?.abort();
    const controller = new AbortController();
    asked.current = controller;
    setLoaded({ ...NOTHING, choices: before, loading: true });
    try {
      const url = choicesUrl(session.client.resolve(address), { search: search.trim(), next });
      const page = url && readChoicePage(await stage.choices(url, controller.signal));
      if (controller.signal.aborted) return;
      if (!page) throw new Error('The choices cannot be read.');
      const known = new Set(before.map(({ id }) => id));
      const choices = [...before, ...page.choices.filter(({ id }) => !known.has(id))];
      // Attack: pages without end. Each is asked for by the user, and all are bounded together.
      const isFull = choices.length >= LIMITS.choices;
      const shown = choices.slice(0, LIMITS.choices);
      setLoaded({ ...NOTHING, choices: shown, next: isFull ? undefined : page.next });
    } catch {
      if (!controller.signal.aborted) setLoaded({ ...NOTHING, choices: before, failed: true });
    }
  };

  useEffect(() => {
    if (address === undefined || !open) return;
    const timer = setTimeout(() => void load(undefined, []), search === '' ? 0 : TYPING_MS);
    return () => clearTimeout(timer);
  }, [search, open]);
  useEffect(() => () => asked.current?.abort(), []);

  const { next } = loaded;
  return { ...loaded, more: next === undefined ? undefined : () => void load(next, loaded.choices) };
}
