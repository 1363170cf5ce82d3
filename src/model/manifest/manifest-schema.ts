/**
 * The manifest as JSON Schema, draft 2020-12: for completion and checks in editors (`#
 * yaml-language-server: $schema=…`), and for tools that check manifests without this service.
 *
 * Built from the same words and bounds as the reader (`manifest.ts`), which is authoritative: only
 * the reader checks rules that span members or depend on the deployment. The reader warns of
 * unknown keys; the schema refuses them, so that editors mark them.
 */
import Type, { type TSchema } from 'typebox';
import { ORGANIZATION_ID, PLAIN_INTEGRATION_NAME } from '../identifiers.ts';
import { CONFIGURATION_LEVELS, PROPERTIES_MAX, PROPERTY_NAME } from './configuration.ts';
import { type ConfigurationProperty, ENUM_MAX } from './configuration-property.ts';
import { DIRECTIVE_VALUE, DIRECTIVES, POLICY_CHARS_MAX, POLICY_TEXT } from './content-security-policy.ts';
import { CONTENT_SOURCES_MAX } from './content-sources.ts';
import { EGRESS_HOSTS_MAX } from './egress-hosts.ts';
import { ENDPOINT_PATH, ENDPOINT_PATH_CHARS_MAX } from './endpoint-path.ts';
import {
  DESCRIPTION_CHARS_MAX,
  MANIFEST_TARGETS,
  SCRIPT_CHARS_MAX,
  SECRET_NAME,
  SUMMARY_CHARS_MAX,
  TITLE_CHARS_MAX,
} from './manifest.ts';
import { BODY_PROPERTY, CODEBLOCK_SYNTAX, URL_UNFURLS_MAX } from './manifest-blocks.ts';
import {
  CATEGORIES,
  CATEGORY_ALIASES,
  EXTERNAL_LINKS_MAX,
  IMAGE_PATH,
  IMAGE_PATH_CHARS_MAX,
  LABEL_CHARS_MAX,
  LINK_URL,
  PREVIEW_IMAGES_MAX,
  URL_CHARS_MAX,
} from './manifest-page.ts';
import { SCOPE_MEANINGS, SCOPES } from './scope.ts';
import { URL_UNFURL, URL_UNFURL_CHARS_MAX } from './unfurl-pattern.ts';
import { VISIBILITIES, type Visibility } from './visibility.ts';

/** Text that is not blank. */
const text = (description: string, rule: { pattern?: RegExp; maxLength?: number } = {}) =>
  Type.String({ description, ...rule, pattern: rule.pattern?.source ?? '\\S' });

/** One of a few words, each with its meaning. */
const word = <Word extends string>(meanings: Readonly<Record<Word, string>>, description: string) =>
  Type.Union(
    Object.entries<string>(meanings).map(([value, meaning]) => Type.Literal(value, { description: meaning })),
    { description },
  );

const shape = (members: Record<string, TSchema>, description: string) =>
  Type.Object(members, { description, additionalProperties: false });

const VISIBILITY_MEANINGS: Readonly<Record<Visibility, string>> = {
  private: 'Only members of the organization named in the manifest can install.',
  unlisted: 'Members of any organization can install, with the shared install link.',
  public: 'Members of any organization can install.',
};

const imagePath = (description: string) =>
  text(description, { pattern: IMAGE_PATH, maxLength: IMAGE_PATH_CHARS_MAX });

const ICON = 'A square PNG among the uploaded files, at most 1024 × 1024 pixels and 250 KiB.';

const endpointPath = (description: string) =>
  text(description, { pattern: ENDPOINT_PATH, maxLength: ENDPOINT_PATH_CHARS_MAX });

const BlockSchema = shape(
  {
    id: text('`componentId` of the component; each once.'),
    title: text('Shown in the quick insert menu.'),
    description: Type.Optional(text('Shown below the title.')),
    icon: Type.Optional(imagePath(ICON)),
    urlUnfurl: Type.Optional(
      Type.Array(text('A URL, or a pattern.', { pattern: URL_UNFURL, maxLength: URL_UNFURL_CHARS_MAX }), {
        description: 'URLs that become this block when they are pasted.',
        maxItems: URL_UNFURLS_MAX,
      }),
    ),
    markdown: Type.Optional(
      shape(
        {
          codeblock: text('The language after the fence of the code block.', { pattern: CODEBLOCK_SYNTAX }),
          body: text('The member of the props that holds the text of the code block.', {
            pattern: BODY_PROPERTY,
          }),
        },
        'How the block is written in Markdown: a fenced code block.',
      ),
    ),
  },
  'A component in the quick insert menu.',
);

const ContentSourceSchema = shape(
  {
    id: text('Identifier of the source.'),
    title: text('Name of the source as it is shown.'),
    description: Type.Optional(Type.String({ description: 'Shown below the title.' })),
    icon: Type.Optional(imagePath(ICON)),
    configuration: Type.Optional(
      shape(
        { componentId: text('`componentId` of the component.') },
        'The component that draws its settings.',
      ),
    ),
  },
  'A source of generated content.',
);

const LinkSchema = shape(
  {
    label: text('The text of the link.', { maxLength: LABEL_CHARS_MAX }),
    url: text('Absolute, http or https.', { pattern: LINK_URL, maxLength: URL_CHARS_MAX }),
  },
  'A link on the installation page.',
);

const PropertyTexts = {
  title: Type.Optional(text('The name of the setting.')),
  description: Type.Optional(text('What the setting is for.')),
};

const COMPLETION_URL = Type.Optional(endpointPath('Path below the endpoint that supplies the choices.'));

const enumOf = (description: string) =>
  Type.Array(text('A choice.'), { description, minItems: 1, maxItems: ENUM_MAX });

const OneText = shape(
  {
    type: Type.Literal('string'),
    ...PropertyTexts,
    default: Type.Optional(Type.String({ description: 'One of `enum`, where there is one.' })),
    enum: Type.Optional(enumOf('Choices of a dropdown.')),
    multiple: Type.Optional(Type.Literal(false, { description: 'One value; `true` for a list of choices.' })),
    completion_url: COMPLETION_URL,
  },
  'Text, or a choice in a dropdown.',
);

const ListOfChoices = shape(
  {
    type: Type.Literal('string'),
    ...PropertyTexts,
    default: Type.Optional(
      Type.Array(text('One of `enum`.'), { description: 'Some of `enum`.', minItems: 1, maxItems: ENUM_MAX }),
    ),
    enum: enumOf('Choices, of which several may be chosen.'),
    multiple: Type.Literal(true, { description: 'The value is a list of choices.' }),
    completion_url: COMPLETION_URL,
  },
  'A list of choices, each once.',
);

const PropertySchemas: Readonly<Record<ConfigurationProperty['type'], TSchema>> = {
  string: Type.Unsafe<ConfigurationProperty>({
    if: { required: ['multiple'], properties: { multiple: { const: true } } },
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema, and no promise.
    then: ListOfChoices,
    else: OneText,
  }),
  number: shape(
    { type: Type.Literal('number'), ...PropertyTexts, default: Type.Optional(Type.Number()) },
    'A number.',
  ),
  boolean: shape(
    { type: Type.Literal('boolean'), ...PropertyTexts, default: Type.Optional(Type.Boolean()) },
    'On or off.',
  ),
  button: shape(
    {
      type: Type.Literal('button'),
      ...PropertyTexts,
      button_text: Type.Optional(text('Label of the button.')),
      callback_url: endpointPath('Path below the endpoint that the button opens.'),
    },
    'Opens a page of the integration, usually to connect an account by OAuth; `oauth_credentials` holds the granted credentials.',
  ),
};

/**
 * Selects the schema by `type`: for a union of four schemas an editor would list the faults of
 * each. Each of the four refuses unknown keys.
 */
const PropertySchema = Type.Unsafe<ConfigurationProperty>({
  type: 'object',
  description: 'A setting.',
  required: ['type'],
  properties: {
    type: { enum: Object.keys(PropertySchemas), description: Object.keys(PropertySchemas).join(', ') },
  },
  allOf: Object.entries(PropertySchemas).map(([type, schema]) => ({
    if: { required: ['type'], properties: { type: { const: type } } },
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema, and no promise.
    then: schema,
  })),
});

const ConfigurationSchema = Type.Union([
  shape(
    {
      properties: Type.Object(
        {},
        {
          description: 'Name → setting.',
          propertyNames: Type.String({ pattern: PROPERTY_NAME.source }),
          additionalProperties: PropertySchema,
          maxProperties: PROPERTIES_MAX,
        },
      ),
      required: Type.Optional(
        Type.Array(text('Name of a property.'), { description: 'Properties that must be set.' }),
      ),
    },
    'Settings that a form asks for.',
  ),
  shape({ componentId: text('`componentId` of the component.') }, 'Settings that a component draws itself.'),
]);

const PolicySchema = Type.Union(
  [
    text('The text of the header.', { pattern: POLICY_TEXT, maxLength: POLICY_CHARS_MAX }),
    shape(
      Object.fromEntries(
        DIRECTIVES.map((name) => [
          name,
          Type.Optional(Type.String({ pattern: DIRECTIVE_VALUE.source, maxLength: POLICY_CHARS_MAX })),
        ]),
      ),
      'Directive → its value.',
    ),
  ],
  { description: 'What pages of the integration may load.' },
);

const MEMBERS: Readonly<Record<string, TSchema>> = {
  name: text('Identifier of the integration, unique among all.', { pattern: PLAIN_INTEGRATION_NAME }),
  title: text('Display name of the integration.', { maxLength: TITLE_CHARS_MAX }),
  description: text('A short description.', { maxLength: DESCRIPTION_CHARS_MAX }),
  summary: Type.Optional(text('Markdown, shown on the installation page.', { maxLength: SUMMARY_CHARS_MAX })),
  organization: text('Id or subdomain of the organization that owns the integration.', {
    pattern: ORGANIZATION_ID,
  }),
  visibility: Type.Optional(
    word<Visibility>(
      VISIBILITY_MEANINGS,
      `Which organizations can install: ${VISIBILITIES.join(', ')}; private by default.`,
    ),
  ),
  target: Type.Optional(
    Type.Enum([...MANIFEST_TARGETS], { description: 'Where it can be installed.', default: 'all' }),
  ),
  scopes: Type.Array(word(SCOPE_MEANINGS, `One of ${SCOPES.join(', ')}.`), {
    description: 'The permissions that the integration requests; [] for none.',
  }),
  script: Type.Optional(text('Path of the entrypoint.', { maxLength: SCRIPT_CHARS_MAX })),
  blocks: Type.Optional(Type.Array(BlockSchema, { description: 'Components in the quick insert menu.' })),
  categories: Type.Optional(
    Type.Array(
      Type.Union([
        Type.Enum([...CATEGORIES]),
        ...[...CATEGORY_ALIASES].map(([old, category]) =>
          Type.Literal(old, { deprecated: true, description: `Write ${category}.` }),
        ),
      ]),
      { description: 'Categories.' },
    ),
  ),
  icon: Type.Optional(imagePath(ICON)),
  previewImages: Type.Optional(
    Type.Array(imagePath('A PNG among the uploaded files; 1600 × 800 pixels are recommended.'), {
      description: 'Shown on the installation page.',
      maxItems: PREVIEW_IMAGES_MAX,
    }),
  ),
  externalLinks: Type.Optional(
    Type.Array(LinkSchema, {
      description: 'Links on the installation page.',
      maxItems: EXTERNAL_LINKS_MAX,
    }),
  ),
  configurations: Type.Optional(
    shape(
      Object.fromEntries(CONFIGURATION_LEVELS.map((level) => [level, Type.Optional(ConfigurationSchema)])),
      'Settings of an installation: of the account, of each site, of each space.',
    ),
  ),
  secrets: Type.Optional(
    Type.Object(
      {},
      {
        description: 'Name → value, or an expression with the name of a variable of the publisher.',
        propertyNames: Type.String({ pattern: SECRET_NAME.source }),
        additionalProperties: Type.String(),
      },
    ),
  ),
  contentSecurityPolicy: Type.Optional(PolicySchema),
  contentSources: Type.Optional(
    Type.Array(ContentSourceSchema, {
      description: 'Sources of generated content.',
      maxItems: CONTENT_SOURCES_MAX,
    }),
  ),
  envs: Type.Optional(
    Type.Object(
      {},
      {
        description: 'Name of an environment → members that replace those of the manifest in it.',
        additionalProperties: Type.Object({}),
      },
    ),
  ),
  webhook: Type.Optional(
    shape(
      {
        url: text('Name of the setting that holds the URL of the receiver: a `string`.'),
        eventTypes: text(
          'Name of the setting that holds the types of events that are posted: a `string` with `enum` and `multiple`.',
        ),
      },
      'Webhooks that Annex posts for the integration: the settings of a space or a site that hold the URL and the event types.',
    ),
  ),
  egress: Type.Optional(
    Type.Array(text('A host such as api.example.com or *.example.com, with a port or without.'), {
      description: 'The only hosts that its fetch may reach; [] for none.',
      maxItems: EGRESS_HOSTS_MAX,
    }),
  ),
};

/** The public schema. */
export const MANIFEST_SCHEMA: TSchema = Type.Object(MEMBERS, {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'platform-manifest.yaml',
  description: 'The manifest of an integration.',
  additionalProperties: false,
});
