/**
 * `webhook` of a manifest (`docs/contract/manifest.md#webhook`): the integration declares URL
 * and event types, and Annex signs, posts and retries the webhooks.
 *
 * It names two settings, which the host reads without running the code: the URL is checked when it
 * is saved (`docs/contract/webhooks.md#destination`), and an event type that is not selected causes
 * no delivery (`docs/contract/webhooks.md#selection`).
 */
import { isEventPattern } from '../identifiers.ts';
import type { Level } from '../level.ts';
import {
  DELAY,
  DELAYS_MAX,
  RETRY_SCHEDULE_NAMES,
  type RetrySchedule,
  retrySchedule,
  SCHEDULE_WANTED,
  type WrittenSchedule,
} from '../retry-schedule.ts';
import { SIGNATURE_SCHEMES, type SignatureScheme } from '../signature.ts';
import type { ConfigurationProperty, Configurations } from './configuration.ts';
import { choice, type Field, map, optional, type ReadOf, text, texts } from './field.ts';
import type { YamlFields } from './yaml-fields.ts';

/**
 * A retry schedule: a name, or a list of delays.
 *
 * @param more further names
 */
export const retriesField = <Name extends string = never>(
  description: string,
  ...more: readonly Name[]
): Field<WrittenSchedule | Name> => {
  const names = [...RETRY_SCHEDULE_NAMES, ...more];
  const delays = texts('A delay such as 10s, 5m, 2h or 1d.', {
    ...{ description: 'Delays before each retry.', max: DELAYS_MAX, pattern: DELAY },
    wanted: 'a delay such as 10s, 5m, 2h or 1d',
  });
  return {
    schema: { anyOf: [{ enum: names }, { ...delays.schema, minItems: 1 }], description },
    read(fields, key) {
      if (!Array.isArray(fields.raw(key))) return fields.choice(key, names);
      const written = delays.read(fields, key) ?? [];
      if (retrySchedule(written) === undefined)
        fields.error(key, `${fields.nameOf(key)} must be ${SCHEDULE_WANTED}.`);
      return written;
    },
  };
};

const SCHEMES: Readonly<Record<SignatureScheme, string>> = {
  platform: 'By the header X-Platform-Signature.',
  standard: 'By the headers of Standard Webhooks.',
  both: 'By both.',
};

/** Requests per second at most, and what an installer chooses from. */
const RATE_MAX = 100;
const RATES = ['1', '2', '5', '10', '20', '50', '100'] as const;
const isRate = (value: unknown): value is number =>
  Number.isInteger(value) && (value as number) >= 1 && (value as number) <= RATE_MAX;

const rateField: Field<number> = {
  schema: {
    type: 'integer',
    ...{ minimum: 1, maximum: RATE_MAX },
    description: 'How many requests may be sent to the receiver in a second; unbounded where it is left out.',
  },
  read(fields, key) {
    const value = fields.raw(key);
    if (isRate(value)) return value;
    fields.error(
      key,
      `${fields.nameOf(key)} must be a whole number of requests per second, 1 to ${RATE_MAX}.`,
    );
    return RATE_MAX;
  },
};

const MEMBERS = {
  url: text('Name of the setting that holds the URL of the receiver: a `string`.'),
  eventTypes: text(
    'Name of the setting that holds the types of events that are posted: a `string` with `enum` and `multiple`.',
  ),
  retries: optional(
    retriesField("When a failed webhook is retried; the operator's choice where it is left out."),
  ),
  retriesSetting: optional(
    text('Name of the setting by which the installer chooses `retries`: a `string` with `enum`.'),
  ),
  signature: optional(
    choice(SCHEMES, "How webhooks are signed; the operator's choice where it is left out."),
  ),
  signatureSetting: optional(
    text('Name of the setting by which the installer chooses `signature`: a `string` with `enum`.'),
  ),
  rate: optional(rateField),
  rateSetting: optional(
    text('Name of the setting by which the installer chooses `rate`: a `string` with `enum`.'),
  ),
};

/** Names of properties in the configurations of spaces and sites. */
export type WebhookDeclaration = ReadOf<typeof MEMBERS>;

export const WEBHOOK = map(
  MEMBERS,
  'Webhooks that Annex posts for the integration: the settings of a space or a site that hold the URL and the event types.',
);

/** What manifest and settings choose for the webhooks of a target. */
export interface WebhookChoices {
  readonly webhookRetries?: RetrySchedule;
  readonly webhookSignature?: SignatureScheme;
  /** Requests per second. */
  readonly webhookRate?: number;
}

/** A choice is absent where manifest and settings make none. */
export function webhookChoices(
  { retries, retriesSetting, signature, signatureSetting, rate, rateSetting }: WebhookDeclaration,
  configuration: Readonly<Record<string, unknown>>,
): WebhookChoices {
  const chosen = (setting: string | undefined) => {
    const value = setting === undefined ? undefined : configuration[setting];
    return typeof value === 'string' ? value : undefined;
  };
  // A stored choice may be of an earlier version that had others.
  const webhookRetries = retrySchedule(chosen(retriesSetting) ?? '') ?? (retries && retrySchedule(retries));
  const named = chosen(signatureSetting);
  const webhookSignature = SIGNATURE_SCHEMES.find((scheme) => scheme === named) ?? signature;
  const perSecond = Number(chosen(rateSetting));
  const webhookRate = isRate(perSecond) ? perSecond : rate;
  return {
    ...(webhookRetries && { webhookRetries }),
    ...(webhookSignature && { webhookSignature }),
    ...(webhookRate && { webhookRate }),
  };
}

/** Level → event types that can be selected there (`docs/contract/webhooks.md#selection`). */
export const WEBHOOK_EVENT_TYPES = {
  organization: [],
  space: ['space_content_updated'],
  site: ['site_view', 'page_feedback'],
} as const satisfies Readonly<Record<Level, readonly string[]>>;

/** Level → event types of the product that can be selected there, beside those. */
export type WebhookTypes = Readonly<Record<Level, readonly string[]>>;
const NO_TYPES: WebhookTypes = { organization: [], space: [], site: [] };

/**
 * Levels with webhook settings. Only declared types happen at the level of the organization, so the
 * settings of the account need not have any.
 */
const WEBHOOK_LEVELS = ['space', 'site'] as const;
type WebhookLevel = (typeof WEBHOOK_LEVELS)[number] | 'account';
const LEVEL_OF = { account: 'organization', space: 'space', site: 'site' } as const;

/**
 * Checks the settings that `webhook` names in the configurations of spaces and sites.
 *
 * @param fields the fields of the whole manifest
 * @param declared event types of the product
 */
export function checkWebhook(
  webhook: WebhookDeclaration,
  fields: YamlFields,
  configurations: Configurations,
  declared: WebhookTypes = NO_TYPES,
): void {
  const levels = WEBHOOK_LEVELS.filter((level) => configurations[level] !== undefined);
  if (levels.length === 0) {
    const hint = 'Declare "configurations.space" or "configurations.site".';
    fields.error('webhook', 'The settings that "webhook" names are those of a space or a site.', hint);
  }
  const account = configurations.account?.properties ?? {};
  const isOfAccount = [webhook.url, webhook.eventTypes].every((name) => Object.hasOwn(account, name));
  for (const level of [...levels, ...(isOfAccount ? (['account'] as const) : [])]) {
    const { componentId, properties = {} } = configurations[level] ?? {};
    if (componentId === undefined) checkSettings(webhook, { fields, level, properties, declared });
    else {
      const message = `The settings that "webhook" names must be "properties" of "configurations.${level}".`;
      const hint = 'A component stores its settings in its own way, so Annex cannot find them there.';
      fields.error(['configurations', level, 'componentId'], message, hint);
    }
  }
}

/** A level with the properties of its configuration. */
interface LevelSettings {
  /** The fields of the whole manifest. */
  readonly fields: YamlFields;
  readonly level: WebhookLevel;
  readonly properties: Readonly<Record<string, ConfigurationProperty>>;
  readonly declared: WebhookTypes;
}

function checkSettings(
  { url, eventTypes, retriesSetting = '', signatureSetting = '', rateSetting = '' }: WebhookDeclaration,
  settings: LevelSettings,
): void {
  const { level, declared } = settings;
  const known = [...WEBHOOK_EVENT_TYPES[LEVEL_OF[level]], ...declared[LEVEL_OF[level]]];
  const target = setting('url', url, settings);
  if (target && (target.property.type !== 'string' || target.property.multiple)) {
    const hint = 'Write "type: string".';
    target.fields.error('type', `"${url}" holds the URL of a webhook, so it must be one text.`, hint);
  }
  checkChosen('retriesSetting', retriesSetting, settings);
  checkChosen('signatureSetting', signatureSetting, settings);
  checkChosen('rateSetting', rateSetting, settings);
  const types = setting('eventTypes', eventTypes, settings);
  if (types === undefined) return;
  const { property } = types;
  if (property.type === 'string' && property.multiple && property.enum !== undefined) {
    checkChoices(types.fields, property.enum, { level, known });
    return;
  }
  const example = WEBHOOK_EVENT_TYPES[LEVEL_OF[level]].join(', ') || '"*"';
  const hint = `Write "type: string", "multiple: true" and "enum: [${example}]".`;
  types.fields.error(
    undefined,
    `"${eventTypes}" holds types of events, so it must be a list of choices.`,
    hint,
  );
}

/** Settings by which the installer chooses, with what they hold and its names. */
const CHOSEN = {
  retriesSetting: ['a retry schedule', RETRY_SCHEDULE_NAMES],
  signatureSetting: ['a signature scheme', SIGNATURE_SCHEMES],
  rateSetting: ['a number of requests per second', RATES],
} as const;

/** Checks a setting by which the installer chooses. */
function checkChosen(key: keyof typeof CHOSEN, name: string, settings: LevelSettings): void {
  const chosen = setting(key, name, settings);
  if (chosen === undefined) return;
  const [what, names] = CHOSEN[key];
  const { property, fields } = chosen;
  if (property.type === 'string' && !property.multiple && property.enum !== undefined)
    return refuseUnknown(fields, property.enum, `${what}: ${names.join(', ')}`, names);
  const hint = `Write "type: string" and "enum: [${names.join(', ')}]".`;
  fields.error(undefined, `"${name}" holds ${what}, so it must be a choice.`, hint);
}

/**
 * Finds a setting and its fields; undefined where it does not exist, or has an invalid type, which
 * has been reported already.
 */
function setting(
  key: keyof WebhookDeclaration,
  name: string,
  { fields, level, properties }: LevelSettings,
): { readonly property: ConfigurationProperty; readonly fields: YamlFields } | undefined {
  if (name === '') return undefined;
  const property = Object.hasOwn(properties, name) ? properties[name] : undefined;
  if (property === undefined) {
    const wanted = `must name one of the properties of "configurations.${level}"`;
    fields.errorMeant(['webhook', key], wanted, name, Object.keys(properties));
    return undefined;
  }
  const written = fields.map('configurations')?.map(level)?.map('properties')?.map(name);
  return written?.raw('type') === property.type ? { property, fields: written } : undefined;
}

function checkChoices(
  property: YamlFields,
  choices: readonly string[],
  { level, known }: { readonly level: WebhookLevel; readonly known: readonly string[] },
): void {
  const wanted = `an event that a webhook of a ${level} can post: ${known.join(', ')}`;
  // A pattern offers the types of the product that fit it, also those that are declared later.
  const names = choices.filter((choice) => !isEventPattern(choice));
  refuseUnknown(property, names, wanted, known);
}

/** @param wanted follows "must be" */
function refuseUnknown(
  property: YamlFields,
  choices: readonly string[],
  wanted: string,
  known: readonly string[],
): void {
  const raw = property.raw('enum');
  const written: readonly unknown[] = Array.isArray(raw) ? raw : [];
  for (const choice of choices.filter((one) => !known.includes(one)))
    property.errorMeant(['enum', written.indexOf(choice)], `must be ${wanted}`, choice, known);
}
