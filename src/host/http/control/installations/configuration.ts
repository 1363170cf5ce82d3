/**
 * `…/configuration`: the configuration of a target as a form: the properties that the active
 * version's manifest declares, with their values (docs/contract/configuration.md#form). It is saved
 * there, too: fields that people set, and nothing else of the target. Values of credentials are
 * never sent.
 *
 * `…/ui-tokens`: a token for a page that shows this form, in the browser of a person
 * (docs/contract/api.md#ui-tokens).
 */
import type { FastifyReply } from 'fastify';
import Type from 'typebox';
import { AnnexError } from '../../../../errors.ts';
import { type ConfigurationForm, configurationForm } from '../../../../model/configuration-form.ts';
import { INSTALLATION_STATUSES } from '../../../../model/installation.ts';
import { LEVELS, type Level } from '../../../../model/level.ts';
import { CREDENTIALS_PROPERTY } from '../../../../model/manifest/configuration.ts';
import { unknownIntegration } from '../../../../model/unknown-name-errors.ts';
import type { Installation } from '../../../store/installations/target-rows.ts';
import { publicEndpoint } from '../../../targets/target-resolver.ts';
import { actorOf, holderOf } from '../authenticate.ts';
import type { Control } from '../control.ts';
import { expectedRevision, IfMatch, tagReply } from '../entity-tag.ts';
import { route } from '../route.ts';
import { closed, isoTime, NoQuery, named, optional, Time } from '../schemas.ts';
import { editBytesMax } from './installation-view.ts';
import {
  countedEdit,
  TARGET_NOUNS,
  TARGET_PARAMS,
  TARGET_PATHS,
  TARGET_TAGS,
  visibleTarget,
} from './targets.ts';

const FieldView = named('ConfigurationField', {
  name: Type.String(),
  type: Type.Enum(['string', 'number', 'boolean', 'button']),
  title: Type.Optional(Type.String()),
  description: Type.Optional(Type.String()),
  required: Type.Boolean(),
  default: Type.Optional(Type.Unknown()),
  enum: optional(Type.Array(Type.String()), 'Options of a dropdown.'),
  titles: optional(
    Type.Record(Type.String(), Type.String()),
    'Option → its title, where options have titles.',
  ),
  multiple: optional(Type.Boolean(), 'Several options may be chosen: the value is a list.'),
  completion: optional(Type.Boolean(), 'The integration supplies the options, at `…/completions`.'),
  button_text: Type.Optional(Type.String()),
  callback_url: optional(Type.String(), 'Absolute URL that the button opens.'),
  value: optional(Type.Unknown(), 'Absent if nothing is set, and for sealed properties.'),
  sealed: optional(Type.Boolean(), 'The property has credentials, which are never shown.'),
  isSet: optional(Type.Boolean(), 'Whether a sealed property has a value.'),
  isLost: optional(Type.Boolean(), 'Whether the provider refuses its credentials for good: connect again.'),
  account: optional(Type.String(), 'Name of the account that is connected, where the code stores one.'),
});

const FormView = named('ConfigurationForm', {
  level: Type.Enum([...LEVELS]),
  levelName: optional(Type.String(), "The product's word for the level, where it has one."),
  status: Type.Enum([...INSTALLATION_STATUSES]),
  componentId: optional(Type.String(), 'Component that draws the configuration, instead of a form.'),
  properties: optional(Type.Array(FieldView), "In the manifest's order."),
  problems: optional(
    Type.Array(
      Type.Object({ property: Type.String(), message: Type.String(), hint: Type.Optional(Type.String()) }),
    ),
    'Problems that make the configuration invalid.',
  ),
});

const SaveBody = closed('ConfigurationToSave', {
  configuration: Type.Unsafe<Record<string, unknown>>(
    Type.Object(
      {},
      {
        additionalProperties: true,
        description: 'Values of fields; null removes one, and disconnects `oauth_credentials`.',
      },
    ),
  ),
});

/** Seconds. */
const EXPIRES_IN_MAX = 3_600;
const EXPIRES_IN = 900;
const ORIGINS_MAX = 10;

const UiTokenBody = Type.Optional(
  closed('UiTokenToCreate', {
    expiresIn: optional(
      Type.Integer({ minimum: 1, maximum: EXPIRES_IN_MAX }),
      `Seconds; ${EXPIRES_IN} by default.`,
    ),
    origins: optional(
      Type.Array(Type.String({ maxLength: 300, pattern: '^https?://[a-z0-9.-]{1,253}(:[0-9]{1,5})?$' }), {
        maxItems: ORIGINS_MAX,
      }),
      'Origins of the pages that may use it, such as `https://app.example.com`.',
    ),
    webhook: optional(
      Type.Boolean(),
      'Whether it also sets up the webhook of the target: its secret, tests, and deliveries to it.',
    ),
  }),
);

const UiTokenView = named('UiToken', {
  token: Type.String({ description: 'Shown only here.' }),
  expiresAt: Time,
});

const LevelNamesView = named('LevelNames', {
  space: Type.Optional(Type.String()),
  site: Type.Optional(Type.String()),
});

const levelNamesRoute = route({
  name: 'level-names.get',
  at: 'GET /level-names',
  summary: "Read the product's words for spaces and sites",
  description: 'For what people see. A level without a word keeps its name.',
  query: NoQuery,
  answer: LevelNamesView,
  handle: async (_, { levelNames }) => levelNames,
});

const ofLevel = (level: Level) => [
  route({
    name: `${TARGET_TAGS[level]}.getConfiguration`,
    at: `GET ${TARGET_PATHS[level]}/configuration`,
    summary: `Read the configuration of ${TARGET_NOUNS[level]} as a form`,
    forRuntime: true,
    forUi: true,
    params: TARGET_PARAMS[level],
    query: NoQuery,
    answer: FormView,
    handle: async (request, control, reply) =>
      formOf(control, reply, await visibleTarget(control, request, level)),
  }),
  route({
    name: `${TARGET_TAGS[level]}.saveConfiguration`,
    at: `PATCH ${TARGET_PATHS[level]}/configuration`,
    right: 'install',
    summary: `Save fields of the configuration of ${TARGET_NOUNS[level]}`,
    description:
      'Sets what the form has, and leaves all else as it is. An edit that makes an active installation invalid gets 422.',
    forUi: true,
    rate: countedEdit(level),
    headers: IfMatch,
    params: TARGET_PARAMS[level],
    query: NoQuery,
    body: SaveBody,
    bodyBytesMax: editBytesMax,
    answer: FormView,
    async handle(request, control, reply) {
      const target = await visibleTarget(control, request, level);
      const { configuration } = request.body;
      await requireFields(control, target, configuration);
      const ifRevision = expectedRevision(request, target);
      const on = ifRevision === undefined ? {} : { ifRevision, ifEndpointKey: target.endpointKey };
      const asked = { configuration, others: 'stay', ifInvalid: 'refuse' } as const;
      const edited = await control.installations.edit(target, asked, on, actorOf(request));
      return formOf(control, reply, edited.installation);
    },
  }),
  route({
    name: `${TARGET_TAGS[level]}.createUiToken`,
    at: `POST ${TARGET_PATHS[level]}/ui-tokens`,
    right: 'install',
    summary: `Create a token for a page that configures ${TARGET_NOUNS[level]}`,
    description:
      'It reads and saves this form, gets the options of its properties, and draws the component of its settings.',
    params: TARGET_PARAMS[level],
    query: NoQuery,
    body: UiTokenBody,
    answer: UiTokenView,
    status: 201,
    async handle(request, control) {
      const { tokenId: issuer } = holderOf(request);
      const installed = await visibleTarget(control, request, level);
      const { installationId, place, integration, organization } = installed;
      const target = { installationId, level, place };
      const { expiresIn = EXPIRES_IN, origins = [], webhook = false } = request.body;
      const asked = { integration, target, issuer, origins, expiresIn, webhook };
      const made = await control.uiTokens.create(asked);
      if (made === undefined) throw unknownIntegration(integration);
      const details = { expiresIn, ...(origins.length > 0 && { origins }), ...(webhook && { webhook }) };
      await control.tokens.recordUiToken({ organization, integration, target, details }, actorOf(request));
      return { token: made.token, expiresAt: isoTime(made.expiresAt) };
    },
  }),
];

export const CONFIGURATION_ROUTES = [levelNamesRoute, ...LEVELS.flatMap(ofLevel)];

/** The form of a target, with its tag in the reply. */
async function formOf(control: Control, reply: FastifyReply, target: Installation) {
  const { installations, levelNames, lostConnections } = control;
  const levelName = target.level === 'organization' ? undefined : levelNames[target.level];
  const form = await plainForm(control, target);
  const problems = await installations.problemsOf(target);
  const properties = form.properties?.map(async (field) => {
    if (field.sealed !== true || !target.hasCredentials) return field;
    const account = accountOf((await installations.credentialsOf(target))());
    const isLost = await lostConnections.isLost(target);
    return { ...field, ...(isLost && { isLost }), ...(account !== undefined && { account }) };
  });
  tagReply(reply, target, problems);
  return {
    ...form,
    ...(levelName !== undefined && { levelName }),
    ...(properties && { properties: await Promise.all(properties) }),
    ...(problems.length > 0 && { problems }),
  };
}

async function plainForm(
  { registry, origins, eventTypes }: Control,
  target: Installation,
): Promise<ConfigurationForm> {
  const integration = await registry.integration(target.integration);
  const version = integration && (await registry.version(integration.name, integration.activeVersion));
  if (version === undefined) throw unknownIntegration(target.integration);
  const shown = { ...target, publicEndpoint: publicEndpoint(origins, target.endpointKey) };
  return configurationForm(version.manifest, shown, await eventTypes.catalog());
}

const ACCOUNT_CHARS_MAX = 200;

/** The one member of credentials that is shown. */
function accountOf(credentials: unknown): string | undefined {
  const isObject = typeof credentials === 'object' && credentials !== null;
  const account = isObject && 'account' in credentials ? credentials.account : undefined;
  return typeof account === 'string' && account !== '' ? account.slice(0, ACCOUNT_CHARS_MAX) : undefined;
}

/**
 * Attack: a person in a page stores credentials of another account, what a button's code stores, or
 * a property that the manifest does not declare and the code or the product relies on.
 *
 * @throws AnnexError PROPERTY_UNKNOWN
 */
async function requireFields(
  control: Control,
  target: Installation,
  configuration: Readonly<Record<string, unknown>>,
): Promise<void> {
  const { properties = [] } = await plainForm(control, target);
  const isField = ([name, value]: [string, unknown]) =>
    properties.some(
      (field) =>
        field.name === name && (field.type !== 'button' || (name === CREDENTIALS_PROPERTY && value === null)),
    );
  const other = Object.entries(configuration).find((entry) => !isField(entry));
  if (other === undefined) return;
  const message = `The form has no field "${other[0].slice(0, 64)}" that is set here.`;
  throw new AnnexError('PROPERTY_UNKNOWN', message);
}
