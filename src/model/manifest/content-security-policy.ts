/**
 * The `contentSecurityPolicy` of a manifest (`docs/contract/manifest.md#content-security-policy`):
 * what pages of the integration may load, as the text of the header or as a map of directives to
 * their values.
 *
 * It ends up in a header of an answer, so it must not be able to end that header and begin another:
 * a line break in it would let an author write headers, and a body, of their own (response
 * splitting). A value of the map is one directive and cannot smuggle in a second. What browsers
 * make of the sources it lists is theirs.
 */
import type { YamlFields } from './yaml-fields.ts';

/** The whole text, or one value of the map. */
export const POLICY_CHARS_MAX = 4_096;

/** The directives of CSP Level 3 and of those specifications that add to it. */
export const DIRECTIVES = [
  ...['default-src', 'script-src', 'script-src-elem', 'script-src-attr', 'style-src', 'style-src-elem'],
  ...['style-src-attr', 'img-src', 'font-src', 'media-src', 'connect-src', 'frame-src', 'child-src'],
  ...['worker-src', 'manifest-src', 'object-src', 'fenced-frame-src', 'base-uri', 'form-action'],
  ...['frame-ancestors', 'sandbox', 'upgrade-insecure-requests', 'require-trusted-types-for'],
  ...['trusted-types', 'report-uri', 'report-to'],
] as const;

/** Printable ASCII: what a header may hold. */
export const POLICY_TEXT = /^[ -~]*$/;
/** As `POLICY_TEXT`, without what ends a directive or a policy. */
export const DIRECTIVE_VALUE = /^[ -+\--:<-~]*$/;

/** Text of the header, or directive → value; a directive without a value has the empty text. */
export type ContentSecurityPolicy = string | Readonly<Record<string, string>>;

/** What goes into the header. */
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
