/**
 * Parses the manifest, `platform-manifest.yaml`, to a checked manifest or a list of all its
 * problems (`docs/contract/manifest.md#members`).
 *
 * Every member is checked for type and bounds; unknown members cause a warning and are left out.
 * Each member is one row of `MEMBERS`, from which the reader, the types and the JSON Schema for
 * editors follow. Does no file I/O and does not look at the code.
 */

import { INTEGRATION_NAME, ORGANIZATION_ID, PLAIN_INTEGRATION_NAME } from '../identifiers.ts';
import { isError, type Problem } from '../problem.ts';
import { CONFIGURATIONS, type Configurations } from './configuration.ts';
import { CONTENT_SECURITY_POLICY } from './content-security-policy.ts';
import { CALLS } from './declared-call.ts';
import { EGRESS_HOSTS_MAX, egressHostFault } from './egress-hosts.ts';
import {
  byDefault,
  checked,
  choice,
  type Field,
  type JsonSchema,
  map,
  maps,
  membersSchema,
  optional,
  type ReadOf,
  readMembers,
  text,
  texts,
  words,
} from './field.ts';
import { BLOCKS } from './manifest-blocks.ts';
import { withEnvironment } from './manifest-environments.ts';
import { ICON, PAGE } from './manifest-page.ts';
import { SCHEDULES } from './schedule.ts';
import { INTERNAL_SCOPES, SCOPE_MEANINGS } from './scope.ts';
import { VISIBILITY_MEANINGS } from './visibility.ts';
import { checkWebhook, retriesField, WEBHOOK, type WebhookTypes } from './webhook.ts';
import { absentMembers, checkWorker, ENV_NAME, WORKER } from './worker.ts';
import { YamlFields } from './yaml-fields.ts';
import { readYaml, type SourcePosition, type YamlPath, type YamlSource } from './yaml-source.ts';

export type { Configuration } from './configuration.ts';

export const MANIFEST_FILE = 'platform-manifest.yaml';

const TITLE_CHARS_MAX = 255;
const DESCRIPTION_CHARS_MAX = 2_048;
const SUMMARY_CHARS_MAX = 2_048;
const SCRIPT_CHARS_MAX = 512;
const CONTENT_SOURCES_MAX = 50;
/** Name of a secret. */
export const SECRET_NAME = ENV_NAME;

/** Where an integration can be installed; the organization level is always included. */
const TARGET_MEANINGS = {
  all: 'For an organization, in spaces and in sites.',
  organization: 'For an organization.',
  space: 'For an organization, and in spaces.',
  site: 'For an organization, and in sites.',
} as const;
export type ManifestTarget = keyof typeof TARGET_MEANINGS;

/** Sources of generated content. Annex stores and shows them; the code computes the content. */
const CONTENT_SOURCE = {
  id: text('Identifier of the source.'),
  title: text('Name of the source as it is shown.'),
  description: optional(text('Shown below the title.', { mayBeEmpty: true })),
  icon: ICON,
  configuration: optional(
    map({ componentId: text('`componentId` of the component.') }, 'The component that draws its settings.'),
  ),
};

/** Secret name → its text in the manifest, a value or an expression. */
const SECRETS: Field<Readonly<Record<string, string>>> = {
  schema: {
    type: 'object',
    description: 'Name → value, or an expression with the name of a variable of the publisher.',
    propertyNames: { type: 'string', pattern: SECRET_NAME.source },
    additionalProperties: { type: 'string' },
  },
  read: readSecrets,
  empty: {},
};

const ENVIRONMENTS = {
  type: 'object',
  description: 'Name of an environment → members that replace those of the manifest in it.',
  additionalProperties: { type: 'object' },
};

const scopesOf = (meanings: Readonly<Record<string, string>>): Field<readonly string[]> =>
  words(meanings, 'The permissions that the integration requests; [] for none.');

const MEMBERS = {
  name: checked(
    text('Identifier of the integration, unique among all.', {
      pattern: INTEGRATION_NAME,
      patternInEditors: PLAIN_INTEGRATION_NAME,
      wanted: 'letters and digits in groups joined by single hyphens, at most 63 characters',
      hint: 'Write lower-case letters.',
    }),
    (name, fields, key) => {
      const message = 'The name has capital letters, which are easily confused.';
      if (!PLAIN_INTEGRATION_NAME.test(name)) fields.warning(key, message, 'Write it in lower case.');
    },
  ),
  title: text('Display name of the integration.', { charsMax: TITLE_CHARS_MAX }),
  description: text('A short description.', { charsMax: DESCRIPTION_CHARS_MAX }),
  summary: optional(text('Markdown, shown on the installation page.', { charsMax: SUMMARY_CHARS_MAX })),
  organization: text('Id or subdomain of the organization that owns the integration.', {
    pattern: ORGANIZATION_ID,
    wanted: 'the id or the subdomain of an organization: letters, digits, ".", "_" and "-"',
  }),
  visibility: byDefault(choice(VISIBILITY_MEANINGS, 'Which organizations can install.'), 'private'),
  target: byDefault(choice(TARGET_MEANINGS, 'Where it can be installed.'), 'all'),
  scopes: scopesOf(SCOPE_MEANINGS),
  script: optional(text('Path of the entrypoint.', { charsMax: SCRIPT_CHARS_MAX })),
  ...WORKER,
  blocks: BLOCKS,
  /** Absent where there are none. */
  contentSources: optional(
    maps(CONTENT_SOURCE, {
      item: 'A source of generated content.',
      description: 'Sources of generated content.',
      max: CONTENT_SOURCES_MAX,
    }),
  ),
  ...PAGE,
  configurations: byDefault(
    map(CONFIGURATIONS, 'Settings of an installation: of the account, of each site, of each space.'),
    {},
  ),
  secrets: byDefault(SECRETS),
  /** Absent where its `fetch` may reach any host; an empty list allows none. */
  egress: optional(
    texts('A host such as api.example.com or *.example.com, with a port or without.', {
      description: 'The only hosts that its fetch may reach; [] for none.',
      fault: egressHostFault,
      max: EGRESS_HOSTS_MAX,
    }),
  ),
  contentSecurityPolicy: optional(CONTENT_SECURITY_POLICY),
  webhook: optional(WEBHOOK),
  retries: optional(
    retriesField(
      'When an event is delivered again after its handler failed: `contract` by default for code of the SDK.',
      'none',
    ),
  ),
  schedules: optional(SCHEDULES),
  calls: optional(CALLS),
  // `withEnvironment` has put the members of the chosen one in place.
  envs: optional<never>({ schema: ENVIRONMENTS, read: () => undefined }),
};

/** A checked manifest. */
export type Manifest = Omit<ReadOf<typeof MEMBERS>, 'envs'>;

/**
 * The manifest as JSON Schema, for completion and checks in editors (`# yaml-language-server:
 * $schema=…`), and for tools that check manifests without this service.
 */
export const MANIFEST_SCHEMA: JsonSchema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'platform-manifest.yaml',
  ...membersSchema(MEMBERS, 'The manifest of an integration.'),
};

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
  /** Scopes of the product, beside those that exist always: name → what it allows. */
  readonly scopes?: Readonly<Record<string, string>>;
  /** The product's event types that webhooks of a level may select. */
  readonly webhookTypes?: WebhookTypes;
}

/** Finds line and column of a member, for problems found later. */
export type PlaceOf = (path: YamlPath) => SourcePosition;

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
  const manifest = readManifest(fields, rules);
  holdToRules(fields, manifest, rules);
  if (!problems.some(isError)) return { ok: true, manifest, warnings: problems, placeOf };
  const script = fields.has('script') ? manifest.script : null;
  return { ok: false, problems, placeOf, ...(script !== undefined && { script }) };
}

/** Reads the members of a manifest from any source. */
export function readManifest(fields: YamlFields, { scopes, webhookTypes }: ManifestRules = {}): Manifest {
  const members =
    scopes === undefined ? MEMBERS : { ...MEMBERS, scopes: scopesOf({ ...SCOPE_MEANINGS, ...scopes }) };
  const manifest = readMembers({ ...members, ...absentMembers(fields) } as typeof members, fields);
  const { configurations, target, webhook } = manifest;
  warnUnreachable(fields, configurations, target);
  if (webhook) checkWebhook(webhook, fields, configurations, webhookTypes);
  checkWorker(manifest, fields);
  return manifest;
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

function readSecrets(manifest: YamlFields, key: string): Record<string, string> {
  const fields = manifest.map(key);
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
