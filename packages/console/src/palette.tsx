/**
 * The palette, opened by Ctrl or ⌘ and K: views, integrations, and what was typed as an id, an
 * organization or a type of events.
 */
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import type { Integration } from '../../client/src/generated.ts';
import { Icon } from '../../ui/src/icons.tsx';
import { useDialog } from '../../ui/src/widgets.tsx';
import { at, type Items } from './api.ts';
import { useAsked } from './asked.tsx';
import { addressOf, go } from './place.ts';
import type { Section } from './shell.tsx';

interface Way {
  readonly title: string;
  readonly icon: string;
  readonly address: string;
}

/** Forms of ids → the view of what they name. */
const IDS: readonly (readonly [form: RegExp, title: string, icon: string, path: string])[] = [
  [/^evt_\w+$/, 'Event', 'event', 'events'],
  [/^[0-9a-f]{12}-[0-9a-f]{12}-[\w-]+$/, 'Delivery', 'delivery', 'deliveries'],
];

/** What a text can be the name of, in a list. */
const NAMES: readonly (readonly [words: string, icon: string, path: string, parameter: string])[] = [
  ['Installations of', 'plug', 'installations', 'organization'],
  ['Deliveries of the type', 'delivery', 'deliveries', 'type'],
  ['Deliveries to', 'delivery', 'deliveries', 'organization'],
  ['Installations with the external id', 'plug', 'installations', 'externalId'],
];

const WAYS_MAX = 12;

function waysTo(text: string, sections: readonly Section[], integrations: readonly Integration[]): Way[] {
  const typed = text.trim();
  const has = (...names: readonly string[]) =>
    names.some((name) => name.toLowerCase().includes(typed.toLowerCase()));
  const views = sections.filter(({ title }) => has(title));
  const own = typed === '' ? [] : integrations.filter(({ name, title }) => has(name, title));
  const log = typed.startsWith('ins_')
    ? [{ title: `Log of ${typed}`, icon: 'log', address: addressOf('logs', { installation: typed }) }]
    : [];
  const ids = IDS.filter(([form]) => form.test(typed));
  return [
    ...log,
    ...ids.map(([, title, icon, path]) => ({
      title: `${title} ${typed}`,
      icon,
      address: addressOf(`${path}/${at(typed)}`),
    })),
    ...views.map(({ title, icon, path }) => ({ title, icon, address: addressOf(path) })),
    ...own.map(({ name, title }) => ({
      title: `${title} (${name})`,
      icon: 'integration',
      address: addressOf(`integrations/${at(name)}`),
    })),
    ...(typed === '' ? [] : NAMES).map(([words, icon, path, parameter]) => ({
      title: `${words} ${typed}`,
      ...{ icon, address: addressOf(path, { [parameter]: typed }) },
    })),
  ].slice(0, WAYS_MAX);
}

export function Palette({
  sections,
  close,
}: {
  readonly sections: readonly Section[];
  readonly close: () => void;
}) {
  const dialog = useDialog();
  const [text, setText] = useState('');
  const [chosen, setChosen] = useState(0);
  const list = useRef<HTMLUListElement>(null);
  const id = useId();
  const { value } = useAsked<Items<Integration>>('/v1/integrations?limit=100');
  const ways = waysTo(text, sections, value?.items ?? []);
  useEffect(() => list.current?.children[chosen]?.scrollIntoView({ block: 'nearest' }), [chosen]);
  const take = (way: Way | undefined) => {
    if (way === undefined) return;
    close();
    go(way.address);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === 'Enter') take(ways[chosen]);
    else if (step !== undefined && ways.length > 0) setChosen((chosen + step + ways.length) % ways.length);
    else return;
    event.preventDefault();
  };
  return (
    <dialog
      ref={dialog}
      class="window palette"
      aria-label="Find"
      onClose={close}
      onClick={(event) => event.target === dialog.current && close()}
    >
      <input
        type="text"
        class="textinput"
        role="combobox"
        aria-label="Find"
        aria-expanded
        aria-controls={`${id}-ways`}
        aria-activedescendant={ways.length === 0 ? undefined : `${id}-${chosen}`}
        placeholder="A view, an integration, an organization, an id"
        autocomplete="off"
        spellcheck={false}
        value={text}
        onInput={(event) => {
          setText(event.currentTarget.value);
          setChosen(0);
        }}
        onKeyDown={onKeyDown}
      />
      <ul role="listbox" id={`${id}-ways`} aria-label="Found" ref={list}>
        {ways.map((way, index) => (
          <li
            key={way.address}
            id={`${id}-${index}`}
            role="option"
            aria-selected={index === chosen}
            class={index === chosen ? 'option active' : 'option'}
            onPointerMove={() => setChosen(index)}
            onClick={() => take(way)}
          >
            <Icon name={way.icon} />
            <span dir="auto">{way.title}</span>
          </li>
        ))}
      </ul>
    </dialog>
  );
}
