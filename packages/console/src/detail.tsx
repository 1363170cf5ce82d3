/** What the views of one thing share: where it belongs, its name, its parts, what can be done. */
import type { ComponentChildren } from 'preact';
import { useId, useState } from 'preact/hooks';
import { Field, Picked, Question, TextLine, useDialog, useFieldAttributes } from '../../ui/src/widgets.tsx';
import { ask } from './api.ts';
import { Failure } from './asked.tsx';
import { addressOf, place } from './place.ts';

interface DetailProps {
  readonly list: readonly [title: string, path: string];
  readonly title: string;
  readonly actions?: ComponentChildren;
  readonly children: ComponentChildren;
}

export const Detail = ({ list: [title, path], title: own, actions, children }: DetailProps) => (
  <article aria-labelledby="title">
    <nav aria-label="Breadcrumbs" class="crumbs">
      <a href={addressOf(path)}>{title}</a>
    </nav>
    <header class="head">
      <h1 id="title" dir="auto">
        {own}
      </h1>
      <div class="buttons">{actions}</div>
    </header>
    {children}
  </article>
);

export interface Part {
  /** In the address. */
  readonly name: string;
  readonly title: string;
  readonly view: () => ComponentChildren;
}

/** Parts of which one is shown. Each has an address, so they are links. */
export function Parts({ label, parts }: { readonly label: string; readonly parts: readonly Part[] }) {
  const { path, query } = place.value;
  const shown = parts.find(({ name }) => name === query['part']) ?? parts[0];
  const here = path.map(encodeURIComponent).join('/');
  return (
    <>
      <nav class="parts" aria-label={label}>
        {parts.map((part, index) => (
          <a
            key={part.name}
            href={addressOf(here, { part: index === 0 ? undefined : part.name })}
            aria-current={part === shown ? 'page' : undefined}
          >
            {part.title}
          </a>
        ))}
      </nav>
      {shown?.view()}
    </>
  );
}

interface ActionProps {
  readonly words: string;
  /** What it will do, where it is asked about first; may be found out by a request. */
  readonly question?: string | (() => Promise<string>);
  readonly act: () => Promise<unknown>;
  readonly done?: () => void;
  readonly style?: string;
}

interface ActionState {
  readonly isBusy?: boolean;
  readonly asked?: string;
  readonly failure?: Error;
}

/** A button that asks the service for something, and says why it was refused. */
export function Action({ words, question, act, done, style = 'button steady' }: ActionProps) {
  const [state, setState] = useState<ActionState>({});
  const attempt = (work: () => Promise<ActionState>) => {
    setState({ isBusy: true });
    void work().then(setState, (failure: Error) => setState({ failure }));
  };
  const run = () =>
    attempt(async () => {
      await act();
      done?.();
      return {};
    });
  const press = () => {
    if (question === undefined) run();
    else attempt(async () => ({ asked: typeof question === 'string' ? question : await question() }));
  };
  return (
    <>
      <button type="button" class={style} aria-busy={state.isBusy} disabled={state.isBusy} onClick={press}>
        <span>{words}</span>
      </button>
      {state.asked !== undefined && (
        <Question
          {...{ title: words, text: state.asked, yes: words, no: 'Leave it', style: 'button danger' }}
          answer={(confirmed) => (confirmed ? run() : setState({}))}
        />
      )}
      {state.failure && <Failure failure={state.failure} />}
    </>
  );
}

export const order = (path: string, body?: unknown) => () =>
  ask(path, { method: 'POST', ...(body !== undefined && { body }) });

interface RemovalProps {
  /** Of the button, and of the dialog. */
  readonly words: string;
  /** What has to be typed. */
  readonly name: string;
  /** What it will do, with the numbers. */
  readonly consequences: () => Promise<readonly string[]>;
  readonly act: () => Promise<unknown>;
  readonly done: () => void;
}

/** What cannot be undone: says what it will do, and asks for the name. */
export function Removal({ words, name, consequences, act, done }: RemovalProps) {
  const [state, setState] = useState<{ failure?: Error; lines?: readonly string[] }>({});
  const open = () =>
    void consequences().then(
      (lines) => setState({ lines }),
      (failure: Error) => setState({ failure }),
    );
  const close = () => setState({});
  return (
    <>
      <button type="button" class="button" onClick={open}>
        {words}
      </button>
      {state.failure && <Failure failure={state.failure} />}
      {state.lines && <RemovalDialog {...{ words, name, act, done, close, lines: state.lines }} />}
    </>
  );
}

interface RemovalDialogProps extends Omit<RemovalProps, 'consequences'> {
  readonly lines: readonly string[];
  readonly close: () => void;
}

function RemovalDialog({ words, name, lines, act, done, close }: RemovalDialogProps) {
  const dialog = useDialog();
  const titleId = useId();
  const [typed, setTyped] = useState('');
  const [state, setState] = useState<{ isBusy?: boolean; failure?: Error }>({});
  const submit = (event: Event) => {
    event.preventDefault();
    if (typed.trim() !== name) return;
    setState({ isBusy: true });
    void act().then(done, (failure: Error) => setState({ failure }));
  };
  return (
    <dialog ref={dialog} class="window question" aria-labelledby={titleId} onClose={close}>
      <h2 class="window-title" id={titleId}>
        {words}
      </h2>
      <ul class="consequences">
        {lines.map((line) => (
          <li key={line}>{line}</li>
        ))}
      </ul>
      <form class="card-form" onSubmit={submit}>
        <Field label={`Type ${name} to confirm`}>
          <NameLine change={setTyped} />
        </Field>
        {state.failure && <Failure failure={state.failure} />}
        <div class="buttons end">
          <button type="button" class="button" onClick={close}>
            Leave it
          </button>
          <button
            type="submit"
            class="button danger steady"
            aria-busy={state.isBusy}
            disabled={typed.trim() !== name || state.isBusy}
          >
            <span>{words}</span>
          </button>
        </div>
      </form>
    </dialog>
  );
}

const NameLine = ({ change }: { readonly change: (text: string) => void }) => (
  <TextLine
    attributes={{
      ...useFieldAttributes('Name'),
      ...{ class: 'textinput', spellcheck: false },
      onInput: (event) => change(event.currentTarget.value),
    }}
  />
);

interface FormProps {
  readonly words: string;
  readonly fields: readonly {
    readonly name: string;
    readonly label: string;
    readonly type?: 'password';
    readonly value?: string;
    readonly choices?: readonly string[];
    readonly hint?: string;
    readonly required?: boolean;
  }[];
  readonly act: (values: Readonly<Record<string, string>>) => Promise<unknown>;
  readonly done: () => void;
}

/** A short form beside what it changes; what was refused is said below it. */
export function ShortForm({ words, fields, act, done }: FormProps) {
  const [state, setState] = useState<{ isBusy?: boolean; failure?: Error; turn: number }>({ turn: 0 });
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    const values = Object.fromEntries([...form].map(([name, value]) => [name, String(value)]));
    setState(({ turn }) => ({ turn, isBusy: true }));
    void act(values).then(
      () => {
        setState(({ turn }) => ({ turn: turn + 1 }));
        done();
      },
      (failure: Error) => setState(({ turn }) => ({ turn, failure })),
    );
  };
  return (
    <form class="short-form" key={state.turn} onSubmit={submit}>
      {fields.map(({ name, label, type, value, choices, hint, required = true }) => (
        <label key={name}>
          <span>{label}</span>
          {choices === undefined ? (
            <TextLine
              type={type}
              attributes={{
                ...{ class: 'textinput', name, required, spellcheck: false },
                ...{ defaultValue: value ?? '', placeholder: hint ?? '' },
              }}
            />
          ) : (
            <Picked>
              <select class="select" name={name} defaultValue={value ?? choices[0] ?? ''}>
                {choices.map((choice) => (
                  <option key={choice}>{choice}</option>
                ))}
              </select>
            </Picked>
          )}
        </label>
      ))}
      <button type="submit" class="button primary steady" aria-busy={state.isBusy} disabled={state.isBusy}>
        <span>{words}</span>
      </button>
      {state.failure && <Failure failure={state.failure} />}
    </form>
  );
}
