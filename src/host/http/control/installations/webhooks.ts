/**
 * Webhooks of targets: `…/webhook-secret` reads and rotates the signing secret
 * (docs/contract/webhooks.md#secret), and `…/webhook-test` sends a test event to one target, so
 * that a user sees whether the receiver gets it (docs/contract/webhooks.md#test-events).
 * `…/webhook-headers` sets headers of one's own, whose values are never shown
 * (docs/contract/webhooks.md#own-headers). `…/webhook` shows whether the webhook is healthy, and
 * disables and enables it (docs/contract/webhooks.md#health); `/v1/webhooks` lists those that are
 * not.
 *
 * For principals that may install the target, for code of a call for it, whose component shows the
 * secret to a user, and in part for a page that sets it up. As on all routes here, answers carry
 * `no-store`. Each use is an audit entry, which never contains the secret. A test event takes the
 * path of every other event, and its outcome is in the deliveries.
 */
import type { FastifyRequest } from 'fastify';
import Type from 'typebox';
import { AnnexError } from '../../../../errors.ts';
import { type EventCatalog, includesType } from '../../../../model/event-type.ts';
import type { WebhookEventType } from '../../../../model/example-event.ts';
import { wholeInstallation } from '../../../../model/installation.ts';
import { LEVELS, type Level } from '../../../../model/level.ts';
import { WEBHOOK_EVENT_TYPES, type WebhookDeclaration } from '../../../../model/manifest/webhook.ts';
import {
  BASIC_USER,
  BEARER,
  basicAuthorization,
  HEADER_NAME,
  HEADER_NAME_CHARS_MAX,
  HEADER_VALUE,
  HEADER_VALUE_CHARS_MAX,
  OWN_HEADERS_MAX,
  type OwnHeader,
  ownHeadersFault,
} from '../../../../model/own-headers.ts';
import { maySeeWebhookSecret } from '../../../../model/principal.ts';
import { HEADER_PREFIX, type SignatureScheme, standardSecret } from '../../../../model/signature.ts';
import type { Target } from '../../../../model/target.ts';
import { unknownTarget } from '../../../../model/unknown-name-errors.ts';
import type { TestedType } from '../../../delivery/accept/test-events.ts';
import type { Installation } from '../../../store/installations/target-rows.ts';
import { type UnwellWebhook, WEBHOOK_KEY } from '../../../store/webhooks/webhook-health.ts';
import type { WebhookHealth } from '../../../store/webhooks/webhook-health-rows.ts';
import type { WebhookSecret } from '../../../store/webhooks/webhook-secret-rows.ts';
import {
  OVERLAP_SECONDS_MAX,
  OVERLAP_SECONDS_MIN,
  OWN_SECRET,
  OWN_SECRET_CHARS_MAX,
  OWN_SECRET_CHARS_MIN,
} from '../../../store/webhooks/webhook-secrets.ts';
import { actorOf, holderOf, principalOf } from '../authenticate.ts';
import type { Control } from '../control.ts';
import { cursorOf, organizationRead, PAGE_QUERY, PageOf, pageAnswer, pageRequest } from '../lists.ts';
import { route } from '../route.ts';
import {
  closed,
  isoTime,
  Name,
  NO_CONTROLS,
  NoQuery,
  named,
  Organization,
  optional,
  Time,
} from '../schemas.ts';
import { HEALTH_VIEW, healthView } from './installation-view.ts';
import {
  countedEdit,
  placeView,
  TARGET_NOUNS,
  TARGET_PARAMS,
  TARGET_PATHS,
  TARGET_TAGS,
  targetNameOf,
  visibleTarget,
} from './targets.ts';

/** Characters of a note about a webhook that is disabled. */
const NOTE_CHARS_MAX = 200;

const RotateBody = closed('WebhookSecretRotation', {
  secret: optional(
    Type.String({
      minLength: OWN_SECRET_CHARS_MIN,
      maxLength: OWN_SECRET_CHARS_MAX,
      pattern: OWN_SECRET.source,
    }),
    'Printable ASCII characters without spaces. If absent, a secret is generated.',
  ),
  overlapSeconds: optional(
    Type.Integer({ minimum: OVERLAP_SECONDS_MIN, maximum: OVERLAP_SECONDS_MAX }),
    'Time in which the previous secret signs too. If absent, it stops at once.',
  ),
});

const SecretView = named('WebhookSecret', {
  secret: Type.String({ description: 'The key of the HMAC is the UTF-8 of this text.' }),
  standardSecret: optional(
    Type.String(),
    'The same secret as receivers of Standard Webhooks take it, `whsec_…`, if these webhooks are signed so.',
  ),
  createdAt: Time,
  headerPrefix: optional(
    Type.String(),
    'Beginning of the names of the headers, where the operator has set another than `X-Platform`.',
  ),
  previous: Type.Optional(
    Type.Object(
      { until: Time },
      { description: 'End of the time in which the previous secret signs too, second in the header.' },
    ),
  ),
});

const TestBody = Type.Optional(
  closed('WebhookToTest', {
    type: optional(
      Type.String({ maxLength: 128 }),
      'A type that the configuration selects; if absent, the first of them.',
    ),
  }),
);

const TestView = named('WebhookTest', {
  eventId: Type.String(),
  deliveries: Type.Integer({
    description: '0 if the code does not handle the type or lacks its scope.',
  }),
});

/** What the routes of a level share: each use is an audit entry, so it counts as an edit. */
const common = (level: Level) => ({
  // Of calls for a space or a site.
  forRuntime: level !== 'organization',
  rate: countedEdit(level),
  params: TARGET_PARAMS[level],
  query: NoQuery,
});

const secretRoutes = (level: Level) => [
  route({
    ...common(level),
    name: `${TARGET_TAGS[level]}.getWebhookSecret`,
    at: `GET ${TARGET_PATHS[level]}/webhook-secret`,
    right: 'install',
    forUi: 'webhook',
    summary: `Read the webhook secret of ${TARGET_NOUNS[level]}`,
    answer: SecretView,
    async handle(request, control) {
      const { installation, scheme } = await webhookTarget(control, request, level);
      const secret = await control.webhookSecrets.reveal(installation, actorOf(request));
      return secretView(secret, control, scheme);
    },
  }),
  route({
    ...common(level),
    name: `${TARGET_TAGS[level]}.rotateWebhookSecret`,
    at: `POST ${TARGET_PATHS[level]}/webhook-secret/rotate`,
    right: 'install',
    forUi: 'webhook',
    summary: `Rotate the webhook secret of ${TARGET_NOUNS[level]}`,
    description:
      'At once, or with an overlap in which each webhook has two signatures, the new one first. A rotation during ' +
      'an overlap ends that overlap: the replaced secret becomes the previous one, and the earlier one stops signing.',
    body: RotateBody,
    answer: SecretView,
    async handle(request, control) {
      const { installation, scheme } = await webhookTarget(control, request, level);
      const { secret, overlapSeconds } = request.body;
      const rotation = { secret, overlapMs: overlapSeconds && overlapSeconds * 1_000 };
      const rotated = await control.webhookSecrets.rotate(installation, rotation, actorOf(request));
      return secretView(rotated, control, scheme);
    },
  }),
];

const HeaderText = (pattern: RegExp, maxLength: number) =>
  Type.String({ minLength: 1, maxLength, pattern: pattern.source });

/** Characters of a user name and of a password; together they are a value in base64. */
const CREDENTIAL_CHARS_MAX = 512;

const HeadersBody = closed('WebhookHeadersToSet', {
  headers: optional(
    Type.Array(
      closed('WebhookHeader', {
        name: HeaderText(HEADER_NAME, HEADER_NAME_CHARS_MAX),
        value: HeaderText(HEADER_VALUE, HEADER_VALUE_CHARS_MAX),
      }),
      { maxItems: OWN_HEADERS_MAX },
    ),
    'Visible ASCII characters, with spaces inside a value.',
  ),
  basic: optional(
    closed('BasicAuthentication', {
      username: Type.String({ maxLength: CREDENTIAL_CHARS_MAX, pattern: BASIC_USER }),
      password: Type.String({ maxLength: CREDENTIAL_CHARS_MAX, pattern: NO_CONTROLS }),
    }),
    'HTTP Basic authentication, as `Authorization`.',
  ),
  bearer: optional(
    HeaderText(BEARER, HEADER_VALUE_CHARS_MAX - 'Bearer '.length),
    'A token, as `Authorization`.',
  ),
});

const HeadersView = named('WebhookHeaders', {
  names: Type.Array(Type.String(), { description: 'In lower case; the values are never shown.' }),
  origin: optional(Type.String(), 'Requests to it alone carry the headers.'),
});

/** What the routes of headers and health share: they are not for code. */
const notForCode = (level: Level) => ({ params: TARGET_PARAMS[level], query: NoQuery });

const headersRoutes = (level: Level) => [
  route({
    ...notForCode(level),
    name: `${TARGET_TAGS[level]}.getWebhookHeaders`,
    at: `GET ${TARGET_PATHS[level]}/webhook-headers`,
    summary: `Read the names of the own headers of the webhook of ${TARGET_NOUNS[level]}`,
    answer: HeadersView,
    async handle(request, control) {
      const { installation } = await webhookTarget(control, request, level);
      return headersView(control, installation);
    },
  }),
  route({
    ...notForCode(level),
    name: `${TARGET_TAGS[level]}.setWebhookHeaders`,
    at: `PUT ${TARGET_PATHS[level]}/webhook-headers`,
    right: 'install',
    summary: `Set the own headers of the webhook of ${TARGET_NOUNS[level]}`,
    description:
      'Replaces all of them. Requests to the origin that the URL of the webhook has now carry them; after a change to another origin they are set again.',
    rate: countedEdit(level),
    body: HeadersBody,
    answer: HeadersView,
    async handle(request, control) {
      const { installation, webhook } = await webhookTarget(control, request, level);
      const { headers = [], basic, bearer } = request.body;
      const authorizations = [
        ...(basic ? [basicAuthorization(basic.username, basic.password)] : []),
        ...(bearer === undefined ? [] : [`Bearer ${bearer}`]),
      ];
      const all = [...headers, ...authorizations.map((value) => ({ name: 'Authorization', value }))];
      const url = urlFor(all, control, installation.configuration[webhook.url]);
      await control.webhookSecrets.setHeaders(installation, { headers: all, url }, actorOf(request));
      return headersView(control, installation);
    },
  }),
  route({
    ...notForCode(level),
    name: `${TARGET_TAGS[level]}.deleteWebhookHeaders`,
    at: `DELETE ${TARGET_PATHS[level]}/webhook-headers`,
    right: 'install',
    summary: `Remove the own headers of the webhook of ${TARGET_NOUNS[level]}`,
    rate: countedEdit(level),
    async handle(request, control) {
      const { installation } = await webhookTarget(control, request, level);
      await control.webhookSecrets.setHeaders(installation, undefined, actorOf(request));
    },
  }),
];

async function headersView({ webhookSecrets }: Pick<Control, 'webhookSecrets'>, installation: Installation) {
  const set = await webhookSecrets.headers(installation);
  return set === undefined ? { names: [] } : { names: set.names, origin: new URL(set.url).origin };
}

/**
 * The URL to whose origin headers may be sent.
 *
 * @throws AnnexError REQUEST_INVALID, WEBHOOK_URL_MISSING
 */
function urlFor(headers: readonly OwnHeader[], control: Control, configured: unknown): string {
  const fault = ownHeadersFault(headers, control.webhookHeaderPrefix);
  if (fault !== undefined) throw new AnnexError('REQUEST_INVALID', fault);
  const url = typeof configured === 'string' ? configured : '';
  if (URL.canParse(url)) return url;
  throw new AnnexError('WEBHOOK_URL_MISSING', 'The settings of the webhook have no URL yet: set it first.');
}

const testRoute = (level: Level) =>
  route({
    ...common(level),
    name: `${TARGET_TAGS[level]}.testWebhook`,
    at: `POST ${TARGET_PATHS[level]}/webhook-test`,
    right: 'install',
    forUi: 'webhook',
    summary: `Test the webhook of ${TARGET_NOUNS[level]}`,
    description: 'Accepts an example event, as the host product would post it, for this target only.',
    body: TestBody,
    answer: TestView,
    status: 202,
    async handle(request, control) {
      const { installation, webhook } = await webhookTarget(control, request, level);
      await requireActive(control, installation);
      if ((await control.webhookHealths.read(installation)).state === 'disabled')
        throw new AnnexError(
          'WEBHOOK_DISABLED',
          'The webhook is disabled: a test would be held, too. Enable it.',
        );
      const catalog = await control.eventTypes.catalog();
      const type = selectedType(installation, webhook.eventTypes, { asked: request.body.type, catalog });
      const { eventId, deliveries } = await control.testEvents.send(installation, type, actorOf(request));
      return { eventId, deliveries };
    },
  });

/** What every view of a webhook has. */
const WEBHOOK = {
  installation: Type.String({ description: 'Id of the installation that it belongs to.' }),
  space: Type.Optional(Type.String()),
  site: Type.Optional(Type.String()),
  integration: Type.String(),
  organization: Type.String(),
  ...HEALTH_VIEW,
};

const WebhookView = named('Webhook', WEBHOOK);

const WHOLE_WEBHOOK = {
  ...WEBHOOK,
  outcomes: optional(
    Type.Array(named('WebhookOutcome', { outcome: Type.String(), deliveries: Type.Integer() })),
    'While it is failing: how the last attempts at its deliveries ended, of those that it has not accepted; the most frequent first.',
  ),
  held: Type.Integer({ description: 'Deliveries that are held for a replay; counted up to 10,000.' }),
};

const WholeWebhookView = named('WholeWebhook', WHOLE_WEBHOOK);

const ReadWebhookView = named('WebhookWithTypes', {
  ...WHOLE_WEBHOOK,
  types: Type.Array(
    named('SelectedEventType', { type: Type.String(), title: Type.Optional(Type.String()) }),
    {
      description: 'Types of events that its settings select: those that a test may have.',
    },
  ),
});

const EnabledView = named('EnabledWebhook', {
  ...WHOLE_WEBHOOK,
  replayed: optional(Type.Integer(), 'Number of held deliveries that are pending again.'),
  next: optional(
    Type.String(),
    'Present if more are held: send it as `cursor` of `POST /v1/deliveries/replay`, with the state `held`.',
  ),
});

const DisableBody = Type.Optional(
  closed('WebhookDisabling', {
    note: optional(Type.String({ maxLength: NOTE_CHARS_MAX, pattern: NO_CONTROLS }), 'Why, for people.'),
  }),
);

const EnableBody = Type.Optional(
  closed('WebhookEnabling', {
    replay: optional(Type.Boolean(), 'Whether to deliver what was held, oldest first.'),
  }),
);

const healthRoutes = (level: Level) => [
  route({
    ...notForCode(level),
    name: `${TARGET_TAGS[level]}.getWebhook`,
    at: `GET ${TARGET_PATHS[level]}/webhook`,
    summary: `Read the state of the webhook of ${TARGET_NOUNS[level]}`,
    forUi: 'webhook',
    answer: ReadWebhookView,
    async handle(request, control) {
      const { installation, webhook } = await webhookTarget(control, request, level);
      const health = await control.webhookHealths.read(installation);
      const catalog = await control.eventTypes.catalog();
      const { selected } = eventTypesOf(installation, webhook.eventTypes, catalog);
      const types = selected.map((type) => ({ type, title: catalog.get(type)?.title }));
      return { ...(await wholeWebhookView(control, installation, health)), types };
    },
  }),
  route({
    ...notForCode(level),
    name: `${TARGET_TAGS[level]}.disableWebhook`,
    at: `POST ${TARGET_PATHS[level]}/webhook/disable`,
    right: 'install',
    summary: `Disable the webhook of ${TARGET_NOUNS[level]}`,
    description: 'Nothing is posted to its receiver until it is enabled; its deliveries are held meanwhile.',
    rate: countedEdit(level),
    body: DisableBody,
    answer: WholeWebhookView,
    async handle(request, control) {
      const { installation } = await webhookTarget(control, request, level);
      const note = request.body?.note;
      const health = await control.webhookHealths.disable(installation, note, actorOf(request));
      return wholeWebhookView(control, installation, health);
    },
  }),
  route({
    ...notForCode(level),
    name: `${TARGET_TAGS[level]}.enableWebhook`,
    at: `POST ${TARGET_PATHS[level]}/webhook/enable`,
    right: 'install',
    forUi: 'webhook',
    summary: `Enable the webhook of ${TARGET_NOUNS[level]}`,
    description:
      'What the operator or the host product has disabled, only a token of that kind enables. With `replay`, what was held is delivered: a bounded number for each request, a few at a time, and one at a time while the receiver fails.',
    rate: countedEdit(level),
    body: EnableBody,
    answer: EnabledView,
    async handle(request, control) {
      const { installation } = await webhookTarget(control, request, level);
      const by = actorOf(request);
      const health = await control.webhookHealths.enable(installation, by);
      const { installationId, place } = installation;
      const held = { installationId, place: { level, place }, state: 'held' } as const;
      const isReplayed = request.body?.replay === true;
      const { replayed, next } = isReplayed ? await control.deliveryActions.replay(held, by) : {};
      const view = await wholeWebhookView(control, installation, health);
      return { ...view, replayed, next: next && cursorOf(next) };
    },
  }),
];

const listRoute = route({
  name: 'webhooks.list',
  at: 'GET /webhooks',
  summary: 'List webhooks that are failing or disabled',
  description: 'By installation and place. An organization sees those of its own installations.',
  query: Type.Object(
    {
      ...PAGE_QUERY,
      state: Type.Optional(Type.Enum(['failing', 'disabled'])),
      organization: Type.Optional(Organization),
      integration: Type.Optional(Name),
    },
    { additionalProperties: false },
  ),
  answer: PageOf(WebhookView),
  async handle(request, { webhookHealths }) {
    const { state, organization: asked, integration, ...query } = request.query;
    const organization = organizationRead(holderOf(request), asked, 'webhooks');
    const found = await webhookHealths.list({
      ...pageRequest(query, WEBHOOK_KEY),
      ...{ state, organization, integration },
    });
    return pageAnswer(found, (webhook) => webhookView(webhook, webhook.health));
  },
});

export const WEBHOOK_ROUTES = [
  ...LEVELS.flatMap(secretRoutes),
  ...LEVELS.map(testRoute),
  ...LEVELS.flatMap(headersRoutes),
  ...LEVELS.flatMap(healthRoutes),
  listRoute,
];

const webhookView = (
  { installationId, level, place, integration, organization }: Omit<UnwellWebhook, 'health'>,
  health: WebhookHealth,
) => ({
  ...{ installation: installationId, ...placeView({ level, place }), integration, organization },
  ...healthView(health),
});

async function wholeWebhookView(
  { webhookHealths }: Pick<Control, 'webhookHealths'>,
  installation: Installation,
  health: WebhookHealth,
) {
  const { outcomes, held } = await webhookHealths.details(installation, health.failing?.since);
  const failing = health.failing === undefined ? {} : { outcomes: [...outcomes] };
  return { ...webhookView(installation, health), ...failing, held };
}

const secretView = (
  { secret, createdAt, previous }: WebhookSecret,
  { webhookHeaderPrefix: prefix }: Control,
  scheme: SignatureScheme | undefined = 'platform',
) => ({
  secret,
  ...(scheme !== 'platform' && { standardSecret: standardSecret(secret) }),
  createdAt: isoTime(createdAt),
  headerPrefix: prefix === HEADER_PREFIX ? undefined : prefix,
  previous: previous && { until: isoTime(previous.until) },
});

/** A target with a webhook. */
interface WebhookTarget {
  readonly installation: Installation;
  readonly webhook: WebhookDeclaration;
  readonly scheme: SignatureScheme | undefined;
}

/** @throws AnnexError INSTALLATION_UNKNOWN, TOKEN_FORBIDDEN, WEBHOOK_UNKNOWN */
async function webhookTarget(
  control: Control,
  request: FastifyRequest,
  level: Level,
): Promise<WebhookTarget> {
  const name = targetNameOf(request, level);
  const installation = await visibleTarget(control, request, level);
  if (!maySeeWebhookSecret(principalOf(request), installation)) {
    const message = `The webhook of a ${level} needs a token that may install there, or the runtime token of a call for that ${level}.`;
    throw new AnnexError('TOKEN_FORBIDDEN', message);
  }
  const target = await control.targets.named(name);
  if (target === undefined) throw unknownTarget(name);
  if (target.webhook === undefined) throw noWebhook(target);
  // Only declared types happen at the level of the organization.
  if (level === 'organization') {
    const { all } = await control.eventTypes.catalog();
    if (!all.some((type) => type.webhook && type.level === level)) throw noWebhook(target);
  }
  return { installation, webhook: target.webhook, scheme: target.webhookSignature };
}

function noWebhook({ integration, level }: Target): AnnexError {
  const why =
    level === 'organization'
      ? 'webhooks belong to spaces and sites: use ".../spaces/{space}" or ".../sites/{site}", if its manifest has "webhook".'
      : 'the manifest of its active version has no "webhook".';
  return new AnnexError('WEBHOOK_UNKNOWN', `Integration "${integration}" posts no webhooks there: ${why}`);
}

/**
 * The type to test. An unselected type is refused for a test too: its receiver would get an event
 * that it never gets otherwise (docs/contract/webhooks.md#selection).
 *
 * @param setting property with the selected types
 * @throws AnnexError EVENT_UNSELECTED
 */
function selectedType(
  installation: Installation,
  setting: string,
  { asked, catalog }: { readonly asked: string | undefined; readonly catalog: EventCatalog },
): TestedType {
  const { types, selected } = eventTypesOf(installation, setting, catalog);
  if (asked !== undefined && !types.includes(asked))
    throw new AnnexError('REQUEST_INVALID', `body.type must be one of ${types.join(', ')}.`);
  const chosen = asked === undefined ? selected[0] : selected.find((one) => one === asked);
  const defined: readonly WebhookEventType[] = WEBHOOK_EVENT_TYPES[installation.level];
  const type = catalog.get(chosen ?? '') ?? defined.find((one) => one === chosen);
  if (type !== undefined) return type;
  const message =
    selected.length === 0
      ? `"${setting}" selects no type of event, and only selected types are posted: choose from ${types.join(', ')}.`
      : `"${setting}" does not select ${asked}, and only selected types are posted: it selects ${selected.join(', ')}.`;
  throw new AnnexError('EVENT_UNSELECTED', message);
}

/** The types of a webhook's level, and those of them that its settings select. */
function eventTypesOf({ level, configuration }: Installation, setting: string, catalog: EventCatalog) {
  const defined: readonly string[] = WEBHOOK_EVENT_TYPES[level];
  const declared = catalog.all.filter((type) => type.webhook && type.level === level).map(({ name }) => name);
  const stored: readonly unknown[] = Array.isArray(configuration[setting]) ? configuration[setting] : [];
  const names = new Set(stored);
  const selected = [
    ...stored.flatMap((one) => defined.find((type) => type === one) ?? []),
    ...declared.filter((name) => includesType(names, name)),
  ];
  return { types: [...defined, ...declared], selected };
}

/** @throws AnnexError INSTALLATION_INACTIVE with the reason */
async function requireActive({ installations }: Control, target: Installation): Promise<void> {
  const installation = await installations.read(wholeInstallation(target.installationId));
  for (const one of [installation, target]) {
    if (one === undefined) throw unknownTarget(target);
    const what = one === installation ? 'The installation' : `The ${one.level} "${one.place}"`;
    if (one.status === 'paused')
      throw new AnnexError(
        'INSTALLATION_INACTIVE',
        `${what} is paused: it gets no events until it is resumed.`,
      );
    if (one.status === 'active') continue;
    const problems = await installations.problemsOf(one);
    const reasons = problems.map(({ message }) => message).join(' ');
    const message = `${what} is pending: it gets no events until its configuration is valid. ${reasons}`;
    throw new AnnexError('INSTALLATION_INACTIVE', message.trimEnd());
  }
}
