/**
 * The manifest, `platform-manifest.yaml`: text in, a checked manifest or all of its problems out
 * (`docs/contract/manifest.md#members`).
 *
 * Every member is read by its type and held to its bounds; what is unknown is warned of and left
 * out. Reads no files and knows nothing of the code beside the manifest. `manifest-schema.ts` says
 * the same as JSON Schema, for editors.
 */

import { INTEGRATION_NAME, ORGANIZATION_ID } from '../identifiers.ts';
import { isError, type Problem } from '../problem.ts';
import { type Configurations, readConfigurations } from './configuration.ts';
import { type ContentSecurityPolicy, readContentSecurityPolicy } from './content-security-policy.ts';
import { EGRESS_HOSTS_MAX, egressHostFault } from './egress-hosts.ts';
import { type Block, readBlocks } from './manifest-blocks.ts';
import { type ManifestPage, readPage } from './manifest-page.ts';
import { INTERNAL_SCOPES, SCOPES, type Scope } from './scope.ts';
import { VISIBILITIES, type Visibility } from './visibility.ts';
import { readWebhook, type WebhookDeclaration } from './webhook.ts';
import { YamlFields } from './yaml-fields.ts';
import { type Place, readYaml, type YamlPath, type YamlSource } from './yaml-source.ts';

export type { Configuration } from './configuration.ts';

export const MANIFEST_FILE = 'platform-manifest.yaml';

export const TITLE_CHARS_MAX = 255;
export const DESCRIPTION_CHARS_MAX = 2_048;
export const SUMMARY_CHARS_MAX = 2_048;
export const SCRIPT_CHARS_MAX = 512;
/** A secret is a member of an object in JavaScript, so its name is an identifier. */
export const SECRET_NAME = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/;

/** Where an integration can be installed; the organization is where every installation begins. */
export const MANIFEST_TARGETS = ['all', 'organization', 'space', 'site'] as const;
export type ManifestTarget = (typeof MANIFEST_TARGETS)[number];

/** Every key at the top of a manifest. */
const MANIFEST_KEYS = [
  ...['name', 'title', 'description', 'summary', 'organization', 'visibility', 'target', 'scopes', 'script'],
  ...['blocks', 'categories', 'icon', 'previewImages', 'externalLinks', 'configurations', 'secrets'],
  ...['contentSecurityPolicy', 'egress', 'webhook'],
];

export interface Manifest extends ManifestPage {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  /** Markdown. */
  readonly summary?: string;
  /** Id or subdomain of the organization that owns the integration. */
  readonly organization: string;
  readonly visibility: Visibility;
  /** `all` unless it is said. */
  readonly target: ManifestTarget;
  /** Each once. */
  readonly scopes: readonly Scope[];
  /** Path of the entrypoint, as written. */
  readonly script?: string;
  readonly blocks: readonly Block[];
  readonly configurations: Configurations;
  /** Secret name → the text written for it, a value or an expression. */
  readonly secrets: Readonly<Record<string, string>>;
  /**
   * The hosts that its `fetch` reaches, and no others then; absent where the author has not said.
   */
  readonly egress?: readonly string[];
  readonly contentSecurityPolicy?: ContentSecurityPolicy;
  /** What it posts, and where, is in these settings; absent where it posts no webhooks. */
  readonly webhook?: WebhookDeclaration;
}

/**
 * A manifest as it is stored and shown: of the secrets it has the names alone, their values being
 * sealed elsewhere.
 */
export type PublishedManifest = Omit<Manifest, 'secrets'> & { readonly secrets: readonly string[] };

/** Leaves the secrets' values out. */
export const publishedManifest = (manifest: Manifest): PublishedManifest => ({
  ...manifest,
  secrets: Object.keys(manifest.secrets),
});

/** What this deployment asks of manifests. */
export interface ManifestRules {
  /** Whether `egress` has to be there; by default it may. */
  readonly egressRequired?: boolean;
  /** Organizations whose integrations may have scopes that are reserved; by default nobody's. */
  readonly internalOrganizations?: readonly string[];
}

/** Where a member of the manifest is written, for problems found later. */
export type PlaceOf = (path: YamlPath) => Place;

export type ParsedManifest =
  | {
      readonly ok: true;
      readonly manifest: Manifest;
      readonly warnings: readonly Problem[];
      readonly placeOf: PlaceOf;
    }
  | {
      readonly ok: false;
      /** Errors and warnings. */
      readonly problems: readonly Problem[];
      /**
       * The entrypoint, where it could be read all the same: the code's problems can be listed with
       * these. `null` where the manifest has none, which is one problem more; absent where nobody
       * can tell.
       */
      readonly script?: string | null;
      readonly placeOf: PlaceOf;
    };

/** Reads a manifest and lists everything wrong with it at once, each with line and column. */
export function parseManifest(yaml: string, rules: ManifestRules = {}): ParsedManifest {
  return checkManifest(readYaml(yaml, MANIFEST_FILE), rules);
}

/**
 * Holds a value to what a manifest may be. The work is linear in the value, whose size is the
 * caller's to bound.
 *
 * @param source a value that was read as YAML, or that some other process says it has read
 */
export function checkManifest(source: YamlSource, rules: ManifestRules = {}): ParsedManifest {
  const placeOf: PlaceOf = (path) => source.placeOf(path);
  if (source.problems.length > 0) return { ok: false, problems: source.problems, placeOf };
  const problems: Problem[] = [];
  const fields = new YamlFields(source, [], source.value, problems);
  const manifest = readManifest(fields);
  holdToRules(fields, manifest, rules);
  if (!problems.some(isError)) return { ok: true, manifest, warnings: problems, placeOf };
  const script = fields.has('script') ? manifest.script : null;
  return { ok: false, problems, placeOf, ...(script !== undefined && { script }) };
}

/** Reads the members of a manifest, wherever it was written. */
export function readManifest(fields: YamlFields): Manifest {
  fields.warnUnknown(MANIFEST_KEYS);
  const summary = fields.optionalText('summary', { charsMax: SUMMARY_CHARS_MAX });
  const script = fields.optionalText('script', { charsMax: SCRIPT_CHARS_MAX });
  const target = fields.optionalChoice('target', MANIFEST_TARGETS) ?? 'all';
  const contentSecurityPolicy = readContentSecurityPolicy(fields);
  const configurations = readConfigurations(fields.map('configurations'));
  warnUnreachable(fields, configurations, target);
  return {
    name: fields.text('name', {
      pattern: INTEGRATION_NAME,
      wanted: 'lower-case letters and digits in groups joined by single hyphens, at most 63 characters',
    }),
    title: fields.text('title', { charsMax: TITLE_CHARS_MAX }),
    description: fields.text('description', { charsMax: DESCRIPTION_CHARS_MAX }),
    ...(summary !== undefined && { summary }),
    organization: fields.text('organization', {
      pattern: ORGANIZATION_ID,
      wanted: 'the id or the subdomain of an organization: letters, digits, ".", "_" and "-"',
    }),
    visibility: fields.choice('visibility', VISIBILITIES),
    target,
    scopes: fields.words('scopes', SCOPES, { required: true }),
    ...(script !== undefined && { script }),
    blocks: readBlocks(fields),
    ...readPage(fields),
    configurations,
    secrets: readSecrets(fields.map('secrets')),
    ...readEgress(fields),
    ...(contentSecurityPolicy !== undefined && { contentSecurityPolicy }),
    ...readWebhook(fields, configurations),
  };
}

function holdToRules(fields: YamlFields, manifest: Manifest, rules: ManifestRules): void {
  if (rules.egressRequired && manifest.egress === undefined) {
    const hint = 'List the hosts that its fetch reaches, or write [] where it reaches none.';
    fields.error('egress', '"egress" is required by the operator of this service.', hint);
  }
  if (rules.internalOrganizations?.includes(manifest.organization)) return;
  const written = fields.raw('scopes');
  for (const [index, scope] of Array.isArray(written) ? written.entries() : []) {
    if (!INTERNAL_SCOPES.some((internal) => internal === scope)) continue;
    const message = `The scope "${scope}" is reserved for organizations that the operator of this service marks as internal.`;
    const hint = 'Remove it; the setting of the operator is --internal-organizations.';
    fields.error(['scopes', index], message, hint);
  }
}

/** Settings that nobody is ever asked for. */
function warnUnreachable(fields: YamlFields, configurations: Configurations, target: ManifestTarget): void {
  for (const level of ['space', 'site'] as const) {
    if (configurations[level] === undefined || target === 'all' || target === level) continue;
    const message = `The integration is never installed in a ${level}, because its target is "${target}".`;
    fields.warning(['configurations', level], message, `Remove it, or write "target: ${level}".`);
  }
}

/** An empty list says that nothing is reached; no list says nothing. */
function readEgress(fields: YamlFields): Pick<Manifest, 'egress'> {
  if (!fields.has('egress')) return {};
  return { egress: fields.texts('egress', { fault: egressHostFault, max: EGRESS_HOSTS_MAX }) };
}

function readSecrets(fields: YamlFields | undefined): Record<string, string> {
  fields?.refuseEmpty('secret');
  const secrets: [string, string][] = [];
  for (const name of fields?.keys() ?? []) {
    const value = fields?.raw(name);
    if (!SECRET_NAME.test(name)) {
      fields?.error(
        [name],
        'The name of a secret must be letters, digits and "_", at most 64, not a digit first.',
      );
    } else if (typeof value !== 'string') {
      fields?.error([name], `The secret "${name}" must be text.`, 'Put it in quotes.');
    } else secrets.push([name, value]);
  }
  return Object.fromEntries(secrets);
}
