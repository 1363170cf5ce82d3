/**
 * A combo box: a field with a list of choices below it, by the pattern of WAI-ARIA. The list stands
 * in the flow of the page, so that it covers nothing of the host product.
 */
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { type AskedChoices, type Choice, matching, type OfferedChoices } from './choices.ts';
import { Icon } from './icons.tsx';
import { useFieldAttributes } from './widgets.tsx';

/** Words of a combo box itself. */
export interface ComboWords {
  readonly open: string;
  readonly loading: string;
  readonly unreachable: string;
  readonly noChoices: string;
  readonly moreChoices: string;
  readonly remove: string;
  /** Where a text that is no choice may be entered. */
  readonly noMatch?: string;
}

interface ComboBoxProps {
  /** Its name where no `Field` is around it. */
  readonly name: string;
  readonly placeholder?: string | undefined;
  readonly disabled?: boolean;
  readonly busy?: boolean;
  readonly multiple: boolean;
  /** Whether a value that is not among the choices may be entered. */
  readonly acceptInput: boolean;
  /** Ids of what is chosen: one at most, unless it is `multiple`. */
  readonly chosen: readonly string[];
  /** Called at each drawing; may use hooks. */
  readonly offer: (asked: AskedChoices) => OfferedChoices;
  readonly change: (value: string | readonly string[]) => void;
  /** Takes the choice back, where it may be left out. */
  readonly clear?: () => void;
  readonly words: ComboWords;
}

/** Characters of a search, and of the name of a choice. */
const TEXT_MAX = 1_000;
const CHOICES_MAX = 1_000;

export function ComboBox(props: ComboBoxProps) {
  const { multiple, acceptInput, change, chosen, words } = props;
  const [open, setOpen] = useState(false);
  const [search, setSearch] = useState('');
  const [active, setActive] = useState(-1);
  const listId = useId();
  const box = useRef<HTMLDivElement>(null);
  const focusField = () => box.current?.querySelector('input')?.focus();
  // A choice that is chosen keeps its name when the list shows others.
  const { current: names } = useRef(new Map<string, string>());
  const isUnnamed = chosen.some((id) => !names.has(id));
  const offered = props.offer({ search, open, isUnnamed });
  const { choices: known } = offered;
  for (const { id, label } of [...offered.selected, ...known]) if (chosen.includes(id)) names.set(id, label);
  const shown = matching(known, search);
  const nameOf = (id: string) =>
    (known.find((choice) => choice.id === id)?.label ?? names.get(id) ?? id).slice(0, TEXT_MAX);
  const close = () => {
    setOpen(false);
    setSearch('');
    setActive(-1);
  };
  const choose = (id: string) => {
    const name = known.find((choice) => choice.id === id)?.label;
    if (name !== undefined && names.size < CHOICES_MAX) names.set(id, name);
    if (!multiple) {
      change(id);
      close();
    } else change(chosen.includes(id) ? chosen.filter((other) => other !== id) : [...chosen, id]);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const own = search.trim();
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      const step = event.key === 'ArrowDown' ? 1 : -1;
      if (open && shown.length > 0) setActive((active + step + shown.length) % shown.length);
      setOpen(true);
    } else if (event.key === 'Enter') {
      const at = shown[active];
      if (open && at !== undefined) choose(at.id);
      else if (acceptInput && own !== '') choose(own);
      else setOpen(!open);
      if (acceptInput && multiple) setSearch('');
    } else if (event.key === 'Escape' && open) close();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  // A text that is not in the list counts when the field is left.
  const leave = () => {
    if (acceptInput && search.trim() !== '' && !multiple) choose(search.trim());
    else close();
  };
  const focus = useLeaving(open, leave);
  return (
    <div ref={box} class="combo" {...focus}>
      {multiple && <Chosen ids={chosen} name={nameOf} remove={choose} words={words} />}
      <ComboField {...{ ...props, open, setOpen, search, setSearch, setActive, active, listId, onKeyDown }}>
        {multiple || chosen[0] === undefined ? '' : nameOf(chosen[0])}
      </ComboField>
      {open && (
        <ComboList
          {...{
            ...props,
            isOwnText: acceptInput && search.trim() !== '',
            shown,
            active,
            choose,
            offered,
            listId,
            focusField,
          }}
        />
      )}
    </div>
  );
}

/**
 * Listeners that leave the combo box when the focus does. The list closes after the press that took
 * the focus: closed at its beginning, what is pressed would move away under the pointer.
 */
function useLeaving(open: boolean, leave: () => void) {
  const { current: pointer } = useRef({ isDown: false, hasLeft: false, leave });
  pointer.leave = leave;
  useEffect(() => {
    if (!open) return;
    const down = () => {
      pointer.isDown = true;
    };
    // After the click that follows.
    const up = () => {
      pointer.isDown = false;
      setTimeout(() => pointer.hasLeft && pointer.leave());
    };
    window.addEventListener('pointerdown', down, true);
    window.addEventListener('pointerup', up, true);
    window.addEventListener('pointercancel', up, true);
    return () => {
      Object.assign(pointer, { isDown: false, hasLeft: false });
      window.removeEventListener('pointerdown', down, true);
      window.removeEventListener('pointerup', up, true);
      window.removeEventListener('pointercancel', up, true);
    };
  }, [open]);
  return {
    onFocusIn: () => {
      pointer.hasLeft = false;
    },
    onFocusOut: ({ relatedTarget, currentTarget }: FocusEvent & { currentTarget: HTMLDivElement }) => {
      if (!open || (relatedTarget instanceof Node && currentTarget.contains(relatedTarget))) return;
      pointer.hasLeft = true;
      if (!pointer.isDown) pointer.leave();
    },
  };
}

interface FieldProps extends ComboBoxProps {
  readonly listId: string;
  readonly open: boolean;
  readonly setOpen: (open: boolean) => void;
  readonly search: string;
  readonly setSearch: (search: string) => void;
  readonly active: number;
  readonly setActive: (active: number) => void;
  readonly onKeyDown: (event: KeyboardEvent) => void;
  readonly children: string;
}

function ComboField(props: FieldProps) {
  const { placeholder, listId, open, active, search, busy = false, children: chosen } = props;
  const named = useFieldAttributes(placeholder ?? props.name);
  return (
    <span class="picked">
      <input
        type="text"
        role="combobox"
        class="select"
        autocomplete="off"
        dir="auto"
        {...named}
        aria-expanded={open}
        aria-controls={open ? listId : undefined}
        aria-autocomplete="list"
        aria-activedescendant={open && active >= 0 ? `${listId}-${active}` : undefined}
        aria-busy={busy}
        disabled={props.disabled ?? false}
        placeholder={placeholder}
        maxLength={TEXT_MAX}
        value={open ? search : chosen}
        onClick={() => props.setOpen(true)}
        onKeyDown={props.onKeyDown}
        onInput={(event) => {
          props.setSearch(event.currentTarget.value);
          props.setActive(-1);
          props.setOpen(true);
        }}
      />
      {props.clear !== undefined && !props.multiple && chosen !== '' && !open && (
        <button
          type="button"
          class="button quiet clear"
          aria-label={`${props.words.remove}: ${chosen}`}
          onClick={props.clear}
        >
          <Icon name="close" />
        </button>
      )}
      <Icon name="chevron" />
    </span>
  );
}

interface ListProps extends ComboBoxProps {
  /** Whether the text in the field can be entered as it is. */
  readonly isOwnText: boolean;
  readonly focusField: () => void;
  readonly listId: string;
  readonly shown: readonly Choice[];
  readonly active: number;
  readonly choose: (id: string) => void;
  readonly offered: OfferedChoices;
}

function ComboList(props: ListProps) {
  const { listId, shown, chosen, active, choose, words, focusField } = props;
  const { loading, failed, more } = props.offered;
  return (
    <div class="combo-list">
      <div role="listbox" id={listId} aria-label={props.placeholder ?? words.open}>
        {shown.map(({ id, label, icon }, index) => (
          <div
            key={id}
            id={`${listId}-${index}`}
            role="option"
            class={index === active ? 'option active' : 'option'}
            aria-selected={chosen.includes(id)}
            dir="auto"
            // The field keeps the focus.
            onMouseDown={(event) => event.preventDefault()}
            onClick={() => choose(id)}
          >
            <Icon name={icon} />
            {label}
            {chosen.includes(id) && <Icon name="check" />}
          </div>
        ))}
      </div>
      <div class="combo-note" role="status">
        {loading && words.loading}
        {failed && words.unreachable}
        {!loading && !failed && shown.length === 0 && ((props.isOwnText && words.noMatch) || words.noChoices)}
      </div>
      {more !== undefined && (
        <button
          type="button"
          class="button quiet"
          onClick={() => {
            // The button is gone while the page is read; the focus in the field keeps the list
            // open.
            focusField();
            more();
          }}
        >
          {words.moreChoices}
        </button>
      )}
    </div>
  );
}

/** What is chosen of a list of which several may be, each with a button that removes it. */
function Chosen(props: {
  ids: readonly string[];
  name: (id: string) => string;
  remove: (id: string) => void;
  words: ComboWords;
}) {
  if (props.ids.length === 0) return null;
  return (
    <ul class="chosen">
      {props.ids.slice(0, CHOICES_MAX).map((id) => (
        <li key={id}>
          <span dir="auto">{props.name(id)}</span>
          <button
            type="button"
            class="button quiet"
            aria-label={`${props.words.remove}: ${props.name(id)}`}
            onClick={() => props.remove(id)}
          >
            <Icon name="close" />
          </button>
        </li>
      ))}
    </ul>
  );
}
