/**
 * What is around every view: the way to the others, who has signed in, and the palette. Below 1,100
 * pixels the side bar has icons alone, below 720 it is a sheet.
 */
import { signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import type { Organization } from '../../client/src/generated.ts';
import { Icon } from '../../ui/src/icons.tsx';
import { useDialog } from '../../ui/src/widgets.tsx';
import type { Items } from './api.ts';
import { useAsked } from './asked.tsx';
import { Palette } from './palette.tsx';
import { addressOf, go, place } from './place.ts';
import { type Session, signOut } from './session.ts';

/** A view that the side bar leads to. */
export interface Section {
  readonly path: string;
  readonly title: string;
  readonly icon: string;
  /** Whether it lists what one organization has: the one that was chosen stays chosen. */
  readonly isOfOrganizations?: boolean;
}

interface ShellProps {
  readonly who: Session;
  readonly sections: readonly Section[];
  readonly children: ComponentChildren;
}

/** What opens the palette, as this machine calls the key. */
const SHORTCUT = /Mac|iPhone|iPad/.test(navigator.userAgent) ? '⌘K' : 'Ctrl K';

export function Shell({ who, sections, children }: ShellProps) {
  const [opened, setOpened] = useState<'palette' | 'sheet'>();
  const main = useRef<HTMLElement>(null);
  const address = place.value.path.join('/');
  // A new view begins at its top, and the reader with it.
  useEffect(() => {
    setOpened(undefined);
    main.current?.focus({ preventScroll: true });
    scrollTo(0, 0);
  }, [address]);
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      setOpened('palette');
    };
    document.addEventListener('keydown', press);
    return () => document.removeEventListener('keydown', press);
  }, []);
  const ways = <Ways {...{ who, sections }} find={() => setOpened('palette')} />;
  const close = () => setOpened(undefined);
  return (
    <div class="frame">
      <header class="bar">
        <button type="button" class="button quiet" aria-label="Menu" onClick={() => setOpened('sheet')}>
          <Icon name="menu" />
        </button>
        <p class="brand">Annex</p>
        <button type="button" class="button quiet" aria-label="Find" onClick={() => setOpened('palette')}>
          <Icon name="search" />
        </button>
      </header>
      <nav class="side" aria-label="Console">
        {ways}
      </nav>
      <main ref={main} tabIndex={-1}>
        {children}
      </main>
      {opened === 'sheet' && <Sheet close={close}>{ways}</Sheet>}
      {opened === 'palette' && <Palette sections={sections} close={close} />}
    </div>
  );
}

function Sheet({ close, children }: { readonly close: () => void; readonly children: ComponentChildren }) {
  const dialog = useDialog();
  return (
    <dialog
      ref={dialog}
      class="sheet"
      aria-label="Console"
      onClose={close}
      // Its ground is the dialog itself.
      onClick={(event) => event.target === dialog.current && close()}
    >
      <nav class="side" aria-label="Console">
        {children}
      </nav>
    </dialog>
  );
}

/** The organization whose lists are shown; it stays chosen on the way through other views. */
const chosen = signal<string | undefined>(undefined);

/** Narrows all lists to one organization, or to none. */
function OrganizationSwitch({ section }: { readonly section: Section | undefined }) {
  const id = useId();
  const known = useAsked<Items<Organization>>('/v1/organizations?limit=100').value?.items ?? [];
  const change = (value: string) => {
    chosen.value = value.trim() || undefined;
    const { path = 'installations', isOfOrganizations } = section ?? {};
    const query = { ...place.value.query, organization: chosen.value };
    go(isOfOrganizations ? addressOf(path, query) : addressOf('installations', query));
  };
  return (
    <>
      <input
        class="textinput organization"
        type="search"
        aria-label="Organization"
        placeholder="All organizations"
        list={id}
        autocomplete="off"
        spellcheck={false}
        dir="auto"
        value={chosen.value ?? ''}
        onChange={(event) => change(event.currentTarget.value)}
      />
      <datalist id={id}>
        {known.map((one) => (
          <option key={one.id} value={one.id}>
            {one.title}
          </option>
        ))}
      </datalist>
    </>
  );
}

function Ways({ who, sections, find }: Omit<ShellProps, 'children'> & { readonly find: () => void }) {
  const { path, query } = place.value;
  const section = sections.find((one) => one.path === (path[0] ?? ''));
  const isList = section?.isOfOrganizations && path.length === 1;
  useEffect(() => {
    if (isList) chosen.value = query['organization'];
  }, [isList, query['organization']]);
  const organization = chosen.value;
  return (
    <>
      <p class="brand">
        <span class="words">Annex</span>
      </p>
      {who.kind !== 'organization' && <OrganizationSwitch section={section} />}
      <button type="button" class="button find" onClick={find} title={`Find (${SHORTCUT})`}>
        <Icon name="search" />
        <span class="words">Find</span>
        <kbd>{SHORTCUT}</kbd>
      </button>
      <ul>
        {sections.map((section) => (
          <li key={section.path}>
            <a
              href={addressOf(section.path, section.isOfOrganizations ? { organization } : {})}
              aria-current={(path[0] ?? '') === section.path ? 'page' : undefined}
              title={section.title}
            >
              <Icon name={section.icon} />
              <span class="words">{section.title}</span>
            </a>
          </li>
        ))}
      </ul>
      <div class="who">
        <span class="words" dir="auto">
          {who.organization ?? who.kind}
        </span>
        <button type="button" class="button quiet" title="Sign out" onClick={() => void signOut()}>
          <Icon name="leave" />
          <span class="words">Sign out</span>
        </button>
      </div>
    </>
  );
}
