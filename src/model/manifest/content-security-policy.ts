/**
 * Reads `contentSecurityPolicy` of a manifest
 * (`docs/contract/manifest.md#content-security-policy`): what pages of the integration may load, as
 * the text of the header or as a map of directives to values.
 *
 * Attack: response splitting. The text becomes a response header; a line break in it would let an
 * author write further headers and a body. A value of the map is one directive and cannot contain a
 * second. The sources that it lists are not validated.
 */
import type { YamlFields } from './yaml-fields.ts';

/** Maximum characters of the whole text, or of one value of the map. */
export const POLICY_CHARS_MAX = 4_096;

/** The directives of CSP Level 3 and of specifications that extend it. */
export const DIRECTIVES = [
  ...['default-src', 'script-src', 'script-src-elem', 'script-src-attr', 'style-src', 'style-src-elem'],
  ...['style-src-attr', 'img-src', 'font-src', 'media-src', 'connect-src', 'frame-src', 'child-src'],
  ...['worker-src', 'manifest-src', 'object-src', 'fenced-frame-src', 'base-uri', 'form-action'],
  ...['frame-ancestors', 'sandbox', 'upgrade-insecure-requests', 'require-trusted-types-for'],
  ...['trusted-types', 'report-uri', 'report-to'],
] as const;

/** Printable ASCII, which a header may contain. */
export const POLICY_TEXT = /^[ -~]*$/;
/** As `POLICY_TEXT`, without the characters that end a directive or a policy. */
export const DIRECTIVE_VALUE = /^[ -+\--:<-~]*$/;

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

export function readContentSecurityPolicy(fields: YamlFields): ContentSecurityPolicy | undefined {
  const key = 'contentSecurityPolicy';
  if (typeof fields.raw(key) !== 'object') {
    const wanted = 'printable ASCII on one line';
    return fields.optionalText(key, { pattern: POLICY_TEXT, wanted, charsMax: POLICY_CHARS_MAX, hint: HINT });
  }
  const directives = fields.map(key);
  directives?.warnUnknown(DIRECTIVES);
  const values = DIRECTIVES.flatMap((name): [string, string][] => {
    const value = directives?.optionalText(name, {
      mayBeEmpty: true,
      pattern: DIRECTIVE_VALUE,
      wanted: 'printable ASCII on one line, without ";" and ","',
      charsMax: POLICY_CHARS_MAX,
      hint: HINT,
    });
    return value === undefined ? [] : [[name, value]];
  });
  return directives && Object.fromEntries(values);
}
