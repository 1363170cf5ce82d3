/**
 * What a schema finds wrong with a value, in words that name the field: `body.externalIds[0] must be string`.
 *
 * Whoever sent the value reads this. A name is repeated where it looks like one; a value never is: it may be a secret that was put
 * into the wrong field.
 */
import { ORGANIZATION_ID } from './identifiers.ts';

/** What whoever has sent the value makes more of than of a pattern. */
const PATTERNS: ReadonlyMap<string, string> = new Map([
  [ORGANIZATION_ID.source, '1 to 128 letters, digits, ".", "_" or "-", a letter or a digit first'],
  ['^[A-Za-z0-9_-]+$', 'letters, digits, "_" or "-"'],
  ['^[A-Za-z0-9_.-]+$', 'letters, digits, ".", "_" or "-"'],
  ['^[A-Za-z0-9_-]{1,64}$', '1 to 64 letters, digits, "_" or "-"'],
  ['^[A-Za-z0-9_-]{43}$', '43 letters, digits, "_" or "-"'],
  ['^[\\x21-\\x7e]*$', 'printable ASCII characters, without spaces'],
  ['^[\\x21-\\x7e]{1,255}$', '1 to 255 printable ASCII characters, without spaces'],
  ['^[^\\u0000-\\u001f\\u007f\\ud800-\\udfff]+$', 'text without control characters'],
]);

/** As TypeBox tells it. */
export interface SchemaFault {
  readonly keyword: string;
  readonly instancePath: string;
  readonly params: object;
  readonly message: string;
}

/** @param part what the value is called: `body`, `query`, `body.events[3]` */
export function faultText(part: string, faults: readonly SchemaFault[]): string {
  // A member too many is told twice: as a value that nothing allows, and by name. The name is what helps.
  // A text that is too long is told by its pattern, whose words have its length.
  const patterns = new Set(
    faults.flatMap(({ keyword, instancePath }) => (keyword === 'pattern' ? [instancePath] : [])),
  );
  const told = faults.filter(
    ({ keyword, instancePath }) =>
      keyword !== 'boolean' && !(keyword === 'maxLength' && patterns.has(instancePath)),
  );
  const texts = (told.length > 0 ? told : faults).map(
    (fault) => `${part}${pathText(fault.instancePath)} ${messageOf(fault)}`,
  );
  return `${texts.join('; ')}.`;
}

/** `/externalIds/0` as one writes it. Of a record, names are whatever the sender has made up, and as long. */
function pathText(instancePath: string): string {
  const segments = instancePath.split('/').slice(1);
  const texts = segments.map((name) =>
    /^\d{1,9}$/.test(name) ? `[${name}]` : `.${isName(name) ? name : '…'}`,
  );
  return texts.join('');
}

function messageOf({ keyword, params, message }: SchemaFault): string {
  if ('additionalProperties' in params && Array.isArray(params.additionalProperties)) {
    return `has unknown members: ${params.additionalProperties.slice(0, 8).map(nameIn).join(', ').slice(0, 200)}`;
  }
  if ('allowedValues' in params && Array.isArray(params.allowedValues)) {
    return `must be one of ${params.allowedValues.join(', ')}`;
  }
  if ('format' in params && params.format === 'date-time')
    return 'must be a time, as "2026-01-31T09:00:00Z" is';
  const words = 'pattern' in params ? PATTERNS.get(String(params.pattern)) : undefined;
  if (keyword === 'pattern' && words !== undefined) return `must be ${words}`;
  return message;
}

/** A name that may be repeated. What looks like none may be a value, put where its name belongs. */
export const nameIn = (name: unknown): string => (isName(name) ? name : 'one whose name is none');

const isName = (name: unknown): name is string => typeof name === 'string' && /^[\w$.-]{1,64}$/.test(name);
