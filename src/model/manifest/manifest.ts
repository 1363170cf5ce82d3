/**
 * Parses the manifest, `platform-manifest.yaml`, to a checked manifest or a list of all its
 * problems (`docs/contract/manifest.md#members`).
 *
 * Every member is checked for type and bounds; unknown members cause a warning and are left out.
 * Does no file I/O and does not look at the code. `manifest-schema.ts` has the same rules as JSON
 * Schema, for editors.
 */

import { INTEGRATION_NAME, ORGANIZATION_ID, PLAIN_INTEGRATION_NAME } from '../identifiers.ts';
import { isError, type Problem } from '../problem.ts';
import { type Configurations, readConfigurations } from './configuration.ts';
import { type ContentSecurityPolicy, readContentSecurityPolicy } from './content-security-policy.ts';
import { type ContentSource, readContentSources } from './content-sources.ts';
import { EGRESS_HOSTS_MAX, egressHostFault } from './egress-hosts.ts';
import { type Block, readBlocks } from './manifest-blocks.ts';
import { withEnvironment } from './manifest-environments.ts';
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
/** Name of a secret. It is a member of a JavaScript object, so it is an identifier. */
export const SECRET_NAME = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/;

/**
 * Where an integration can be installed; the organization level is always included.
 */
export const MANIFEST_TARGETS = ['all', 'organization', 'space', 'site'] as const;
export type ManifestTarget = (typeof MANIFEST_TARGETS)[number];

/** Every key at the top of a manifest. */
const MANIFEST_KEYS = [
  ...['name', 'title', 'description', 'summary', 'organization', 'visibility', 'target', 'scopes', 'script'],
  ...['blocks', 'categories', 'icon', 'previewImages', 'externalLinks', 'configurations', 'secrets'],
  ...['contentSecurityPolicy', 'egress', 'webhook', 'contentSources', 'envs'],
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
  /** `all` by default. */
  readonly target: ManifestTarget;
  /** Without duplicates. */
  readonly scopes: readonly Scope[];
  /** Path of the entrypoint, as written. */
  readonly script?: string;
  readonly blocks: readonly Block[];
  /** Absent where the manifest names none. */
  readonly contentSources?: readonly ContentSource[];
  readonly configurations: Configurations;
  /** Secret name → its text in the manifest, a value or an expression. */
  readonly secrets: Readonly<Record<string, string>>;
  /**
   * The only hosts that its `fetch` may reach; absent where the manifest has no `egress`.
   */
  readonly egress?: readonly string[];
  readonly contentSecurityPolicy?: ContentSecurityPolicy;
  /**
   * Names the settings that hold the webhook's URL and event types; absent where it posts no
   * webhooks.
   */
  readonly webhook?: WebhookDeclaration;
}

/**
 * A manifest as stored and shown: it has the names of the secrets, whose values are stored
 * encrypted elsewhere.
 */
export type PublishedManifest = Omit<Manifest, 'secrets'> & { readonly secrets: readonly string[] };

/** Replaces the secrets by their names. */
export const publishedManifest = (manifest: Manifest): PublishedManifest => ({
  ...manifest,
  secrets: Object.keys(manifest.secrets),
});

/** Rules for manifests that depend on the deployment. */
export interface ManifestRules {
  /** Name of the environment in `envs` whose members replace those of the manifest. */
  readonly environment?: string;
  /** Whether `egress` is required; by default it is optional. */
  readonly egressRequired?: boolean;
  /**
   * Whose integrations may have internal scopes: `acme` is an organization, `acme/analytics` one
   * integration of it. By default none.
   */
  readonly internalOrganizations?: readonly string[];
}

/** Finds line and column of a member, for problems found later. */
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
       * The entrypoint, where it could be read in spite of the problems, so that the code's
       * problems can be listed, too. `null` where the manifest has none, which is a further
       * problem; absent where it is unknown.
       */
      readonly script?: string | null;
      readonly placeOf: PlaceOf;
    };

/** Reads a manifest, or lists all of its problems, each with line and column. */
export function parseManifest(yaml: string, rules: ManifestRules = {}): ParsedManifest {
  return checkManifest(readYaml(yaml, MANIFEST_FILE), rules);
}

/**
 * Checks a parsed value. The work is linear in its size, which the caller bounds.
 *
 * @param source a value parsed from YAML, here or in another process
 */
export function checkManifest(source: YamlSource, rules: ManifestRules = {}): ParsedManifest {
  if (source.problems.length > 0)
    return { ok: false, problems: source.problems, placeOf: (path) => source.placeOf(path) };
  const chosen = withEnvironment(source, rules.environment);
  const placeOf: PlaceOf = (path) => chosen.placeOf(path);
  const problems: Problem[] = [...chosen.problems];
  const fields = new YamlFields(chosen, [], chosen.value, problems);
  const manifest = readManifest(fields);
  holdToRules(fields, manifest, rules);
  if (!problems.some(isError)) return { ok: true, manifest, warnings: problems, placeOf };
  const script = fields.has('script') ? manifest.script : null;
  return { ok: false, problems, placeOf, ...(script !== undefined && { script }) };
}

/** Reads the members of a manifest from any source. */
export function readManifest(fields: YamlFields): Manifest {
  fields.warnUnknown(MANIFEST_KEYS);
  const summary = fields.optionalText('summary', { charsMax: SUMMARY_CHARS_MAX });
  const script = fields.optionalText('script', { charsMax: SCRIPT_CHARS_MAX });
  const target = fields.optionalChoice('target', MANIFEST_TARGETS) ?? 'all';
  const contentSecurityPolicy = readContentSecurityPolicy(fields);
  const configurations = readConfigurations(fields.map('configurations'));
  warnUnreachable(fields, configurations, target);
  return {
    name: readName(fields),
    title: fields.text('title', { charsMax: TITLE_CHARS_MAX }),
    description: fields.text('description', { charsMax: DESCRIPTION_CHARS_MAX }),
    ...(summary !== undefined && { summary }),
    organization: fields.text('organization', {
      pattern: ORGANIZATION_ID,
      wanted: 'the id or the subdomain of an organization: letters, digits, ".", "_" and "-"',
    }),
    visibility: fields.optionalChoice('visibility', VISIBILITIES) ?? 'private',
    target,
    scopes: fields.words('scopes', SCOPES, { required: true, lenient: true }),
    ...(script !== undefined && { script }),
    blocks: readBlocks(fields),
    ...readContentSources(fields),
    ...readPage(fields),
    configurations,
    secrets: readSecrets(fields.map('secrets')),
    ...readEgress(fields),
    ...(contentSecurityPolicy !== undefined && { contentSecurityPolicy }),
    ...readWebhook(fields, configurations),
  };
}

function readName(fields: YamlFields): string {
  const name = fields.text('name', {
    pattern: INTEGRATION_NAME,
    wanted: 'letters and digits in groups joined by single hyphens, at most 63 characters',
    hint: 'Write lower-case letters.',
  });
  if (name !== '' && !PLAIN_INTEGRATION_NAME.test(name))
    fields.warning(
      'name',
      'The name has capital letters, which are easily confused.',
      'Write it in lower case.',
    );
  return name;
}

function holdToRules(fields: YamlFields, manifest: Manifest, rules: ManifestRules): void {
  if (rules.egressRequired && manifest.egress === undefined) {
    const hint = 'List the hosts that its fetch reaches, or write [] where it reaches none.';
    fields.error('egress', '"egress" is required by the operator of this service.', hint);
  }
  const { organization, name } = manifest;
  // Attack: a trusted name alone, of an integration that was deleted, which anybody could publish.
  const trusted = [organization, `${organization}/${name}`];
  if (trusted.some((entry) => rules.internalOrganizations?.includes(entry))) return;
  const written = fields.raw('scopes');
  for (const [index, scope] of Array.isArray(written) ? written.entries() : []) {
    if (!INTERNAL_SCOPES.some((internal) => internal === scope)) continue;
    const message = `The scope "${scope}" is reserved for integrations that the operator of this service trusts.`;
    const hint =
      `Remove it, or have the operator add ${trusted[1]} to the setting --internal-organizations ` +
      `(ANNEX_INTERNAL_ORGANIZATIONS), or ${organization} for all integrations of that organization.`;
    fields.error(['scopes', index], message, hint);
  }
}

/** Warns of configurations for a level at which the integration is never installed. */
function warnUnreachable(fields: YamlFields, configurations: Configurations, target: ManifestTarget): void {
  for (const level of ['space', 'site'] as const) {
    if (configurations[level] === undefined || target === 'all' || target === level) continue;
    const message = `The integration is never installed in a ${level}, because its target is "${target}".`;
    fields.warning(['configurations', level], message, `Remove it, or write "target: ${level}".`);
  }
}

/** An empty list allows no host; an absent list does not restrict hosts. */
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
