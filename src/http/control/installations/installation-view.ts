/**
 * The API's schemas and views of installations at the levels of organization, space and site.
 *
 * No view has the values of `oauth_credentials` (docs/contract/configuration.md#credentials). A
 * caller that may not see the configuration gets neither it nor its problems
 * (docs/contract/environment.md#runtime-tokens).
 */
import Type, { type Static } from 'typebox';
import type { TargetUrls } from '../../../model/endpoint-urls.ts';
import {
  EXTERNAL_ID_CHARS,
  EXTERNAL_IDS_MAX,
  INSTALLATION_STATUSES,
  SELECTIONS,
} from '../../../model/installation.ts';
import { CREDENTIALS_PROPERTY } from '../../../model/manifest/configuration-property.ts';
import { mayReadConfiguration, type Principal } from '../../../model/principal.ts';
import type { Installation } from '../../../store/installations/target-rows.ts';
import { isoTime, Organization, PAGE_QUERY, Place, Time } from '../schemas.ts';

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

/** Body of an install into an organization. */
export const InstallBody = Type.Object(
  {
    organization: Organization,
    externalIds,
    ...selections,
    installToken: Type.Optional(
      Type.String({ description: 'Token of the install link of an unlisted integration.', maxLength: 128 }),
    ),
  },
  { additionalProperties: false },
);

/** Bodies that add a space or site to an installation. */
export const PLACE_BODIES = {
  space: Type.Object({ space: Place, externalIds }, { additionalProperties: false }),
  site: Type.Object({ site: Place, externalIds }, { additionalProperties: false }),
};

const edit = {
  configuration: Properties('Properties to set; null unsets one. Others stay.'),
  externalIds,
};
const EDIT = { additionalProperties: false, minProperties: 1 };
const EditBelow = Type.Object(edit, EDIT);

/** Bodies of edits at each level. */
export const EDIT_BODIES = {
  organization: Type.Object({ ...edit, ...selections }, EDIT),
  space: EditBelow,
  site: EditBelow,
};

/** Body of an edit at any level. */
export type EditBody = Static<(typeof EDIT_BODIES)['organization']>;

const common = {
  integration: Type.String(),
  organization: Type.String(),
  status: Type.Enum([...INSTALLATION_STATUSES]),
  configuration: Properties('Without the properties that `sealed` names.'),
  sealed: Type.Optional(
    Type.Array(Type.String(), { description: 'Names of properties that are set and never shown.' }),
  ),
  externalIds: Type.Array(Type.String()),
  urls: Type.Object({
    location: Type.String({ description: 'The record in the API.' }),
    app: Type.Optional(Type.String({ description: 'The page in the host product.' })),
    publicEndpoint: Type.String(),
    publicContentEndpoint: Type.String({ description: 'The endpoint on the origin without cookies.' }),
  }),
  createdAt: Time,
  updatedAt: Time,
};
const problems = Type.Optional(
  Type.Array(
    Type.Object({
      property: Type.String(),
      message: Type.String(),
      hint: Type.Optional(Type.String()),
    }),
    {
      description:
        'Problems that make the configuration invalid, by property; absent if there are none, and in lists.',
    },
  ),
);
const installation = Type.String({ description: 'Id of the installation that it belongs to.' });

/** Views at each level. */
export const VIEWS = {
  organization: Type.Object({
    id: Type.String(),
    ...common,
    space_selection: Type.Enum([...SELECTIONS]),
    site_selection: Type.Enum([...SELECTIONS]),
    problems,
  }),
  space: Type.Object({ installation, space: Type.String(), ...common, problems }),
  site: Type.Object({ installation, site: Type.String(), ...common, problems }),
};

/**
 * Has the members of the views of all levels: which are set depends on the level of the target, and
 * so does its route.
 */
type AnyView = Static<(typeof VIEWS)['organization']> &
  Static<(typeof VIEWS)['space']> &
  Static<(typeof VIEWS)['site']>;

/** The view of a target at its level, as far as the principal may see it. */
export function installationView(target: Installation, urls: TargetUrls, principal: Principal): AnyView {
  const { integration, organization, status, createdAt, updatedAt } = target;
  const view: Partial<AnyView> = {
    ...nameView(target),
    integration,
    organization,
    status,
    ...(mayReadConfiguration(principal, target) && configurationView(target)),
    externalIds: [...target.externalIds],
    ...(target.level === 'organization' && {
      space_selection: target.spaceSelection,
      site_selection: target.siteSelection,
    }),
    urls,
    createdAt: isoTime(createdAt),
    updatedAt: isoTime(updatedAt),
  };
  return view as AnyView;
}

const nameView = ({ installationId, level, place }: Installation) =>
  level === 'organization' ? { id: installationId } : { installation: installationId, [level]: place };

const configurationView = ({ configuration, hasCredentials }: Installation) => ({
  configuration: { ...configuration },
  sealed: hasCredentials ? [CREDENTIALS_PROPERTY] : [],
});
