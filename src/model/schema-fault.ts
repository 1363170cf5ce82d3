/**
 * Words the faults of a schema check, with the path of each field: `body.externalIds[0] must be
 * string`.
 *
 * The sender reads the text. A member's name is repeated only if it has the form of a name; a value
 * never is, because it may be a secret in the wrong field.
 */
import { EVENT_TYPE, ORGANIZATION_ID, SUBDOMAIN } from './identifiers.ts';
import { BASIC_USER, BEARER, HEADER_NAME, HEADER_VALUE } from './own-headers.ts';

/** Pattern → a description that is easier to read. */
const PATTERNS: ReadonlyMap<string, string> = new Map([
  [ORGANIZATION_ID.source, '1 to 128 letters, digits, ".", "_" or "-", a letter or a digit first'],
  [
    SUBDOMAIN.source,
    '1 to 63 lower-case letters, digits or "-", a letter or a digit at the beginning and the end',
  ],
  ['^[A-Za-z0-9_-]+$', 'letters, digits, "_" or "-"'],
  ['^[A-Za-z0-9_.-]+$', 'letters, digits, ".", "_" or "-"'],
  ['^[A-Za-z0-9_-]{1,64}$', '1 to 64 letters, digits, "_" or "-"'],
  ['^[A-Za-z0-9_-]{43}$', '43 letters, digits, "_" or "-"'],
  ['^[\\x21-\\x7e]*$', 'printable ASCII characters, without spaces'],
  ['^[\\x21-\\x7e]{1,255}$', '1 to 255 printable ASCII characters, without spaces'],
  ['^[^\\u0000-\\u001f\\u007f\\ud800-\\udfff]+$', 'text without control characters'],
  ['^[^\\u0000-\\u001f\\u007f\\ud800-\\udfff]*$', 'text without control characters'],
  ['\\S', 'text that is not blank'],
  ['^https?://[!-~]+$', 'a URL with http or https'],
  ['^#[0-9a-fA-F]{6}$', 'a colour, such as #3451cf'],
  [
    '^data:image/(png|jpeg|webp|svg\\+xml);base64,[A-Za-z0-9+/]+={0,2}$',
    'a data: URL of PNG, JPEG, WebP or SVG',
  ],
  ['^https?://[a-z0-9.-]{1,253}(:[0-9]{1,5})?$', 'an origin, such as https://app.example.com'],
  [HEADER_NAME.source, "letters, digits or !#$%&'*+-.^_`|~, as the name of a header"],
  [HEADER_VALUE.source, 'printable ASCII characters, with spaces inside, as the value of a header'],
  [BASIC_USER, 'text without colons and control characters'],
  [BEARER.source, 'a token of letters, digits or "-._~+/", with "=" at its end alone'],
  [
    EVENT_TYPE.source,
    'lower-case letters, digits or "_" in groups joined by single dots, at most 128 characters',
  ],
]);

/** A fault in the form that TypeBox reports. */
export interface SchemaFault {
  readonly keyword: string;
  readonly instancePath: string;
  readonly params: object;
  readonly message: string;
}

/** @param part what the value is called: `body`, `query`, `body.events[3]` */
export function faultText(part: string, faults: readonly SchemaFault[]): string {
  // TypeBox reports an undeclared member twice: as a value that nothing allows, and by name. Only
  // the name helps. A text that is too long is described by its pattern, which states the length.
  const patterns = new Set(
    faults.flatMap(({ keyword, instancePath }) => (keyword === 'pattern' ? [instancePath] : [])),
  );
  const useful = faults.filter(
    ({ keyword, instancePath }) =>
      keyword !== 'boolean' && !(keyword === 'maxLength' && patterns.has(instancePath)),
  );
  const texts = (useful.length > 0 ? useful : faults).map(
    (fault) => `${part}${pathText(fault.instancePath)} ${messageOf(fault)}`,
  );
  return `${texts.join('; ')}.`;
}

/**
 * `/externalIds/0` as `.externalIds[0]`. Names in a record are chosen by the sender and of any
 * length, so only those with the form of a name are shown.
 */
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

/**
 * A name that may be repeated. A text without the form of a name may be a value in the place of a
 * name.
 */
export const nameIn = (name: unknown): string => (isName(name) ? name : 'one with an invalid name');

const isName = (name: unknown): name is string => typeof name === 'string' && /^[\w$.-]{1,64}$/.test(name);
