/**
 * Draws a form: each property of the configuration with the control of its type, what is wrong or
 * missing at its field, and the button that saves. Every text is a tenant's, and a text node.
 */
import type { JSX } from 'preact';
import { useEffect, useId, useMemo, useRef, useState } from 'preact/hooks';
import { type AskedChoices, type Choice, listOf, type OfferedChoices } from '../../../ui/src/choices.ts';
import { ComboBox } from '../../../ui/src/combo-box.tsx';
import { Icon } from '../../../ui/src/icons.tsx';
import {
  Callout,
  CopyButton,
  Field,
  PlainSelect,
  Question,
  Skeleton,
  TextLine,
  useFieldAttributes,
} from '../../../ui/src/widgets.tsx';
import { isObject } from '../drawing/json.ts';
import { addressUrl } from '../drawing/urls.ts';
import { type FormSession, titleOf } from './form-session.ts';
import type { FormField } from './form-transport.ts';
import type { ConfigurationWords } from './words.ts';

export interface FormViewProps {
  readonly session: FormSession;
  readonly words: ConfigurationWords;
  /** Draws the component of the settings. */
  readonly drawn: (componentId: string) => JSX.Element;
}

interface FieldProps {
  readonly session: FormSession;
  readonly words: ConfigurationWords;
  readonly field: FormField;
}

const DESCRIPTION_CHARS_MAX = 1_000;
const SKELETON_ROWS = 3;

export function FormView({ session, words, drawn }: FormViewProps) {
  const root = useRef<HTMLFormElement>(null);
  const form = session.form.value;
  useEffect(() => {
    const back = () => document.visibilityState === 'visible' && void session.back();
    window.addEventListener('focus', back);
    document.addEventListener('visibilitychange', back);
    return () => {
      window.removeEventListener('focus', back);
      document.removeEventListener('visibilitychange', back);
    };
  }, [session]);
  const failure = <FailureNote session={session} words={words} />;
  if (form === undefined)
    return (
      <div class="form">
        {session.failure.value === undefined ? (
          <Skeleton rows={SKELETON_ROWS} words={words.loading} />
        ) : (
          failure
        )}
      </div>
    );
  if (form.componentId !== undefined) return drawn(form.componentId);
  const fields = form.properties ?? [];
  if (fields.length === 0) return <p class="quiet-words">{words.nothing}</p>;
  const submit = async (event: Event) => {
    event.preventDefault();
    const isWell = await session.save();
    // The first wrong field has the focus, once it is drawn as wrong.
    if (!isWell) setTimeout(() => root.current?.querySelector<HTMLElement>(WRONG)?.focus());
  };
  return (
    <form class="form" ref={root} onSubmit={submit} noValidate>
      <Status {...{ session, words, fields }} />
      {fields.map((field) => (
        <Setting key={field.name} {...{ session, words, field }} />
      ))}
      {failure}
      <Foot session={session} words={words} />
    </form>
  );
}

const WRONG = '[aria-invalid="true"], .wrong a, .wrong button, .clash button';

/** What the installation waits for, before its fields. */
function Status({
  session,
  words,
  fields,
}: Omit<FormViewProps, 'drawn'> & { readonly fields: readonly FormField[] }) {
  const status = session.form.value?.status;
  if (status === 'paused') return <Callout tone="info">{words.paused}</Callout>;
  const missing = fields.filter(({ name }) => session.errors.value.has(name));
  if (status !== 'pending' || missing.length === 0) return null;
  return (
    <Callout tone="warn">
      <span>
        {words.pending} <span dir="auto">{missing.map(titleOf).join(', ')}</span>
      </span>
    </Callout>
  );
}

function FailureNote({ session, words }: Omit<FormViewProps, 'drawn'>) {
  const failure = session.failure.value;
  if (failure === undefined) return null;
  return (
    <Callout tone="bad" role="alert">
      <span dir="auto">{failure.message}</span>
      {failure.requestId !== undefined && (
        <span class="buttons quiet-words">
          {words.request} <code>{failure.requestId}</code>
          <CopyButton value={failure.requestId} words={words} />
        </span>
      )}
      {session.form.value === undefined && (
        <button type="button" class="button" onClick={() => void session.load()}>
          {words.retry}
        </button>
      )}
    </Callout>
  );
}

function Foot({ session, words }: Omit<FormViewProps, 'drawn'>) {
  const state = session.state.value;
  const said = {
    idle: session.isDirty.value && session.failure.value === undefined ? words.unsaved : '',
    saving: words.saving,
    saved: session.isDirty.value ? words.unsaved : words.saved,
  };
  return (
    <div class="buttons foot">
      <button type="submit" class="button primary steady" aria-busy={state === 'saving'}>
        <span>{words.save}</span>
      </button>
      <span class="quiet-words said" role="status">
        {state === 'saved' && !session.isDirty.value && <Icon name="check" />}
        {said[state]}
      </span>
    </div>
  );
}

function Setting(props: FieldProps) {
  const { session, words, field } = props;
  const { required, type, description } = field;
  // A connection that is under way, or was refused, says so itself.
  const isConnecting = session.connecting.value.has(field.name);
  const error = isConnecting ? undefined : session.errors.value.get(field.name);
  const theirs = session.conflicts.value;
  return (
    <div class={type === 'button' && error !== undefined ? 'setting wrong' : 'setting'}>
      <Field
        label={titleOf(field)}
        {...(!required && type !== 'boolean' && type !== 'button' && { note: words.optional })}
        beside={type === 'boolean'}
        labelable={type !== 'button'}
        hint={
          description === undefined || description === ''
            ? undefined
            : (id) => (
                <p class="remark" id={id} dir="auto">
                  {description.slice(0, DESCRIPTION_CHARS_MAX)}
                </p>
              )
        }
        error={error}
        missing={error !== undefined && !session.isTried.value && session.isUnset(field)}
      >
        {type === 'button' ? <ConnectionControl {...props} /> : <ValueControl {...props} />}
      </Field>
      {theirs.has(field.name) && <Clash {...props} value={theirs.get(field.name)} />}
    </div>
  );
}

/** Two people have changed a field: which value holds. */
function Clash({ session, words, field, value }: FieldProps & { readonly value: unknown }) {
  return (
    <div class="clash">
      <Callout tone="warn" role="alert">
        <span>
          {words.conflict} <strong dir="auto">{shownValue(value, field, words)}</strong>
        </span>
        <span class="buttons">
          <button type="button" class="button" onClick={() => session.settle(field, 'mine')}>
            {words.mine}
          </button>
          <button type="button" class="button" onClick={() => session.settle(field, 'theirs')}>
            {words.theirs}
          </button>
        </span>
      </Callout>
    </div>
  );
}

const VALUE_CHARS_MAX = 200;

function shownValue(value: unknown, field: FormField, words: ConfigurationWords): string {
  if (value === undefined || value === null || value === '') return words.empty;
  if (typeof value === 'boolean') return value ? words.yes : words.no;
  const text = Array.isArray(value)
    ? value.map((one) => choiceTitle(field, String(one))).join(', ')
    : choiceTitle(field, typeof value === 'object' ? JSON.stringify(value) : String(value));
  return text.slice(0, VALUE_CHARS_MAX);
}

const choiceTitle = ({ titles = {} }: FormField, choice: string): string =>
  (Object.hasOwn(titles, choice) && titles[choice]) || choice;

const choicesOf = (field: FormField): Choice[] =>
  (field.enum ?? []).map((id) => ({ id, label: choiceTitle(field, id) || id }));

/** More choices than this are searched. */
const PLAIN_CHOICES_MAX = 12;

function ValueControl(props: FieldProps) {
  const { session, words, field } = props;
  const { type, completion, multiple = false } = field;
  const title = titleOf(field);
  const named = useFieldAttributes(title);
  const value = session.value(field);
  if (type === 'boolean')
    return (
      <input
        {...named}
        type="checkbox"
        role="switch"
        class="switch"
        checked={value === true}
        onChange={(event) => session.enter(field, event.currentTarget.checked)}
      />
    );
  const choices = choicesOf(field);
  const chosen = (Array.isArray(value) ? value : [value]).filter(
    (one) => typeof one === 'string' && one !== '',
  );
  if (completion || multiple || choices.length > PLAIN_CHOICES_MAX)
    return (
      <ComboBox
        {...{ name: title, multiple, words, chosen }}
        placeholder={words.choose}
        acceptInput={completion === true && !multiple}
        offer={(asked) => (completion ? useOptions(props, asked) : listOf(choices))}
        change={(next) => session.enter(field, next)}
        {...(!field.required && !multiple && { clear: () => session.enter(field, undefined) })}
      />
    );
  if (choices.length > 0)
    return (
      <PlainSelect
        {...{ named, choices }}
        value={typeof value === 'string' ? value : ''}
        placeholder={words.choose}
        clearable={!field.required}
        change={(next) => session.enter(field, next)}
      />
    );
  return <TextControl {...props} named={named} />;
}

function TextControl({
  session,
  words,
  field,
  named,
}: FieldProps & { named: Record<string, string | undefined> }) {
  const value = session.value(field);
  const isNumber = field.type === 'number';
  const enter = (text: string) => {
    if (text.trim() === '') return session.enter(field, undefined);
    if (!isNumber) return session.enter(field, text);
    const number = Number(text.trim());
    if (Number.isFinite(number)) return session.enter(field, text.trim() === String(number) ? number : text);
    return session.enter(field, text, `${titleOf(field)} ${words.noNumber}`);
  };
  return (
    <TextLine
      attributes={{
        ...named,
        class: 'textinput',
        dir: 'auto',
        ...(isNumber && { inputMode: 'decimal' }),
        value: typeof value === 'string' || typeof value === 'number' ? String(value) : '',
        onInput: (event: { currentTarget: HTMLInputElement }) => enter(event.currentTarget.value),
        // `1.50` is a number only once it is not typed on.
        onBlur: () => {
          const typed = session.value(field);
          if (isNumber && typeof typed === 'string' && Number.isFinite(Number(typed)))
            session.enter(field, Number(typed));
        },
      }}
    />
  );
}

/** Options of one page of a list that is read whole. */
const PAGE = 50;
/** Time after the last key before a search is sent. */
const TYPING_MS = 200;

/** The options that the integration gives for what is typed, page by page. */
function useOptions(
  { session, field }: FieldProps,
  { search, open, isUnnamed }: AskedChoices,
): OfferedChoices {
  const [read, setRead] = useState<OfferedChoices>(listOf([]));
  const [shown, setShown] = useState(PAGE);
  const isNaming = isUnnamed && !open;
  useEffect(() => {
    if (!open && !isNaming) return;
    const controller = new AbortController();
    setRead((before) => ({ ...before, loading: true, failed: false }));
    setShown(PAGE);
    const load = async () => {
      const typed = search.trim();
      const body = {
        property: field.name,
        ...(typed !== '' && { search: typed.slice(0, SEARCH_CHARS_MAX) }),
      };
      const request = { method: 'POST', path: '/completions', body } as const;
      const answer = await session.ask(request, controller.signal).catch(() => undefined);
      if (controller.signal.aborted) return;
      if (answer?.status === 200) setRead(listOf(optionsOf(answer.body)));
      else setRead({ ...listOf([]), failed: true });
    };
    const timer = setTimeout(() => void load(), search === '' ? 0 : TYPING_MS);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [search, open, isNaming, field.name]);
  const choices = useMemo(() => read.choices.slice(0, shown), [read, shown]);
  const more = read.choices.length > shown ? () => setShown(shown + PAGE) : undefined;
  return { ...read, choices, selected: read.choices, more };
}

const SEARCH_CHARS_MAX = 256;
const OPTIONS_MAX = 500;

function optionsOf(body: unknown): Choice[] {
  const options = isObject(body) && Array.isArray(body['options']) ? body['options'] : [];
  const known = new Set<string>();
  return options.slice(0, OPTIONS_MAX).flatMap((one: unknown) => {
    if (!isObject(one)) return [];
    const { value, label } = one;
    if (typeof value !== 'string' || typeof label !== 'string' || known.has(value)) return [];
    known.add(value);
    return [{ id: value, label: label === '' ? value : label }];
  });
}

/** A button that opens the integration: to connect an account, or for whatever its code does. */
function ConnectionControl({ session, words, field }: FieldProps) {
  const [isAsked, setAsked] = useState(false);
  const noteId = useId();
  const { sealed, isSet, isLost, account, value } = field;
  const state = session.connecting.value.get(field.name);
  // Attack: an address that runs as code of the page.
  const url = addressUrl(field.callback_url);
  const isConnected = sealed ? isSet === true : value !== undefined && value !== null && value !== false;
  const who = sealed ? account : typeof value === 'string' ? value : undefined;
  const isWell = isConnected && !isLost;
  const first = field.button_text?.trim() || words.connect;
  return (
    <div class="connection">
      {isWell && (
        <p class="connected">
          <Icon name="check-circle" />
          <span dir="auto">
            {who === undefined || who === ''
              ? words.connected
              : `${words.connectedAs} ${who.slice(0, VALUE_CHARS_MAX)}`}
          </span>
        </p>
      )}
      {isLost && <Callout tone="warn">{words.lost}</Callout>}
      <div class="buttons">
        {url !== undefined && (
          <a
            class="button"
            href={url}
            target="_blank"
            rel="noopener noreferrer"
            aria-describedby={state === undefined ? undefined : noteId}
            onClick={() => session.connect(field)}
          >
            <span dir="auto">{isConnected ? words.reconnect : first.slice(0, VALUE_CHARS_MAX)}</span>
            <Icon name="link-external" />
            <span class="hidden-words">{words.opensElsewhere}</span>
          </a>
        )}
        {sealed && isConnected && (
          <button type="button" class="button quiet" onClick={() => setAsked(true)}>
            {words.disconnect}
          </button>
        )}
      </div>
      {state !== undefined && (
        <p class={state === 'refused' ? 'error' : 'remark'} id={noteId} role="status">
          {state === 'refused' && <Icon name="alert" />}
          <span>{state === 'refused' ? words.refused : words.waiting}</span>
        </p>
      )}
      {isAsked && (
        <Question
          title={words.disconnectTitle}
          text={words.disconnectText}
          yes={words.disconnect}
          no={words.cancel}
          style="button danger"
          answer={(confirmed) => {
            setAsked(false);
            if (confirmed) void session.disconnect(field);
          }}
        />
      )}
    </div>
  );
}
