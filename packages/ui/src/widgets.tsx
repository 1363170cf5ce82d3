/**
 * The widgets that are the browser's own controls in the design's look, and what stands around them.
 * Text of a tenant is text everywhere: no widget takes markup.
 */
import {
  type ComponentChildren,
  createContext,
  type PartialInputHTMLAttributes,
  type TargetedEvent,
} from 'preact';
import { useContext, useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Choice } from './choices.ts';
import { Icon } from './icons.tsx';

/** Ids of the label of a control, of what describes it, and whether its value is refused. */
export interface FieldScope {
  readonly fieldId: string;
  readonly labelId: string;
  readonly describedBy: string | undefined;
  readonly isInvalid?: boolean;
}
const FieldContext = createContext<FieldScope | undefined>(undefined);

/** Attributes of a control that name and describe it. @param name without a `Field` around it */
export function useFieldAttributes(name: string): Record<string, string | undefined> {
  const field = useContext(FieldContext);
  if (field === undefined) return { 'aria-label': name };
  return {
    id: field.fieldId,
    'aria-labelledby': field.labelId,
    'aria-describedby': field.describedBy,
    'aria-invalid': field.isInvalid ? 'true' : undefined,
  };
}

interface FieldProps {
  readonly label: string;
  /** Behind the label, such as that a value may be left out. */
  readonly note?: string;
  /** Whether the label stands beside the control, as for a checkbox. */
  readonly beside?: boolean;
  /** Whether a press on the label reaches the control. */
  readonly labelable?: boolean;
  readonly hint?: ((id: string) => ComponentChildren) | undefined;
  /** Why the value is refused, or, as `missing`, that it is still needed. */
  readonly error?: string | undefined;
  readonly missing?: boolean;
  /** Whether the first field that is refused gets the focus. */
  readonly focusesFirst?: boolean;
  readonly children: ComponentChildren;
}

/**
 * Puts the focus into the first field that is refused. Attack: a drawing that takes the focus from
 * the page around it, and with it what the user types there: only where the focus is in the same
 * tree already.
 */
function useFirstRefused(isWanted: boolean, error: string | undefined) {
  const field = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const root = field.current?.getRootNode();
    if (!isWanted || error === undefined || !(root instanceof ShadowRoot) || root.activeElement === null)
      return;
    const first = root.querySelector<HTMLElement>('[aria-invalid="true"]');
    if (first !== null && field.current?.contains(first)) first.focus();
  }, [isWanted, error]);
  return field;
}

/** A control with its label above or beside it, its hint, and below both why it is refused. */
export function Field(props: FieldProps) {
  const {
    label,
    note,
    beside,
    labelable = true,
    hint,
    error,
    missing,
    focusesFirst = false,
    children,
  } = props;
  const id = useId();
  const field = useFirstRefused(focusesFirst, error);
  const [fieldId, labelId] = [`${id}-field`, `${id}-label`];
  const hintId = hint && `${id}-hint`;
  const errorId = error === undefined ? undefined : `${id}-error`;
  const describedBy = [hintId, errorId].filter((one) => one !== undefined).join(' ') || undefined;
  const Label = labelable ? 'label' : 'span';
  return (
    <div ref={field} class={beside ? 'field beside' : 'field'}>
      <Label class="label" id={labelId} {...(labelable && { for: fieldId })} dir="auto">
        {label}
        {note !== undefined && <span class="optional"> {note}</span>}
      </Label>
      <div class="control">
        <FieldContext.Provider
          value={{ fieldId, labelId, describedBy, isInvalid: error !== undefined && !missing }}
        >
          {children}
        </FieldContext.Provider>
      </div>
      {hintId !== undefined && hint?.(hintId)}
      {error !== undefined && (
        <p class={missing ? 'error missing' : 'error'} id={errorId}>
          <Icon name={missing ? 'warning' : 'alert'} />
          <span dir="auto">{error}</span>
        </p>
      )}
    </div>
  );
}

type LineAttributes = Omit<PartialInputHTMLAttributes<HTMLInputElement>, 'type' | 'role' | 'list'>;

interface TextLineProps {
  readonly type?: string | undefined;
  readonly attributes: LineAttributes;
}

/** Attack: a field that the browser fills with the password or the address of the user. */
export function TextLine({ type, attributes }: TextLineProps) {
  if (type === 'password') return <input type="password" autocomplete="new-password" {...attributes} />;
  if (type === 'email') return <input type="email" autocomplete="off" {...attributes} />;
  return <input type="text" autocomplete="off" {...attributes} />;
}

interface PlainSelectProps {
  readonly named: Readonly<Record<string, unknown>>;
  readonly choices: readonly Choice[];
  /** Id of the choice that is chosen. */
  readonly value: string;
  /** Words while nothing is chosen. */
  readonly placeholder: string;
  /** Whether the choice can be taken back. */
  readonly clearable?: boolean;
  readonly change: (id: string | undefined) => void;
}

/** The place of a `<select>`, with the mark of what opens. */
export const Picked = ({ children }: { readonly children: ComponentChildren }) => (
  <span class="picked">
    {children}
    <Icon name="chevron" />
  </span>
);

/** One choice of a list: the browser's own, which every device knows how to show. */
export function PlainSelect({ named, choices, value, placeholder, clearable, change }: PlainSelectProps) {
  const index = choices.findIndex(({ id }) => id === value);
  // Ids are compared by their place: no text of a tenant becomes a value of the page's form.
  return (
    <Picked>
      <select
        class={index === -1 ? 'select unset' : 'select'}
        {...named}
        value={String(index)}
        onChange={(event: TargetedEvent<HTMLSelectElement>) =>
          change(choices[Number(event.currentTarget.value)]?.id)
        }
      >
        {(index === -1 || clearable) && (
          <option value="-1" disabled={choices.length > 0 && !clearable}>
            {placeholder}
          </option>
        )}
        {choices.map(({ id, label }, at) => (
          <option key={id} value={String(at)} dir="auto">
            {label}
          </option>
        ))}
      </select>
    </Picked>
  );
}

interface CopyButtonProps {
  readonly value: string;
  readonly words: { readonly copy: string; readonly copied: string };
}

/** Copies a text that is shown beside it; absent where the page has no clipboard. */
export function CopyButton({ value, words }: CopyButtonProps) {
  const [isCopied, setCopied] = useState(false);
  const clipboard: Clipboard | undefined = navigator.clipboard;
  if (clipboard === undefined) return null;
  const copy = () =>
    clipboard.writeText(value).then(
      () => setCopied(true),
      () => undefined,
    );
  return (
    <button type="button" class="button quiet" onClick={() => void copy()} onBlur={() => setCopied(false)}>
      <Icon name={isCopied ? 'check' : 'copy'} />
      <span role="status">{isCopied ? words.copied : words.copy}</span>
    </button>
  );
}

interface EmblemProps {
  readonly title: string;
  /** Its picture, at an address that was checked. */
  readonly url: string | undefined;
}

/** The picture of an integration; its initials where it has none, or where that is lost. */
export function Emblem({ title, url }: EmblemProps) {
  const [isLost, setLost] = useState(false);
  if (url !== undefined && !isLost)
    return <img class="emblem" src={url} alt="" width={40} height={40} onError={() => setLost(true)} />;
  const words = title.split(/[^\p{L}\p{N}]+/u).filter(Boolean);
  const initials = words.slice(0, 2).map(([first]) => first?.toUpperCase());
  return <span class="emblem" aria-hidden="true" data-initials={initials.join('')} />;
}

const TONES = { info: 'info', good: 'check-circle', warn: 'warning', bad: 'alert' } as const;

interface CalloutProps {
  readonly tone: keyof typeof TONES;
  /** How it is announced: at once, or when the reader is done. */
  readonly role?: 'alert' | 'status';
  readonly children: ComponentChildren;
}

/** A sentence that the user should not miss. Its icon says with its colour what it is. */
export const Callout = ({ tone, role, children }: CalloutProps) => (
  <div class={`callout ${tone}`} {...(role && { role })}>
    <Icon name={TONES[tone]} />
    <div>{children}</div>
  </div>
);

interface SkeletonProps {
  readonly rows: number;
  readonly words: string;
  /** What is being read: a form, a list, or a grid of cards. */
  readonly shape?: 'fields' | 'lines' | 'tiles';
}

/** The shape of what is being read. */
export const Skeleton = ({ rows, words, shape = 'fields' }: SkeletonProps) => (
  <div role="status" class={`as-${shape}`}>
    <span class="hidden-words">{words}</span>
    {Array.from({ length: rows }, (_, row) => (
      <p key={row} class="skeleton" aria-hidden="true">
        <i />
        <i />
      </p>
    ))}
  </div>
);

/** Opens a dialog above the page: the browser keeps the focus in it, and gives it back. */
export function useDialog() {
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    const opened = dialog.current;
    const before = opened?.getRootNode() as ShadowRoot | undefined;
    const focused = before?.activeElement;
    opened?.showModal();
    return () => {
      opened?.close();
      if (focused instanceof HTMLElement) focused.focus();
    };
  }, []);
  return dialog;
}

interface QuestionProps {
  readonly title: string;
  readonly text: string;
  readonly yes: string;
  readonly no: string;
  /** Class of the button that confirms. */
  readonly style: string;
  readonly answer: (confirmed: boolean) => void;
}

/** Asks before something is done. */
export function Question({ title, text, yes, no, style, answer }: QuestionProps) {
  const dialog = useDialog();
  const [titleId, textId] = [useId(), useId()];
  return (
    <dialog
      ref={dialog}
      role="alertdialog"
      class="window question"
      aria-labelledby={titleId}
      aria-describedby={textId}
      onCancel={() => answer(false)}
      onClose={() => answer(false)}
    >
      <h2 class="window-title" id={titleId} dir="auto">
        {title}
      </h2>
      <p class="text" id={textId} dir="auto">
        {text}
      </p>
      <div class="buttons end">
        {/* First, so that it has the focus: Enter does not confirm by mistake. */}
        <button type="button" class="button secondary" onClick={() => answer(false)}>
          {no}
        </button>
        <button type="button" class={style} onClick={() => answer(true)}>
          <span dir="auto">{yes}</span>
        </button>
      </div>
    </dialog>
  );
}

interface TabsProps {
  /** What the tabs are of, for who does not see them. */
  readonly label: string;
  /** Title → what it shows. */
  readonly tabs: readonly (readonly [title: string, children: ComponentChildren])[];
}

/** Parts of which one is shown, by the pattern of WAI-ARIA: arrows, Home and End choose. */
export function Tabs({ label, tabs }: TabsProps) {
  const [shown, setShown] = useState(0);
  const id = useId();
  const onKeyDown = (event: KeyboardEvent & { currentTarget: HTMLElement }) => {
    const steps: Record<string, number> = { ArrowRight: 1, ArrowLeft: -1, Home: -shown, End: -shown - 1 };
    const step = steps[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const isBackwards =
      event.key.startsWith('Arrow') && getComputedStyle(event.currentTarget).direction === 'rtl';
    const next = (shown + (isBackwards ? -step : step) + tabs.length) % tabs.length;
    setShown(next);
    event.currentTarget.querySelectorAll<HTMLElement>('[role=tab]')[next]?.focus();
  };
  return (
    <div>
      <div class="tablist" role="tablist" aria-label={label} onKeyDown={onKeyDown}>
        {tabs.map(([title], at) => (
          <button
            key={title}
            type="button"
            role="tab"
            class="button quiet"
            id={`${id}-${at}`}
            aria-selected={at === shown}
            aria-controls={`${id}-panel`}
            tabIndex={at === shown ? 0 : -1}
            onClick={() => setShown(at)}
          >
            {title}
          </button>
        ))}
      </div>
      <div class="tabpanel" role="tabpanel" id={`${id}-panel`} aria-labelledby={`${id}-${shown}`}>
        {tabs[shown]?.[1]}
      </div>
    </div>
  );
}
