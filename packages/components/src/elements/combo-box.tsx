/**
 * A combo box: a field with a list of choices below it, by the pattern of WAI-ARIA. The list stands
 * in the flow of the page, so that it covers nothing of the host product.
 */
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import type { Choice } from '../../../../src/model/contentkit/choice-page.ts';
import { cutText } from '../drawing/cut-text.ts';
import { textMember } from '../drawing/json.ts';
import { LIMITS } from '../limits.ts';
import { Icon } from '../ui/icons.tsx';
import { matching } from './choices.ts';
import { type ElementProps, label, textOf, useDisabled, useFieldAttributes, useScope } from './scope.ts';
import { useChoices } from './use-choices.ts';

interface ComboBoxProps extends ElementProps {
  readonly choices: readonly Choice[];
  /** `options.url`; undefined where the choices are a list. */
  readonly address: unknown;
  readonly multiple: boolean;
  readonly acceptInput: boolean;
  readonly value: unknown;
  readonly change: (value: unknown) => void;
  readonly busy: boolean;
}

const idsOf = (value: unknown): readonly string[] =>
  (Array.isArray(value) ? value : [value]).map(textOf).filter((id) => id !== '');

export function ComboBox(props: ComboBoxProps) {
  const { node, multiple, acceptInput, change, value } = props;
  const [open, setOpen] = useState(false);
  const [search, setSearch] = useState('');
  const [active, setActive] = useState(-1);
  const listId = useId();
  const box = useRef<HTMLDivElement>(null);
  const focusField = () => box.current?.querySelector('input')?.focus();
  // A choice that is chosen keeps its name when the list shows others.
  const { current: names } = useRef(new Map<string, string>());
  const chosen = idsOf(value);
  const isUnnamed = chosen.some((id) => !names.has(id));
  const remote = useChoices(props.address, { search, open, isUnnamed });
  for (const { id, label } of [...remote.selected, ...remote.choices])
    if (chosen.includes(id)) names.set(id, label);
  const known = props.address === undefined ? props.choices : remote.choices;
  const shown = matching(known, search);
  const nameOf = (id: string) =>
    cutText(known.find((choice) => choice.id === id)?.label ?? names.get(id) ?? id, LIMITS.labelChars);
  const close = () => {
    setOpen(false);
    setSearch('');
    setActive(-1);
  };
  const choose = (id: string) => {
    const name = known.find((choice) => choice.id === id)?.label;
    if (name !== undefined && names.size < LIMITS.choices) names.set(id, name);
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
      {multiple && <Chosen ids={chosen} name={nameOf} remove={choose} />}
      <ComboField {...{ ...props, open, setOpen, search, setSearch, setActive, active, listId, onKeyDown }}>
        {multiple || chosen[0] === undefined ? '' : nameOf(chosen[0])}
      </ComboField>
      {open && <ComboList {...{ node, shown, chosen, active, choose, remote, listId, focusField }} />}
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
  const { node, listId, open, active, search, busy, children: chosen } = props;
  const disabled = useDisabled(node);
  const placeholder = label(node, 'placeholder');
  const key = cutText(textMember(node.attributes, 'state') ?? '', LIMITS.labelChars);
  const named = useFieldAttributes(placeholder ?? key);
  return (
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
      disabled={disabled}
      placeholder={placeholder}
      maxLength={LIMITS.labelChars}
      value={open ? search : chosen}
      onClick={() => props.setOpen(true)}
      onKeyDown={props.onKeyDown}
      onInput={(event) => {
        props.setSearch(event.currentTarget.value);
        props.setActive(-1);
        props.setOpen(true);
      }}
    />
  );
}

interface ListProps extends ElementProps {
  readonly focusField: () => void;
  readonly listId: string;
  readonly shown: readonly Choice[];
  readonly chosen: readonly string[];
  readonly active: number;
  readonly choose: (id: string) => void;
  readonly remote: ReturnType<typeof useChoices>;
}

function ComboList({ node, listId, shown, chosen, active, choose, remote, focusField }: ListProps) {
  const { stage } = useScope();
  const { loading, failed, more } = remote;
  return (
    <div class="combo-list">
      <div role="listbox" id={listId} aria-label={label(node, 'placeholder') ?? stage.words.open}>
        {shown.map(({ id, label: words, icon }, index) => (
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
            {words}
          </div>
        ))}
      </div>
      <div class="combo-note" role="status">
        {loading && stage.words.loading}
        {failed && stage.words.unreachable}
        {!loading && !failed && shown.length === 0 && stage.words.noChoices}
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
          {stage.words.moreChoices}
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
}) {
  const { stage } = useScope();
  if (props.ids.length === 0) return null;
  return (
    <ul class="chosen">
      {props.ids.slice(0, LIMITS.choices).map((id) => (
        <li key={id}>
          <span dir="auto">{props.name(id)}</span>
          <button
            type="button"
            class="button quiet"
            aria-label={`${stage.words.remove}: ${props.name(id)}`}
            onClick={() => props.remove(id)}
          >
            <Icon name="close" />
          </button>
        </li>
      ))}
    </ul>
  );
}
