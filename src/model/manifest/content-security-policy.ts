/**
 * Reads `contentSecurityPolicy` of a manifest
 * (`docs/contract/manifest.md#content-security-policy`): what pages of the integration may load, as
 * the text of the header or as a map of directives to values.
 *
 * Attack: response splitting. The text becomes a response header; a line break in it would let an
 * author write further headers and a body. So line breaks become spaces, with a warning, and any
 * other character outside of printable ASCII is an error. The sources are not validated.
 */
import { type Field, membersSchema, optional, text } from './field.ts';
import { excerpt, type YamlFields } from './yaml-fields.ts';

/** Maximum characters of the whole text, or of one value of the map. */
const POLICY_CHARS_MAX = 4_096;

/** The directives of CSP Level 3 and of specifications that extend it. */
const DIRECTIVES = [
  ...['default-src', 'script-src', 'script-src-elem', 'script-src-attr', 'style-src', 'style-src-elem'],
  ...['style-src-attr', 'img-src', 'font-src', 'media-src', 'connect-src', 'frame-src', 'child-src'],
  ...['worker-src', 'manifest-src', 'object-src', 'fenced-frame-src', 'base-uri', 'form-action'],
  ...['frame-ancestors', 'sandbox', 'upgrade-insecure-requests', 'require-trusted-types-for'],
  ...['trusted-types', 'report-uri', 'report-to'],
] as const;

/** Printable ASCII, which a header may contain. */
const POLICY_TEXT = /^[ -~]*$/;
/** As `POLICY_TEXT`, without the characters that end a directive or a policy. */
const DIRECTIVE_VALUE = /^[ -+\--:<-~]*$/;

/** Text of the header, or directive → value; a directive without a value has the empty text. */
export type ContentSecurityPolicy = string | Readonly<Record<string, string>>;

/** The value of the header. */
export const policyHeader = (policy: ContentSecurityPolicy): string =>
  typeof policy === 'string'
    ? policy.trim()
    : Object.entries(policy)
        .map(([name, value]) => `${name} ${value}`.trim())
        .join('; ');

const HINT = 'Write it on one line, or folded with ">-".';
const TEXT_RULE = {
  pattern: POLICY_TEXT,
  wanted: 'printable ASCII on one line',
  charsMax: POLICY_CHARS_MAX,
  hint: HINT,
};

const DIRECTIVE = {
  schema: { type: 'string', pattern: DIRECTIVE_VALUE.source, maxLength: POLICY_CHARS_MAX },
  read: () => undefined,
};

export const CONTENT_SECURITY_POLICY: Field<ContentSecurityPolicy> = {
  schema: {
    anyOf: [
      text('The text of the header.', TEXT_RULE).schema,
      membersSchema(
        Object.fromEntries(DIRECTIVES.map((name) => [name, optional(DIRECTIVE)])),
        'Directive → its value.',
      ),
    ],
    description: 'What pages of the integration may load.',
  },
  read(fields, key) {
    if (typeof fields.raw(key) !== 'object') return readText(fields, key);
    const directives = fields.map(key);
    directives?.warnUnknown(DIRECTIVES);
    const found = new Map<string, string>();
    for (const name of DIRECTIVES) if (directives?.has(name)) readDirective(directives, name, found);
    return directives && Object.fromEntries(found);
  },
};

/** Reads the text of the header. A line that begins with a directive begins a new one. */
function readText(fields: YamlFields, key: string): string | undefined {
  const written = fields.raw(key);
  if (typeof written !== 'string') return fields.text(key);
  const lines = linesOf(written);
  if (lines.length > 1) fields.warning(key, `${fields.nameOf(key)} has several lines, read as one.`, HINT);
  const joined = lines.reduce(
    (before, line) => before + (startsDirective(line) && !/;\s*$/.test(before) ? '; ' : ' ') + line,
  );
  return fields.textAt([key], joined, TEXT_RULE);
}

/**
 * Reads one member of the map. A ";" in its value begins a further directive, which does not
 * replace one that is already there.
 */
function readDirective(directives: YamlFields, name: string, found: Map<string, string>): void {
  const written = directives.raw(name);
  const isFlag = written === true;
  const value = isFlag ? '' : Array.isArray(written) ? written.join(' ') : written;
  if (typeof value !== 'string') return void directives.text(name);
  const lines = linesOf(value);
  const isPlain = lines.length === 1 && !/[;,]/.test(value) && !Array.isArray(written);
  if (!isPlain) {
    const message = `${directives.nameOf(name)} must be one line without ";" and ","; it is read as such.`;
    directives.warning(name, message, HINT);
  }
  const [own = '', ...others] = lines.join(' ').replaceAll(',', ' ').split(';');
  const read = (part: string) =>
    directives.textAt([name], part.trim().replaceAll(/ {2,}/g, ' '), {
      mayBeEmpty: true,
      pattern: DIRECTIVE_VALUE,
      wanted: 'printable ASCII',
      charsMax: POLICY_CHARS_MAX,
      hint: HINT,
    });
  const first = read(own);
  if (first === undefined) return;
  found.set(name, first);
  for (const other of others.filter((part) => part.trim() !== '')) {
    const [directive = '', ...rest] = other.trim().split(/\s+/);
    const sources =
      startsDirective(directive) && !directives.has(directive) ? read(rest.join(' ')) : undefined;
    if (sources !== undefined && !found.has(directive)) found.set(directive, sources);
    else directives.warning(name, `The part "${excerpt(other.trim())}" of "${name}" is ignored.`);
  }
}

/** The lines of a text that are not blank; one empty line where all of them are. */
function linesOf(text: string): [string, ...string[]] {
  const [first = '', ...rest] = text
    .split(/[\r\n\t]+/)
    .map((line) => line.trim())
    .filter((line) => line !== '');
  return [first, ...rest];
}

const startsDirective = (line: string): boolean =>
  DIRECTIVES.some((name) => name === line.split(/[\s;]/, 1)[0]?.toLowerCase());
