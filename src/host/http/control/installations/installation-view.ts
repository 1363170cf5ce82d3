/**
 * The API's schemas and views of installations at the levels of organization, space and site.
 *
 * Only code whose environment has the same `oauth_credentials` gets their values
 * (docs/contract/configuration.md#credentials). A list may have targets whose configuration the
 * caller may not see: then it gets neither that nor its problems.
 */
import Type, { type Static } from 'typebox';
import type { Limits } from '../../../../limits.ts';
import type { TargetUrls } from '../../../../model/endpoint-urls.ts';
import {
  EXTERNAL_ID_CHARS,
  EXTERNAL_IDS_MAX,
  INSTALLATION_STATUSES,
  SELECTIONS,
  type TargetName,
} from '../../../../model/installation.ts';
import { CREDENTIALS_PROPERTY } from '../../../../model/manifest/configuration.ts';
import { mayReadInstallation, type Principal } from '../../../../model/principal.ts';
import { DISABLING_REASONS, WEBHOOK_STATES } from '../../../database/tables.ts';
import type { Installation } from '../../../store/installations/target-rows.ts';
import type { WebhookHealth } from '../../../store/webhooks/webhook-health-rows.ts';
import { PAGE_QUERY } from '../lists.ts';
import { closed, isoTime, Name, named, Organization, optional, Place, Time } from '../schemas.ts';

const ExternalId = Type.String({
  minLength: 1,
  maxLength: EXTERNAL_ID_CHARS,
  // No control characters, and no lone surrogates: UTF-8 has none, so that two ids would become
  // one.
  pattern: '^[^\\u0000-\\u001f\\u007f\\ud800-\\udfff]+$',
});

const externalIds = Type.Optional(Type.Array(ExternalId, { maxItems: EXTERNAL_IDS_MAX }));
const selections = {
  space_selection: Type.Optional(Type.Enum([...SELECTIONS])),
  site_selection: Type.Optional(Type.Enum([...SELECTIONS])),
};
/** Members of any name, which the manifest validates. */
const Properties = (description: string) =>
  Type.Optional(
    Type.Unsafe<Record<string, unknown>>(Type.Object({}, { additionalProperties: true, description })),
  );

/** Query of the lists at each level. */
export const InstallationsQuery = Type.Object(
  { ...PAGE_QUERY, externalId: Type.Optional(ExternalId) },
  { additionalProperties: false },
);

/** Query of the list of the installations of all integrations. */
export const WhereQuery = Type.Object(
  {
    ...InstallationsQuery.properties,
    organization: Type.Optional(Organization),
    integration: Type.Optional(Name),
    status: Type.Optional(Type.Enum([...INSTALLATION_STATUSES])),
  },
  { additionalProperties: false },
);

/** Body of an install into an organization. */
export const InstallBody = closed('Install', {
  organization: Organization,
  externalIds,
  ...selections,
  installToken: optional(
    Type.String({ maxLength: 128 }),
    'Token of the install link of an unlisted integration.',
  ),
});

/** Bodies that add a space or site to an installation. */
export const PLACE_BODIES = {
  space: closed('InstallInSpace', { space: Place, externalIds }),
  site: closed('InstallInSite', { site: Place, externalIds }),
};

const edit = {
  configuration: Properties(
    'Properties to set; null unsets one. Others are removed where the edit replaces, and stay where it merges.',
  ),
  externalIds,
};
const EDIT = { additionalProperties: false, minProperties: 1 };
const EditBelow = Type.Object(edit, { ...EDIT, title: 'PlaceEdit' });

/** Query of an edit. */
export const EditQuery = Type.Object(
  {
    configuration: optional(
      Type.Enum(['merge', 'replace']),
      'What happens to properties that are not in the body: they stay (`merge`) or are removed (`replace`). ' +
        'By default `replace` for runtime tokens, `merge` for others.',
    ),
  },
  { additionalProperties: false },
);

/** Bodies of edits at each level. */
export const EDIT_BODIES = {
  organization: Type.Object({ ...edit, ...selections }, { ...EDIT, title: 'InstallationEdit' }),
  space: EditBelow,
  site: EditBelow,
};

/** Room for the rest of an edit: external ids, selections, names of properties to unset. */
const EDIT_REST_BYTES = 32 * 1024;
/** Some clients escape all characters beyond ASCII, which takes up to three times their UTF-8. */
const ESCAPED_TIMES = 3;

/** A configuration slightly over its limit still gets an answer that says so. */
export const editBytesMax = ({ configurationBytes }: Limits): number =>
  (ESCAPED_TIMES + 1) * configurationBytes + EDIT_REST_BYTES;

/** Body of an edit at any level. */
export type EditBody = Static<(typeof EDIT_BODIES)['organization']>;

const common = {
  integration: Type.String(),
  organization: Type.String(),
  target: named('InstallationTarget', { organization: Type.String() }),
  status: Type.Enum([...INSTALLATION_STATUSES]),
  configuration: Properties('Without the properties that `sealed` names.'),
  sealed: optional(Type.Array(Type.String()), 'Names of properties that are set and never shown.'),
  externalIds: Type.Array(Type.String()),
  urls: named('InstallationUrls', {
    location: Type.String({ description: 'The record in the API.' }),
    app: optional(Type.String(), 'The page in the host product.'),
    publicEndpoint: Type.String(),
    publicContentEndpoint: Type.String({ description: 'The endpoint on the origin without cookies.' }),
  }),
  createdAt: Time,
  updatedAt: Time,
};
const problems = optional(
  Type.Array(
    named('ConfigurationProblem', {
      property: Type.String(),
      message: Type.String(),
      hint: Type.Optional(Type.String()),
    }),
  ),
  'Problems that make the configuration invalid, by property; absent if there are none, and in lists.',
);
const installation = Type.String({ description: 'Id of the installation that it belongs to.' });

/** Members that show the health of a webhook. */
export const HEALTH_VIEW = {
  state: Type.Enum([...WEBHOOK_STATES], {
    description:
      '`failing`: its receiver has failed and accepted nothing since. `disabled`: nothing is posted, and its deliveries are held.',
  }),
  since: optional(Time, 'When the state began; absent where it never was another.'),
  failing: Type.Optional(
    Type.Object(
      { since: Time, outcome: Type.String() },
      { description: 'When its receiver first failed, and how.' },
    ),
  ),
  disabled: Type.Optional(
    Type.Object({
      by: Type.String({
        description: 'Kind of the token with which it was disabled; `service`: Annex itself.',
      }),
      reason: Type.Enum([...DISABLING_REASONS], {
        description:
          '`failing`: for longer than the operator allows. `gone`: its receiver answered 410. `request`: it was asked for.',
      }),
      note: Type.Optional(Type.String()),
    }),
  ),
};

export const healthView = ({ state, since, failing, disabled }: WebhookHealth) => ({
  state,
  ...(since !== undefined && { since: isoTime(since) }),
  ...(failing && { failing: { ...failing, since: isoTime(failing.since) } }),
  ...(disabled && { disabled }),
});

/** Of a place, in lists. */
const webhook = optional(
  named('WebhookHealth', HEALTH_VIEW),
  'Its webhook, in lists, while that is failing or disabled.',
);
/** Of an installation, in lists. */
const webhooks = optional(
  named('WebhookNumbers', { failing: Type.Integer(), disabled: Type.Integer() }),
  'Webhooks of its spaces and sites, in lists, while one is failing or disabled.',
);

/** Views at each level. */
export const VIEWS = {
  organization: named('Installation', {
    id: Type.String(),
    ...common,
    space_selection: Type.Enum([...SELECTIONS]),
    site_selection: Type.Enum([...SELECTIONS]),
    spaces: Type.Integer({ description: 'Number of spaces that it was added to.' }),
    problems,
    webhooks,
  }),
  space: named('InstallationInSpace', { installation, space: Type.String(), ...common, problems, webhook }),
  site: named('InstallationInSite', { installation, site: Type.String(), ...common, problems, webhook }),
};

/**
 * Has the members of the views of all levels: which are set depends on the level of the target, and
 * so does its route.
 */
export type TargetView = Static<(typeof VIEWS)['organization']> &
  Static<(typeof VIEWS)['space']> &
  Static<(typeof VIEWS)['site']>;

/** What a view has beside the row of its target. */
export interface ViewDeps {
  readonly urls: TargetUrls;
  readonly principal: Principal;
  /** Number of spaces of an installation. */
  readonly spaces: number | undefined;
  /** For a principal that may see them, if any are set. */
  readonly credentials: unknown;
  /** In a list: webhooks of its installation that are failing or disabled. */
  readonly unwell?: readonly (TargetName & { readonly health: WebhookHealth })[] | undefined;
}

/** The view of a target at its level, as far as the principal may see it. */
export function installationView(
  target: Installation,
  { urls, principal, spaces = 0, credentials, unwell = [] }: ViewDeps,
): TargetView {
  const { installationId, level, place, integration, organization, status } = target;
  const name =
    level === 'organization' ? { id: installationId } : { installation: installationId, [level]: place };
  const view: Partial<TargetView> = {
    ...name,
    ...{ integration, organization, target: { organization }, status },
    ...(mayReadInstallation(principal, target) && configurationView(target, credentials)),
    externalIds: [...target.externalIds],
    ...(level === 'organization' && {
      space_selection: target.spaceSelection,
      site_selection: target.siteSelection,
      spaces,
    }),
    urls,
    createdAt: isoTime(target.createdAt),
    updatedAt: isoTime(target.updatedAt),
    ...(unwell.length > 0 && mayReadInstallation(principal, target) && unwellView(target, unwell)),
  };
  return view as TargetView;
}

function unwellView({ level, place }: TargetName, unwell: NonNullable<ViewDeps['unwell']>) {
  if (level === 'organization') {
    const of = (state: string) => unwell.filter(({ health }) => health.state === state).length;
    return { webhooks: { failing: of('failing'), disabled: of('disabled') } };
  }
  const own = unwell.find((one) => one.level === level && one.place === place);
  return own && { webhook: healthView(own.health) };
}

const configurationView = ({ configuration, hasCredentials }: Installation, credentials: unknown) => ({
  configuration: {
    ...configuration,
    ...(credentials !== undefined && { [CREDENTIALS_PROPERTY]: credentials }),
  },
  sealed: hasCredentials && credentials === undefined ? [CREDENTIALS_PROPERTY] : [],
});
