/**
 * The JSON Schema of an event type (`docs/contract/events.md#schemas`): what of draft 2020-12 it
 * may use, and the check of an event's data that ajv compiles from it.
 *
 * The check runs in the host, for data that whoever posts events writes. Attack: data that takes
 * the check minutes, and so stalls the event loop. Every subschema that is evaluated, every member
 * and item that it looks at and every character that a pattern reads is a step; beyond a number of
 * steps the check ends, and the data is refused. Patterns take linear time (`linear-pattern.ts`),
 * `uniqueItems` compares texts, and the list of problems is made from few steps. The size, the
 * depth and the number of subschemas bound what ajv compiles, and references stay inside the
 * schema.
 */
import type { ErrorObject } from 'ajv';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { canonicalJson } from './canonical-json.ts';
import { linearPattern, PatternFault } from './linear-pattern.ts';
import { nearest } from './spelling-hint.ts';

/** Maximum bytes of a schema, as JSON. */
export const SCHEMA_BYTES_MAX = 32 * 1024;
/** Maximum subschemas of a schema. */
const SUBSCHEMAS_MAX = 300;
/** Maximum nesting of subschemas: the walk and ajv are recursive. */
const SCHEMA_DEPTH_MAX = 16;
/** Steps of one check: some 50 ms at most. An event of many small values takes half of them. */
const STEPS_MAX = 500_000;
/** Steps of the check that lists problems: each step may be a problem. */
const LISTING_STEPS_MAX = 20_000;
/** Maximum problems listed for one value. */
const PROBLEMS_MAX = 20;
/** Characters of a text that cost a step. */
const CHARS_PER_STEP = 4;
const CHARS_SHOWN = 100;
const CHOICES_SHOWN = 20;

/** One thing wrong with a value. */
export interface SchemaProblem {
  /** JSON pointer (RFC 6901) into the value; empty for the value itself. */
  readonly pointer: string;
  /** A clause that follows the pointer: "must be a number". Never repeats a value that was sent. */
  readonly message: string;
}

/** @returns the problems of a value, some at most; empty where it fits */
export type DataCheck = (data: unknown) => readonly SchemaProblem[];

export type JsonSchema = Readonly<Record<string, unknown>>;

/** How the value of a keyword contains subschemas. */
type Holds = 'schema' | 'list' | 'map' | 'nothing';

const KEYWORDS: ReadonlyMap<string, Holds> = new Map<string, Holds>([
  ...(['type', 'enum', 'const', 'required', 'dependentRequired', 'uniqueItems'] as const).map(nothing),
  ...(['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'] as const).map(nothing),
  ...(['minLength', 'maxLength', 'minItems', 'maxItems', 'minProperties', 'maxProperties'] as const).map(
    nothing,
  ),
  ...(['minContains', 'maxContains', 'pattern', 'format', '$ref', '$schema', '$comment'] as const).map(
    nothing,
  ),
  ...(['title', 'description', 'default', 'examples', 'deprecated', 'readOnly', 'writeOnly'] as const).map(
    nothing,
  ),
  ...(
    ['additionalProperties', 'propertyNames', 'items', 'contains', 'not', 'if', 'then', 'else'] as const
  ).map((name) => [name, 'schema'] as const),
  ...(['allOf', 'anyOf', 'oneOf', 'prefixItems'] as const).map((name) => [name, 'list'] as const),
  ...(['properties', 'patternProperties', 'dependentSchemas', '$defs', 'definitions'] as const).map(
    (name) => [name, 'map'] as const,
  ),
]);
function nothing(name: string): readonly [string, Holds] {
  return [name, 'nothing'];
}

const DIALECT = 'https://json-schema.org/draft/2020-12/schema';
const REFERENCE = /^#(?:\/(?:\$defs|definitions)\/[A-Za-z0-9_.-]{1,64})?$/;
/** Counts the steps of a subschema; its value is the weight of the keywords beside it. */
const STEPS = 'x-annex-steps';

/** Formats, each checked in linear time. */
const FORMATS: Readonly<Record<string, RegExp | ((text: string) => boolean)>> = {
  'date-time': (text) =>
    /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:[Zz]|[+-]\d\d:\d\d)$/.test(text) &&
    !Number.isNaN(Date.parse(text)),
  date: (text) =>
    /^\d{4}-\d\d-\d\d$/.test(text) &&
    !Number.isNaN(Date.parse(text)) &&
    new Date(text).toISOString().startsWith(text),
  time: /^(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?(?:[Zz]|[+-]\d\d:\d\d)$/,
  email: (text) => text.length <= 320 && /^[^\s@<>"(),:;[\]\\]{1,64}@[A-Za-z0-9.-]{1,253}$/.test(text),
  uri: (text) => text.length <= 8_192 && /^[a-z][a-z0-9+.-]*:/i.test(text) && URL.canParse(text),
  uuid: /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i,
  hostname: (text) => text.length <= 253 && /^[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?$/i.test(text),
  ipv4: /^(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)$/,
  ipv6: (text) => text.length <= 45 && text.includes(':') && URL.canParse(`http://[${text}]/`),
};

export type CompiledSchema =
  | { readonly ok: true; readonly check: DataCheck }
  | { readonly ok: false; readonly problems: readonly SchemaProblem[] };

/** Checks a schema and compiles it. @returns the check, or the problems of the schema */
export function compileSchema(schema: unknown): CompiledSchema {
  const bytes = Buffer.byteLength(JSON.stringify(schema) ?? '');
  if (bytes > SCHEMA_BYTES_MAX)
    return refused('', `has ${bytes} bytes; at most ${SCHEMA_BYTES_MAX} are allowed`);
  const walk = new SchemaWalk();
  const counted = walk.counted(schema, '', 0);
  if (walk.problems.length > 0) return { ok: false, problems: walk.problems };
  const misused = keywordProblems(schema);
  if (misused.length > 0) return { ok: false, problems: misused };
  try {
    const check = new CountedCheck(counted, STEPS_MAX, false);
    return { ok: true, check: lazilyListed(check, counted) };
  } catch (cause) {
    if (cause instanceof PatternFault) return refused('', `has a pattern that ${cause.message}`);
    return refused('', `is no JSON Schema that can be used: ${wordOf(cause)}`);
  }
}

let metaSchema: Ajv2020 | undefined;

/** The values of keywords that the draft does not allow. Compiled once: it takes 100 ms. */
function keywordProblems(schema: unknown): readonly SchemaProblem[] {
  metaSchema ??= new Ajv2020({ strict: false, logger: false, messages: false, allErrors: true });
  metaSchema.validateSchema(schema as object);
  return listed(metaSchema.errors ?? []);
}

/**
 * Lists the problems of a value that does not fit by a second check, compiled when it is needed.
 */
function lazilyListed(check: CountedCheck, counted: unknown): DataCheck {
  let listing: CountedCheck | undefined;
  return (data) => {
    const first = check.problems(data);
    if (first.length === 0 || first === TOO_MUCH) return first;
    listing ??= new CountedCheck(counted, LISTING_STEPS_MAX, true);
    const all = listing.problems(data);
    return all === TOO_MUCH || all.length === 0 ? first : all;
  };
}

const refused = (pointer: string, message: string): CompiledSchema => ({
  ok: false,
  problems: [{ pointer, message }],
});

/** The first line: ajv quotes the schema, and no data. */
const wordOf = (cause: unknown): string =>
  (cause instanceof Error ? cause.message : String(cause)).split('\n', 1)[0]?.slice(0, 300) ?? '';

const TOO_MUCH: readonly SchemaProblem[] = [
  { pointer: '', message: 'is too large, or too deep, to be checked against the schema of its type' },
];

/** Ends a check that has used up its steps. */
class StepsUsed extends Error {}

class CountedCheck {
  readonly #validate: ValidateFunction;
  readonly #max: number;
  #left = 0;

  constructor(schema: unknown, max: number, allErrors: boolean) {
    this.#max = max;
    this.#left = max;
    const spend = (steps: number): void => {
      this.#left -= steps;
      if (this.#left < 0) throw new StepsUsed();
    };
    const regExp = Object.assign((source: string) => linearPattern(source, spend), { code: 'linearPattern' });
    const ajv = new Ajv2020({
      ...{ strict: true, strictTypes: false, strictTuples: false, strictRequired: false },
      ...{ allowUnionTypes: true, allErrors, logger: false, messages: false, formats: FORMATS },
      // The schema was checked, and has a keyword of ours.
      ...{ meta: false, validateSchema: false },
      // Otherwise a required member named `toString` is there in every object.
      ownProperties: true,
      // Attack: definitions that contain each other, written out into one function.
      inlineRefs: false,
      ...{ loopEnum: 1, loopRequired: 1, code: { optimize: false, regExp } },
    });
    ajv.removeKeyword('uniqueItems');
    ajv.addKeyword({ ...uniqueItems(spend) });
    ajv.addKeyword({
      keyword: STEPS,
      schemaType: 'number',
      errors: false,
      validate: (weight: number, data: unknown) => {
        spend(weight + widthOf(data));
        return true;
      },
    });
    this.#validate = ajv.compile(schema as object);
  }

  problems(data: unknown): readonly SchemaProblem[] {
    this.#left = this.#max;
    try {
      return this.#validate(data) ? [] : listed(this.#validate.errors ?? []);
    } catch (cause) {
      // A schema that refers to itself without going down overflows the stack.
      if (cause instanceof StepsUsed || cause instanceof RangeError) return TOO_MUCH;
      throw cause;
    }
  }
}

/** What a keyword looks at in a value, apart from its subschemas. */
function widthOf(data: unknown): number {
  if (typeof data === 'string') return Math.ceil(data.length / CHARS_PER_STEP);
  if (typeof data !== 'object' || data === null) return 0;
  return Array.isArray(data) ? data.length : Object.keys(data).length;
}

/** Attack: 100,000 different objects in a list, each compared with each. */
const uniqueItems = (spend: (steps: number) => void) => ({
  keyword: 'uniqueItems',
  type: 'array' as const,
  schemaType: 'boolean' as const,
  errors: false as const,
  validate(isUnique: boolean, items: readonly unknown[]) {
    if (!isUnique || items.length < 2) return true;
    const texts = items.map((item) => {
      const text = canonicalJson(item);
      spend(Math.ceil(text.length / CHARS_PER_STEP));
      return text;
    });
    return new Set(texts).size === items.length;
  },
});

/** A keyword of a subschema. */
interface Member {
  readonly keyword: string;
  readonly holds: Holds;
  readonly value: unknown;
  /** JSON pointer to its value. */
  readonly at: string;
  /** Of the subschema that has it. */
  readonly depth: number;
}

/** Makes a copy of a schema that counts steps, and collects its faults. */
class SchemaWalk {
  readonly problems: SchemaProblem[] = [];
  readonly #definitions = new Set(['#']);
  #subschemas = 0;

  counted(schema: unknown, pointer: string, depth: number): unknown {
    if (typeof schema === 'boolean') return depth === 0 ? this.#refuse(pointer, 'must be an object') : schema;
    if (!isObject(schema))
      return this.#refuse(
        pointer,
        depth === 0 ? 'must be an object' : 'must be a schema: an object, true or false',
      );
    this.#subschemas += 1;
    if (this.#subschemas === SUBSCHEMAS_MAX + 1)
      this.#refuse('', `has more than ${SUBSCHEMAS_MAX} subschemas`);
    if (depth === SCHEMA_DEPTH_MAX + 1)
      this.#refuse(pointer, `is nested more than ${SCHEMA_DEPTH_MAX} subschemas deep`);
    if (this.#subschemas > SUBSCHEMAS_MAX || depth > SCHEMA_DEPTH_MAX) return {};
    if (depth === 0)
      for (const key of ['$defs', 'definitions'])
        for (const name of Object.keys(isObject(schema[key]) ? schema[key] : {}))
          this.#definitions.add(`#/${key}/${name}`);
    const members: [string, unknown][] = [];
    let weight = 1;
    for (const [keyword, value] of Object.entries(schema)) {
      weight += Array.isArray(value) ? value.length : isObject(value) ? Object.keys(value).length : 0;
      const at = `${pointer}/${escaped(keyword)}`;
      const holds = KEYWORDS.get(keyword);
      if (holds === undefined) this.#refuse(at, unknownKeyword(keyword));
      else if (keyword !== '$schema')
        members.push([keyword, this.#member({ keyword, holds, value, at, depth })]);
      else if (value !== DIALECT || depth > 0)
        this.#refuse(at, `must be "${DIALECT}", at the root, or be left out`);
    }
    return Object.fromEntries([...members, [STEPS, weight]]);
  }

  #member({ keyword, holds, value, at, depth }: Member): unknown {
    if (holds === 'schema') return this.counted(value, at, depth + 1);
    if (holds === 'list') {
      if (!Array.isArray(value) || value.length === 0) return this.#refuse(at, 'must be a list of schemas');
      return value.map((one, index) => this.counted(one, `${at}/${index}`, depth + 1));
    }
    if (holds === 'map') {
      if (!isObject(value)) return this.#refuse(at, 'must be an object of schemas');
      const entries = Object.entries(value).map(([name, one]) => {
        if (name === '__proto__') this.#refuse(at, 'must have no member "__proto__"');
        if (keyword === 'patternProperties') this.#checkPattern(name, `${at}/${escaped(name)}`);
        return [name, this.counted(one, `${at}/${escaped(name)}`, depth + 1)];
      });
      return Object.fromEntries(entries);
    }
    if (keyword === 'pattern') this.#checkPattern(value, at);
    if (keyword === 'format' && !Object.hasOwn(FORMATS, String(value)))
      this.#refuse(at, `must be one of ${Object.keys(FORMATS).join(', ')}`);
    if (keyword === '$ref') this.#checkReference(value, at);
    return value;
  }

  #checkPattern(pattern: unknown, at: string): void {
    if (typeof pattern !== 'string') return void this.#refuse(at, 'must be a text');
    try {
      linearPattern(pattern);
    } catch (cause) {
      if (!(cause instanceof PatternFault)) throw cause;
      this.#refuse(at, cause.message);
    }
  }

  #checkReference(reference: unknown, at: string): void {
    if (typeof reference !== 'string' || !REFERENCE.test(reference))
      this.#refuse(at, 'must be "#", or "#/$defs/" and a name: a schema refers to nothing outside of it');
    else if (!this.#definitions.has(reference))
      this.#refuse(at, 'refers to a definition that does not exist');
  }

  #refuse(pointer: string, message: string): Record<string, never> {
    if (this.problems.length < PROBLEMS_MAX) this.problems.push({ pointer, message });
    return {};
  }
}

function unknownKeyword(keyword: string): string {
  const near = nearest(keyword, KEYWORDS.keys());
  return `is no keyword that schemas of events may use${near === undefined ? '' : `: did you mean "${near}"?`}`;
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A name as a segment of a JSON pointer. */
const escaped = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1');

/** Each place once: the keyword that fails first says enough. */
function listed(errors: readonly ErrorObject[]): readonly SchemaProblem[] {
  const problems = new Map<string, SchemaProblem>();
  for (const error of errors) {
    const pointer = pointerOf(error);
    if (!problems.has(pointer)) problems.set(pointer, { pointer, message: messageOf(error) });
    if (problems.size === PROBLEMS_MAX) break;
  }
  return [...problems.values()];
}

function pointerOf({ keyword, instancePath, params }: ErrorObject): string {
  const name = keyword === 'required' ? params['missingProperty'] : params['additionalProperty'];
  const pointer = typeof name === 'string' ? `${instancePath}/${escaped(name)}` : instancePath;
  return pointer.length > CHARS_SHOWN * 2 ? `${pointer.slice(0, CHARS_SHOWN * 2)}…` : pointer;
}

/** @returns what the schema asks for, in words */
function messageOf({ keyword, params }: ErrorObject): string {
  const limit = Number(params['limit']);
  switch (keyword) {
    case 'required':
      return 'is missing';
    case 'additionalProperties':
    case 'false schema':
      return 'is not allowed';
    case 'type':
      return `must be ${[params['type']].flat().map(typeWords).join(' or ')}`;
    case 'enum':
      return `must be one of ${shownChoices(params['allowedValues'])}`;
    case 'const':
      return `must be ${shownChoices([params['allowedValue']])}`;
    case 'pattern':
      return `must match the pattern ${shownText(String(params['pattern']))}`;
    case 'format':
      return `must be of the format ${params['format']}`;
    case 'minimum':
    case 'maximum':
    case 'exclusiveMinimum':
    case 'exclusiveMaximum':
      return `must be ${params['comparison']} ${limit}`;
    case 'multipleOf':
      return `must be a multiple of ${params['multipleOf']}`;
    case 'minLength':
      return `must have at least ${limit} characters`;
    case 'maxLength':
      return `must have at most ${limit} characters`;
    case 'minItems':
      return `must have at least ${limit} items`;
    case 'maxItems':
      return `must have at most ${limit} items`;
    case 'minProperties':
      return `must have at least ${limit} members`;
    case 'maxProperties':
      return `must have at most ${limit} members`;
    case 'uniqueItems':
      return 'must have each item once';
    default:
      return `must fit "${keyword}" of the schema`;
  }
}

const TYPE_WORDS = new Map([
  ['string', 'a string'],
  ['number', 'a number'],
  ['integer', 'a whole number'],
  ['boolean', 'true or false'],
  ['object', 'an object'],
  ['array', 'a list'],
  ['null', 'null'],
]);
const typeWords = (type: unknown): string => TYPE_WORDS.get(String(type)) ?? String(type);

/** Values of the schema, which its author wrote. */
function shownChoices(values: unknown): string {
  const all: readonly unknown[] = Array.isArray(values) ? values : [];
  const shown = all.slice(0, CHOICES_SHOWN).map((value) => shownText(JSON.stringify(value) ?? ''));
  return `${shown.join(', ')}${all.length > shown.length ? ` and ${all.length - shown.length} more` : ''}`;
}

const shownText = (text: string): string =>
  text.length > CHARS_SHOWN ? `${text.slice(0, CHARS_SHOWN)}…` : text;
