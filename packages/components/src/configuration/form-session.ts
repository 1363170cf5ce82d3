/**
 * The state of a form that is filled in: what the service has, what the person has entered, and what
 * is being saved.
 *
 * A save is shown as done at once. If it fails, what was entered is there again as entered. If
 * another person has saved meanwhile (412), the form is read again: fields that only one of the two
 * has changed are saved together, and one that both have changed asks which value holds. What the
 * form has no field for is never sent, so it stays.
 */
import { batch, computed, signal } from '@preact/signals';
import { isObject } from '../drawing/json.ts';
import type {
  ConfigurationForm,
  FormAnswer,
  FormField,
  FormRequest,
  FormTransport,
} from './form-transport.ts';
import type { ConfigurationWords } from './words.ts';

/** What a person has entered, and the value that it replaces. */
interface Draft {
  readonly value: unknown;
  readonly from: unknown;
  /** Entered, but no value of the type. */
  readonly fault?: string;
}
type Drafts = ReadonlyMap<string, Draft>;

/** Why something failed, in a sentence. */
export interface FormFailure {
  readonly message: string;
  readonly requestId?: string;
}

export const isEqual = (one: unknown, other: unknown): boolean =>
  JSON.stringify(one ?? null) === JSON.stringify(other ?? null);

const EMPTY: Drafts = new Map();
/** Saves after a change of another person, in a row. */
const ATTEMPTS_MAX = 3;
/** How often the end of a connection is looked for, and how long: as long as its state is good. */
const LOOK_EVERY_MS = 2_000;
const LOOKS_MAX = 300;

export type Connecting = 'waiting' | 'refused';

export class FormSession {
  readonly form = signal<ConfigurationForm | undefined>(undefined);
  readonly failure = signal<FormFailure | undefined>(undefined);
  readonly state = signal<'idle' | 'saving' | 'saved'>('idle');
  /** Fields that wait for a connection. */
  readonly connecting = signal<ReadonlyMap<string, Connecting>>(new Map());
  /** Whether the person has tried to save: before, what is missing is no mistake yet. */
  readonly isTried = signal(false);
  readonly #drafts = signal<Drafts>(EMPTY);
  /** Sent, and not answered. */
  readonly #sent = signal<Drafts>(EMPTY);
  readonly #transport: FormTransport;
  readonly #words: ConfigurationWords;
  readonly #saved: (form: ConfigurationForm) => void;
  readonly #end = new AbortController();
  #etag: string | undefined;
  #look: ReturnType<typeof setTimeout> | undefined;

  readonly isDirty = computed(() => this.#drafts.value.size > 0);
  /** Fields that were changed here and elsewhere. */
  readonly conflicts = computed(() => {
    const fields = this.form.value?.properties ?? [];
    return new Map(
      fields.flatMap((field) => {
        const draft = this.#drafts.value.get(field.name);
        const isChanged = draft !== undefined && !isEqual(draft.from, field.value);
        return isChanged && !isEqual(draft.value, field.value) ? [[field.name, field.value] as const] : [];
      }),
    );
  });
  /** Field → what is wrong with it. */
  readonly errors = computed(() => {
    const { properties = [], problems = [] } = this.form.value ?? {};
    const errors = new Map<string, string>();
    for (const field of properties) {
      const draft = this.#drafts.value.get(field.name);
      if (draft?.fault !== undefined) errors.set(field.name, draft.fault);
      const problem = problems.find(({ property }) => property === field.name);
      const isTouched = draft !== undefined || this.#sent.value.has(field.name);
      if (problem === undefined || isTouched) continue;
      const title = titleOf(field);
      const sentence = problem.message.replaceAll(`"${field.name}"`, title);
      errors.set(field.name, this.isUnset(field) ? `${title} ${this.#words.isMissing}` : sentence);
    }
    return errors;
  });

  constructor(
    transport: FormTransport,
    words: ConfigurationWords,
    saved: (form: ConfigurationForm) => void = () => undefined,
  ) {
    this.#transport = transport;
    this.#words = words;
    this.#saved = saved;
  }

  end(): void {
    this.#end.abort();
    clearTimeout(this.#look);
  }

  ask(request: FormRequest, signal: AbortSignal = this.#end.signal): Promise<FormAnswer> {
    return this.#transport(request, signal);
  }

  /** Reads the form; what was entered stays. */
  async load(): Promise<void> {
    const answer = await this.#try({ method: 'GET', path: '/configuration' });
    if (answer?.status === 200) {
      this.failure.value = undefined;
      this.#take(answer);
    } else if (answer !== undefined) this.failure.value = this.#failureOf(answer);
  }

  /** The value of a field as it is shown. */
  value(field: FormField): unknown {
    const draft = this.#drafts.value.get(field.name) ?? this.#sent.value.get(field.name);
    return draft === undefined ? field.value : draft.value;
  }

  isUnset(field: FormField): boolean {
    const { sealed, isSet } = field;
    return sealed ? isSet !== true : (this.value(field) ?? null) === null;
  }

  /** @param fault why what was entered is no value */
  enter(field: FormField, value: unknown, fault?: string): void {
    const drafts = new Map(this.#drafts.value);
    const from = drafts.get(field.name)?.from ?? this.#sent.value.get(field.name)?.value ?? field.value;
    if (fault === undefined && isEqual(value, from)) drafts.delete(field.name);
    else drafts.set(field.name, { value, from, ...(fault !== undefined && { fault }) });
    batch(() => {
      this.#drafts.value = drafts;
      this.state.value = 'idle';
    });
  }

  /** Ends a conflict by one of the two values. */
  settle(field: FormField, whose: 'mine' | 'theirs'): void {
    const drafts = new Map(this.#drafts.value);
    const draft = drafts.get(field.name);
    if (whose === 'theirs') drafts.delete(field.name);
    else if (draft !== undefined) drafts.set(field.name, { ...draft, from: field.value });
    this.#drafts.value = drafts;
  }

  /** Saves what was entered. @returns whether every field is as the person wants it */
  async save(): Promise<boolean> {
    if (this.state.value === 'saving') return false;
    const drafts = this.#drafts.value;
    this.isTried.value = true;
    if (this.conflicts.value.size > 0 || [...drafts.values()].some(({ fault }) => fault !== undefined))
      return false;
    batch(() => {
      this.#sent.value = drafts;
      this.#drafts.value = EMPTY;
      this.state.value = 'saving';
      this.failure.value = undefined;
    });
    const configuration = Object.fromEntries([...drafts].map(([name, { value }]) => [name, value ?? null]));
    return this.#send(configuration, 1);
  }

  async #send(configuration: object, attempt: number): Promise<boolean> {
    const ifMatch = this.#etag;
    const answer = await this.#try({
      ...{ method: 'PATCH', path: '/configuration', body: { configuration } },
      ...(ifMatch !== undefined && { ifMatch }),
    });
    if (answer?.status === 200) {
      batch(() => {
        this.#sent.value = EMPTY;
        this.#take(answer);
        this.state.value = 'saved';
      });
      if (this.form.value !== undefined) this.#saved(this.form.value);
      return this.errors.value.size === 0;
    }
    this.#restore();
    if (answer?.status === 412 && attempt < ATTEMPTS_MAX) {
      await this.load();
      if (this.conflicts.value.size > 0 || this.failure.value !== undefined) return false;
      batch(() => {
        const drafts = this.#drafts.value;
        const fields = this.form.value?.properties ?? [];
        const current = (name: string) => fields.find((field) => field.name === name)?.value;
        this.#sent.value = new Map([...drafts].map(([name, one]) => [name, { ...one, from: current(name) }]));
        this.#drafts.value = EMPTY;
        this.state.value = 'saving';
      });
      return this.#send(configuration, attempt + 1);
    }
    if (answer !== undefined) this.#refuse(answer);
    return false;
  }

  /** What was sent is again what was entered, unless that was changed since. */
  #restore(): void {
    batch(() => {
      this.#drafts.value = new Map([...this.#sent.value, ...this.#drafts.value]);
      this.#sent.value = EMPTY;
      this.state.value = 'idle';
    });
  }

  /** Shows each problem of an answer at its field. */
  #refuse(answer: FormAnswer): void {
    const problems = problemsOf(answer.body);
    const fields = this.form.value?.properties ?? [];
    const drafts = new Map(this.#drafts.value);
    for (const field of fields) {
      const problem = problems.find(({ property }) => property === field.name);
      if (problem === undefined) continue;
      const draft = drafts.get(field.name) ?? { value: field.value, from: field.value };
      const title = titleOf(field);
      const isMissing = (draft.value ?? null) === null;
      const fault = isMissing
        ? `${title} ${this.#words.isMissing}`
        : problem.message.replaceAll(`"${field.name}"`, title);
      drafts.set(field.name, { ...draft, fault });
    }
    batch(() => {
      this.#drafts.value = drafts;
      const isShown = [...drafts.values()].some(({ fault }) => fault !== undefined);
      this.failure.value = isShown ? { message: this.#words.notSaved } : this.#failureOf(answer);
    });
  }

  /** Takes the credentials of a connection away. */
  async disconnect(field: FormField): Promise<void> {
    this.state.value = 'saving';
    const body = { configuration: { [field.name]: null } };
    const answer = await this.#try({ method: 'PATCH', path: '/configuration', body });
    this.state.value = 'idle';
    if (answer?.status === 200) this.#take(answer);
    else if (answer !== undefined) this.failure.value = this.#failureOf(answer);
  }

  /** The person has opened the page of a provider: looks for its end. */
  connect(field: FormField): void {
    this.#mark(field.name, 'waiting');
    clearTimeout(this.#look);
    this.#lookAgain(field.name, connectionOf(field), LOOKS_MAX);
  }

  #lookAgain(name: string, before: string, left: number): void {
    this.#look = setTimeout(async () => {
      if (this.#end.signal.aborted || left === 0) return;
      if (await this.#hasConnected(name, before)) return;
      this.#lookAgain(name, before, left - 1);
    }, LOOK_EVERY_MS);
  }

  /** The person is back in this page: a connection that is not made then was refused, or given up. */
  async back(): Promise<void> {
    const waiting = [...this.connecting.value].filter(([, state]) => state === 'waiting');
    for (const [name] of waiting) {
      const field = this.form.value?.properties?.find((one) => one.name === name);
      if (field !== undefined && !(await this.#hasConnected(name, connectionOf(field))))
        this.#mark(name, 'refused');
    }
  }

  async #hasConnected(name: string, before: string): Promise<boolean> {
    await this.load();
    const field = this.form.value?.properties?.find((one) => one.name === name);
    if (field === undefined || field.isSet === false || connectionOf(field) === before) return false;
    this.#mark(name, undefined);
    clearTimeout(this.#look);
    return true;
  }

  #mark(name: string, state: Connecting | undefined): void {
    const connecting = new Map(this.connecting.value);
    if (state === undefined) connecting.delete(name);
    else connecting.set(name, state);
    this.connecting.value = connecting;
  }

  #take({ body, etag }: FormAnswer): void {
    this.#etag = etag ?? undefined;
    this.form.value = formOf(body);
  }

  /** @returns undefined where there was no answer, which is shown */
  async #try(request: FormRequest): Promise<FormAnswer | undefined> {
    try {
      return await this.ask(request);
    } catch {
      if (this.#end.signal.aborted) return undefined;
      if (this.state.value === 'saving') this.#restore();
      this.failure.value = { message: this.#words.unreachable };
      return undefined;
    }
  }

  #failureOf({ body }: FormAnswer): FormFailure {
    const error = isObject(body) && isObject(body['error']) ? body['error'] : {};
    const { message, requestId } = error;
    return {
      message: typeof message === 'string' ? message.slice(0, 500) : this.#words.failed,
      ...(typeof requestId === 'string' && { requestId: requestId.slice(0, 64) }),
    };
  }
}

/** Differs after each end of a connection. */
const connectionOf = ({ isSet, isLost, account, value }: FormField): string =>
  JSON.stringify([isSet, isLost, account, value]);

const TITLE_CHARS_MAX = 200;

/** Title of the manifest; without one, its name in words. */
export function titleOf({ name, title }: FormField): string {
  if (title !== undefined && title.trim() !== '') return title.slice(0, TITLE_CHARS_MAX);
  const words = name.replaceAll(/[_-]+/g, ' ').trim();
  return words === '' ? name : words[0]?.toUpperCase() + words.slice(1);
}

/** Fields and choices of a form at most: as many as a manifest may have. */
const FIELDS_MAX = 100;

/** A form, bounded. An answer of another shape has no fields. */
function formOf(body: unknown): ConfigurationForm {
  const form = (isObject(body) ? body : {}) as unknown as ConfigurationForm;
  const properties = Array.isArray(form.properties) ? form.properties.slice(0, FIELDS_MAX) : [];
  return { ...form, properties };
}

function problemsOf(body: unknown): { property: string; message: string }[] {
  const error = isObject(body) && isObject(body['error']) ? body['error'] : {};
  const problems = Array.isArray(error['problems']) ? error['problems'] : [];
  return problems.filter(
    (one) => isObject(one) && typeof one['property'] === 'string' && typeof one['message'] === 'string',
  );
}
