/**
 * The manifest, `platform-manifest.yaml`: text in, a checked manifest or all of its problems out (SPEC "Manifest",
 * REFERENCE 4).
 *
 * Required fields and everything the runtime acts upon is checked; members that only a marketplace page shows are
 * carried as they were written. Reads no files and knows nothing of the code beside the manifest.
 */
import { type Configurations, readConfigurations } from './configuration.ts';
import { EGRESS_HOSTS_MAX, egressHostFault } from './egress-hosts.ts';
import { INTEGRATION_NAME, ORGANIZATION_ID } from './identifiers.ts';
import { isError, type Problem } from './problem.ts';
import { VISIBILITIES, type Visibility } from './visibility.ts';
import { YamlFields } from './yaml-fields.ts';
import { type Place, readYaml, type YamlPath } from './yaml-source.ts';

export type { Configuration } from './configuration.ts';

export const MANIFEST_FILE = 'platform-manifest.yaml';

const SUMMARY_CHARS_MAX = 2_048;
/** A secret is a member of an object in JavaScript, so its name is an identifier. */
const SECRET_NAME = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/;

/** Members that are stored as written. */
const CARRIED = ['icon', 'previewImages', 'externalLinks', 'target', 'contentSecurityPolicy'] as const;
const KNOWN = [
  ...['name', 'title', 'description', 'summary', 'organization', 'visibility', 'scopes', 'script', 'blocks'],
  ...['categories', 'configurations', 'secrets', 'egress'],
  ...CARRIED,
];

/** A component in the quick insert menu; `id` is its component's. */
export interface Block {
  readonly id: string;
  readonly title: string;
  /** `description`, `icon`, `urlUnfurl`, `markdown`, as written. */
  readonly [key: string]: unknown;
}

export interface Manifest {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly summary?: string;
  /** Id or subdomain of the organization that owns the integration. */
  readonly organization: string;
  readonly visibility: Visibility;
  readonly scopes: readonly string[];
  /** Path of the entrypoint, as written. */
  readonly script?: string;
  readonly blocks: readonly Block[];
  readonly categories: readonly string[];
  readonly configurations: Configurations;
  /** Secret name → the text written for it, a value or an expression. */
  readonly secrets: Readonly<Record<string, string>>;
  /** The hosts that its `fetch` reaches, and no others then; absent where the author has not said. */
  readonly egress?: readonly string[];
  readonly carried: Readonly<Record<string, unknown>>;
}

/** A manifest as it is stored and shown: of the secrets it has the names alone, their values being sealed elsewhere. */
export type PublishedManifest = Omit<Manifest, 'secrets'> & { readonly secrets: readonly string[] };

export type ParsedManifest =
  | {
      readonly ok: true;
      readonly manifest: Manifest;
      readonly warnings: readonly Problem[];
      /** Where a member of the manifest is written, for problems found later. */
      placeOf(path: YamlPath): Place;
    }
  | {
      readonly ok: false;
      /** Errors and warnings. */
      readonly problems: readonly Problem[];
      /** The entrypoint, where it could be read all the same: the code's problems can be listed with these. */
      readonly script?: string;
    };

/**
 * Reads a manifest and lists everything wrong with it at once, each with line and column.
 *
 * @param rules of this deployment: whether `egress` has to be there
 */
export function parseManifest(
  yaml: string,
  rules: { readonly egressRequired?: boolean } = {},
): ParsedManifest {
  const source = readYaml(yaml, MANIFEST_FILE);
  if (source.problems.length > 0) return { ok: false, problems: source.problems };
  const problems: Problem[] = [];
  const fields = new YamlFields(source, [], source.value, problems);
  const manifest = readManifest(fields);
  if (rules.egressRequired && manifest.egress === undefined) {
    const hint = 'List the hosts that its fetch reaches, or write [] where it reaches none.';
    fields.error('egress', '"egress" is required by the operator of this service.', hint);
  }
  if (!problems.some(isError)) {
    return { ok: true, manifest, warnings: problems, placeOf: (path) => source.placeOf(path) };
  }
  return manifest.script === undefined
    ? { ok: false, problems }
    : { ok: false, problems, script: manifest.script };
}

/** Leaves the secrets' values out. */
export const publishedManifest = (manifest: Manifest): PublishedManifest => ({
  ...manifest,
  secrets: Object.keys(manifest.secrets),
});

function readManifest(fields: YamlFields): Manifest {
  fields.warnUnknown(KNOWN);
  const summary = fields.optionalText('summary', { charsMax: SUMMARY_CHARS_MAX });
  const script = fields.optionalText('script');
  const carried = CARRIED.flatMap((key) => {
    const value = fields.raw(key);
    return value === undefined ? [] : [[key, value] as const];
  });
  return {
    name: fields.text('name', {
      pattern: INTEGRATION_NAME,
      wanted: 'lower-case letters and digits in groups joined by single hyphens, at most 63 characters',
    }),
    title: fields.text('title'),
    description: fields.text('description'),
    ...(summary === undefined ? {} : { summary }),
    organization: fields.text('organization', {
      pattern: ORGANIZATION_ID,
      wanted: 'the id or the subdomain of an organization: letters, digits, ".", "_" and "-"',
    }),
    visibility: fields.choice('visibility', VISIBILITIES),
    scopes: fields.texts('scopes', { required: true }),
    ...(script === undefined ? {} : { script }),
    blocks: readBlocks(fields),
    categories: fields.texts('categories'),
    configurations: readConfigurations(fields.map('configurations')),
    secrets: readSecrets(fields.map('secrets')),
    ...readEgress(fields),
    carried: Object.fromEntries(carried),
  };
}

function readBlocks(fields: YamlFields): Block[] {
  const seen = new Set<string>();
  return fields.maps('blocks').map((block) => {
    const id = block.text('id');
    if (id !== '' && seen.has(id)) block.error('id', `The block "${id}" is there twice.`);
    seen.add(id);
    block.optionalText('description');
    const entries = block.keys().map((key) => [key, block.raw(key)] as const);
    return { ...Object.fromEntries(entries), id, title: block.text('title') };
  });
}

/** An empty list says that nothing is reached; no list says nothing. */
function readEgress(fields: YamlFields): Pick<Manifest, 'egress'> {
  if (!fields.keys().includes('egress')) return {};
  const egress = fields.texts('egress', { fault: egressHostFault });
  if (egress.length > EGRESS_HOSTS_MAX)
    fields.error('egress', `"egress" has ${egress.length} hosts; at most ${EGRESS_HOSTS_MAX} are allowed.`);
  return { egress };
}

function readSecrets(fields: YamlFields | undefined): Record<string, string> {
  const secrets: [string, string][] = [];
  for (const name of fields?.keys() ?? []) {
    const value = fields?.raw(name);
    if (!SECRET_NAME.test(name)) {
      fields?.error(
        name,
        'The name of a secret must be letters, digits and "_", at most 64, not a digit first.',
      );
    } else if (typeof value !== 'string') {
      fields?.error(name, `The secret "${name}" must be text.`, 'Put it in quotes.');
    } else secrets.push([name, value]);
  }
  return Object.fromEntries(secrets);
}
