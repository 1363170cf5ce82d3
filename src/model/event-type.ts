/**
 * Event types that the product declares (`docs/contract/events.md#declared-types`), beside those of
 * the specification, which exist always: their names, what is declared of one, and the catalog of
 * all of them by which events are posted, subscribed to and selected.
 *
 * Pure. What is stored, and who may change it, is in `store/event-types.ts`.
 */
import Type from 'typebox';
import { compileSchema, type DataCheck, type JsonSchema, type SchemaProblem } from './event-schema.ts';
import { EVENT_TYPE } from './identifiers.ts';
import { LEVELS, type Level } from './level.ts';
import { HANDLED_EVENTS, INTERNAL_SCOPES, SCOPE_MEANINGS } from './manifest/scope.ts';
import { NOTICE_TYPES } from './product-notice.ts';
import { schemaCheck } from './schema-check.ts';
import { faultText } from './schema-fault.ts';

const TYPE_CHARS_MAX = 128;
/** Name of a scope of the product. */
export const DECLARED_SCOPE = /^(?=.{3,64}$)[a-z][a-z0-9_-]*(?::[a-z0-9_-]+)+$/;
const TYPE_WANTED =
  'lower-case letters, digits and "_" in groups joined by single dots, at most 128 characters';
const SCOPE_WANTED = 'lower-case words joined by ":", as invoices:read, at most 64 characters';

const TITLE_CHARS_MAX = 255;
const DESCRIPTION_CHARS_MAX = 2_048;
const SAMPLE_BYTES_MAX = 64 * 1024;

/** Types that the specification and Annex define. No declared type ever has such a name. */
const DEFINED: ReadonlySet<string> = new Set([...HANDLED_EVENTS, ...NOTICE_TYPES, 'fetch', 'call']);
/** Further names of Annex's own events begin so. */
const DEFINED_BEGINNING = /^annex\./;

/** Whether a type of events is one that products may declare, by its name. */
export const isDeclarable = (type: string): boolean =>
  EVENT_TYPE.test(type) && !DEFINED.has(type) && !DEFINED_BEGINNING.test(type);

/** The patterns that select a declared type, the narrowest first. */
export function patternsOf(type: string): readonly string[] {
  const groups = type.split('.').slice(0, -1);
  return [...groups.map((_, index) => `${groups.slice(0, index + 1).join('.')}.*`).reverse(), '*'];
}

/** Whether names and patterns have a type. Patterns select declared types only. */
export const includesType = (names: ReadonlySet<unknown>, type: string): boolean =>
  names.has(type) || (!DEFINED.has(type) && patternsOf(type).some((pattern) => names.has(pattern)));

const Scope = Type.Object(
  {
    name: Type.String({ description: 'Such as `invoices:read`. Manifests request it.' }),
    description: Type.Optional(
      Type.String({ maxLength: DESCRIPTION_CHARS_MAX, description: 'What it allows, for who installs.' }),
    ),
  },
  { additionalProperties: false, title: 'EventScope' },
);

/** What the operator declares of a type. */
export const EVENT_TYPE_MEMBERS = {
  title: Type.String({
    minLength: 1,
    maxLength: TITLE_CHARS_MAX,
    pattern: '\\S',
    description: 'As users see it: "Invoice paid".',
  }),
  description: Type.Optional(
    Type.String({ maxLength: DESCRIPTION_CHARS_MAX, description: 'When it happens, and what it says.' }),
  ),
  level: Type.Enum([...LEVELS], { description: 'Where it happens.' }),
  schema: Type.Optional(
    Type.Record(Type.String(), Type.Unknown(), {
      description: 'JSON Schema of `data`, draft 2020-12; any object by default.',
    }),
  ),
  scope: Type.Optional(Scope),
  webhook: Type.Optional(
    Type.Boolean({ description: 'Whether users may select it for webhooks; `false` by default.' }),
  ),
  sample: Type.Optional(
    Type.Unknown({ description: 'An example of `data`, for tests and documentation. It fits the schema.' }),
  ),
  deprecated: Type.Optional(
    Type.Boolean({ description: 'Still posted, but no longer offered to who does not use it yet.' }),
  ),
};
const Declaration = Type.Object(EVENT_TYPE_MEMBERS, {
  additionalProperties: false,
  title: 'EventTypeToDeclare',
  description: 'An event type of the product.',
});
export const EVENT_TYPE_DECLARATION = Declaration;
const checkDeclaration = schemaCheck(Declaration);

/** A declaration with its defaults. */
export interface EventTypeDeclaration {
  readonly title: string;
  readonly description?: string;
  readonly level: Level;
  readonly schema: JsonSchema;
  readonly scope?: { readonly name: string; readonly description?: string };
  readonly webhook: boolean;
  readonly sample?: unknown;
  readonly deprecated: boolean;
}

/** One thing wrong with a declaration. */
export interface DeclarationProblem {
  /** Members from the declaration to what is wrong. */
  readonly path: readonly string[];
  /** A full sentence. */
  readonly message: string;
}

export type ReadDeclaration =
  | { readonly ok: true; readonly declaration: EventTypeDeclaration; readonly check: DataCheck }
  | { readonly ok: false; readonly problems: readonly DeclarationProblem[] };

/** Checks the name of a type. @returns a sentence with its fault, or undefined */
export function eventTypeFault(type: string): string | undefined {
  const shown = type.length <= TYPE_CHARS_MAX && /^[\w.:-]*$/.test(type) ? `"${type}"` : 'The name';
  if (!EVENT_TYPE.test(type)) return `${shown} is no name of an event type: it must be ${TYPE_WANTED}.`;
  if (isDeclarable(type)) return undefined;
  return `"${type}" is a type that Annex defines: it exists always, and cannot be declared.`;
}

/** Checks a declaration, and compiles its schema. */
export function readDeclaration(value: unknown): ReadDeclaration {
  const faults = checkDeclaration(value);
  if (faults.length > 0)
    return refused(faults[0]?.instancePath.split('/').slice(1) ?? [], faultText('declaration', faults));
  const given = value as Type.Static<typeof Declaration>;
  const { title, description, level, schema = { type: 'object' }, scope, sample } = given;
  const scopeFault = scope && faultOfScope(scope);
  if (scopeFault !== undefined) return refused(['scope', 'name'], scopeFault);
  const compiled = compileSchema(schema);
  if (!compiled.ok)
    return {
      ok: false,
      problems: compiled.problems.map(({ pointer, message }) => ({
        path: ['schema', ...segmentsOf(pointer)],
        message: `schema${pointer} ${message}.`,
      })),
    };
  if (sample !== undefined && Buffer.byteLength(JSON.stringify(sample)) > SAMPLE_BYTES_MAX)
    return refused(['sample'], `sample has more than ${SAMPLE_BYTES_MAX} bytes.`);
  const unfit = sample === undefined ? [] : compiled.check(sample);
  if (unfit.length > 0)
    return {
      ok: false,
      problems: unfit.map(({ pointer, message }) => ({
        path: ['sample', ...segmentsOf(pointer)],
        message: `sample${pointer} ${message}: the sample must fit the schema.`,
      })),
    };
  const declaration = {
    ...{ title, level, schema, webhook: given.webhook ?? false, deprecated: given.deprecated ?? false },
    ...(description !== undefined && { description }),
    ...(scope && { scope }),
    ...(sample !== undefined && { sample }),
  };
  return { ok: true, declaration, check: compiled.check };
}

const refused = (path: readonly string[], message: string): ReadDeclaration => ({
  ok: false,
  problems: [{ path, message }],
});

function faultOfScope({ name, description }: Type.Static<typeof Scope>): string | undefined {
  if (INTERNAL_SCOPES.some((internal) => internal === name))
    return `scope.name "${name}" is a scope for internal use.`;
  if (Object.hasOwn(SCOPE_MEANINGS, name))
    return description === undefined
      ? undefined
      : `scope.name "${name}" is a scope that exists always: leave out its description.`;
  return DECLARED_SCOPE.test(name) ? undefined : `scope.name must be ${SCOPE_WANTED}.`;
}

const segmentsOf = (pointer: string): string[] =>
  pointer
    .split('/')
    .slice(1)
    .map((segment) => segment.replaceAll('~1', '/').replaceAll('~0', '~'));

/** A declared type. */
export interface EventType extends EventTypeDeclaration {
  readonly name: string;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  readonly updatedAt: number;
  /** Checks the data of an event; compiled when it is first used. */
  readonly check: DataCheck;
}

/** A type as it is stored, whose schema is compiled when it is first used. */
export function storedEventType(
  name: string,
  declaration: EventTypeDeclaration,
  times: Pick<EventType, 'createdAt' | 'updatedAt'>,
): EventType {
  let check: DataCheck | undefined;
  const compiled = (): DataCheck => {
    const read = compileSchema(declaration.schema);
    if (!read.ok) throw new Error(`The stored schema of the event type "${name}" cannot be compiled.`);
    return read.check;
  };
  return {
    name,
    ...declaration,
    ...times,
    check: (data) => {
      check ??= compiled();
      return check(data);
    },
  };
}

/** What of a declared type decides who receives an event. */
export type DeclaredReach = Pick<EventType, 'webhook'> & { readonly scope?: string };

export const reachOf = ({ webhook, scope }: EventType): DeclaredReach => ({
  webhook,
  ...(scope && { scope: scope.name }),
});

/** An event of a declared type with its sample, as handlers and receivers get it. */
export const declaredExample = (
  { name, level, sample = {} }: Pick<EventType, 'name' | 'level' | 'sample'>,
  event: {
    readonly eventId: string;
    readonly organization: string;
    readonly place: string;
    readonly createdAt: number;
  },
): Readonly<Record<string, unknown>> => ({
  eventId: event.eventId,
  type: name,
  organizationId: event.organization,
  ...(level === 'space' && { spaceId: event.place }),
  ...(level === 'site' && { siteId: event.place }),
  createdAt: new Date(event.createdAt).toISOString(),
  data: sample,
});

/** A choice of event types in the settings of a webhook. */
export interface EventTypeChoice {
  /** Name of a type, or a pattern. */
  readonly value: string;
  readonly title: string;
  readonly deprecated?: true;
}

/** All declared types. */
export class EventCatalog {
  readonly #types: ReadonlyMap<string, EventType>;

  constructor(types: readonly EventType[]) {
    this.#types = new Map(
      [...types].sort((one, other) => (one.name < other.name ? -1 : 1)).map((type) => [type.name, type]),
    );
  }

  get(name: string): EventType | undefined {
    return this.#types.get(name);
  }

  /** By name. */
  get all(): readonly EventType[] {
    return [...this.#types.values()];
  }

  get names(): readonly string[] {
    return [...this.#types.keys()];
  }

  /** Scopes of the product: name → what it allows. */
  get scopes(): Readonly<Record<string, string>> {
    const scopes = new Map<string, string>();
    for (const { scope } of this.#types.values())
      if (scope !== undefined && !Object.hasOwn(SCOPE_MEANINGS, scope.name))
        scopes.set(scope.name, scopes.get(scope.name) || (scope.description ?? ''));
    return Object.fromEntries(scopes);
  }

  /** What the types add to the rules of manifests: nothing where there are none. */
  get manifestRules(): {
    readonly scopes?: Readonly<Record<string, string>>;
    readonly webhookTypes?: Readonly<Record<Level, readonly string[]>>;
  } {
    if (this.#types.size === 0) return {};
    const typesAt = (level: Level) =>
      this.all.flatMap((type) => (type.webhook && type.level === level ? [type.name] : []));
    const webhookTypes = {
      organization: typesAt('organization'),
      space: typesAt('space'),
      site: typesAt('site'),
    };
    return { scopes: this.scopes, webhookTypes };
  }

  /**
   * What webhooks of a level may select among `offered`, names and patterns of a manifest: declared
   * types that it names or whose patterns it has, then patterns of several of them.
   */
  choices(level: Level, offered: ReadonlySet<string>): readonly EventTypeChoice[] {
    const types = this.all.filter(
      (type) => type.webhook && type.level === level && includesType(offered, type.name),
    );
    const patterns = new Set(types.flatMap(({ name }) => patternsOf(name).slice(0, -1)));
    return [
      ...types.map(({ name, title, deprecated }) => ({
        ...{ value: name, title },
        ...(deprecated && { deprecated: true as const }),
      })),
      ...[...patterns].sort().map((value) => ({ value, title: `All of ${value}` })),
    ];
  }
}

export const NO_EVENT_TYPES = new EventCatalog([]);

/** @returns what the text of an unfit event says, with a pointer into its data for each problem */
export const dataFaultText = (at: string, problems: readonly SchemaProblem[]): string =>
  `${problems.map(({ pointer, message }) => `${at}.data${pointer} ${message}`).join('; ')}.`;
