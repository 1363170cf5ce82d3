/**
 * Draws the quick insert menu: a search field with the list of blocks below it, by the pattern of
 * WAI-ARIA for a combo box. Titles and descriptions are tenants', and text nodes.
 */
import { useEffect, useId, useState } from 'preact/hooks';
import { Icon } from '../../../ui/src/icons.tsx';
import { useDialog } from '../../../ui/src/widgets.tsx';
import type { InsertBlock } from '../insert-menu.ts';
import type { InsertWords } from './words.ts';

const SHOWN_MAX = 100;
const CHARS_MAX = 200;

interface MenuProps {
  readonly read: () => Promise<readonly InsertBlock[]>;
  readonly words: InsertWords;
  readonly insert: (block: InsertBlock) => void;
  readonly close: () => void;
}

export function MenuView({ read, words, insert, close }: MenuProps) {
  const dialog = useDialog();
  const listId = useId();
  const [blocks, setBlocks] = useState<readonly InsertBlock[] | undefined>(undefined);
  const [isLost, setLost] = useState(false);
  const [search, setSearch] = useState('');
  const [active, setActive] = useState(0);
  useEffect(() => {
    read().then(setBlocks, () => setLost(true));
  }, []);
  useEffect(() => dialog.current?.querySelector('.active')?.scrollIntoView({ block: 'nearest' }), [active]);
  const wanted = search.trim().toLowerCase();
  const shown = (blocks ?? [])
    .filter(({ title }) => title.toLowerCase().includes(wanted))
    .slice(0, SHOWN_MAX);
  const onKeyDown = (event: KeyboardEvent) => {
    const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1 };
    const step = steps[event.key];
    const chosen = shown[active];
    if (step !== undefined && shown.length > 0) setActive((active + step + shown.length) % shown.length);
    else if (event.key === 'Enter' && chosen !== undefined) insert(chosen);
    else return;
    event.preventDefault();
  };
  return (
    <dialog ref={dialog} class="window menu" aria-label={words.title} onClose={close}>
      <input
        type="text"
        class="textinput"
        role="combobox"
        autocomplete="off"
        dir="auto"
        aria-label={words.search}
        placeholder={words.search}
        aria-expanded={true}
        aria-controls={listId}
        aria-activedescendant={shown.length > 0 ? `${listId}-${active}` : undefined}
        value={search}
        onKeyDown={onKeyDown}
        onInput={(event) => {
          setSearch(event.currentTarget.value);
          setActive(0);
        }}
      />
      <div role="listbox" id={listId} aria-label={words.title} class="blocks">
        {shown.map((block, at) => (
          <div
            key={`${block.installation} ${block.componentId}`}
            id={`${listId}-${at}`}
            role="option"
            class={at === active ? 'option active' : 'option'}
            aria-selected={at === active}
            // The field keeps the focus.
            onMouseDown={(event) => event.preventDefault()}
            // A list that scrolls under a pointer at rest chooses nothing.
            onMouseMove={({ movementX, movementY }) => (movementX || movementY) && setActive(at)}
            onClick={() => insert(block)}
          >
            <Icon name="maximize" />
            <span dir="auto">
              {block.title.slice(0, CHARS_MAX)}
              <span class="hint" dir="auto">
                {block.description?.slice(0, CHARS_MAX)}
              </span>
            </span>
          </div>
        ))}
      </div>
      <div class="combo-note" role="status">
        {isLost && words.failed}
        {!isLost && blocks === undefined && words.loading}
        {blocks !== undefined && shown.length === 0 && words.none}
      </div>
    </dialog>
  );
}
