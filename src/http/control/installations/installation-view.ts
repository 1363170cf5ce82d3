/**
 * Installations as the API shows and takes them, at the levels of organization, space and site: the schemas of what comes
 * in, and the view of what goes out.
 *
 * The values of `oauth_credentials` are in no view, and a caller that may not see the configuration gets neither that nor
 * a word about it (REFERENCE D12).
 */
import Type, { type Static } from 'typebox';
import {
  CREDENTIALS_PROPERTY,
  EXTERNAL_ID_CHARS,
  EXTERNAL_IDS_MAX,
  INSTALLATION_STATUSES,
  SELECTIONS,
} from '../../../model/installation.ts';
import { mayReadConfiguration, type Principal } from '../../../model/principal.ts';
import type { Installation } from '../../../store/installations/target-rows.ts';
import { isoTime, Organization, PAGE_QUERY, Place, Time } from '../schemas.ts';

const ExternalId = Type.String({
  minLength: 1,
  maxLength: EXTERNAL_ID_CHARS,
  // No control characters, and no halves of surrogate pairs: in UTF-8 there are none, and two ids would become one.
  pattern: '^[^\\u0000-\\u001f\\u007f\\ud800-\\udfff]+$',
});

const externalIds = Type.Optional(Type.Array(ExternalId, { maxItems: EXTERNAL_IDS_MAX }));
const selections = {
  space_selection: Type.Optional(Type.Enum([...SELECTIONS])),
  site_selection: Type.Optional(Type.Enum([...SELECTIONS])),
};
/** Members of any name, which the manifest rules over and no schema here. */
const Properties = (description: string) =>
  Type.Optional(
    Type.Unsafe<Record<string, unknown>>(Type.Object({}, { additionalProperties: true, description })),
  );

/** Of the lists, at each level. */
export const InstallationsQuery = Type.Object(
  { ...PAGE_QUERY, externalId: Type.Optional(ExternalId) },
  { additionalProperties: false },
);

/** What installs into an organization. */
export const InstallBody = Type.Object(
  {
    organization: Organization,
    externalIds,
    ...selections,
    installToken: Type.Optional(
      Type.String({ description: 'Of the install link of an unlisted integration.', maxLength: 128 }),
    ),
  },
  { additionalProperties: false },
);

/** What adds a space, or a site, to an installation. */
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

/** What an edit may change at each level. */
export const EDIT_BODIES = {
  organization: Type.Object({ ...edit, ...selections }, EDIT),
  space: EditBelow,
  site: EditBelow,
};

/** An edit at any level. */
export type EditBody = Static<(typeof EDIT_BODIES)['organization']>;

const common = {
  integration: Type.String(),
  organization: Type.String(),
  status: Type.Enum([...INSTALLATION_STATUSES]),
  configuration: Properties('Without what `sealed` names.'),
  sealed: Type.Optional(
    Type.Array(Type.String(), { description: 'Properties that are set and whose values are never shown.' }),
  ),
  externalIds: Type.Array(Type.String()),
  urls: Type.Object({ publicEndpoint: Type.String() }),
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
        'What keeps the configuration from being valid, by property; absent where nothing does, and in lists.',
    },
  ),
);
const installation = Type.String({ description: 'Id of the installation that it belongs to.' });

/** What is shown at each level. */
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

/** Fits the view of each level: which members there are goes by the level of the target, and so does its route. */
type AnyView = Static<(typeof VIEWS)['organization']> &
  Static<(typeof VIEWS)['space']> &
  Static<(typeof VIEWS)['site']>;

/** The view of a target at its own level, as far as this principal sees it. */
export function installationView(
  target: Installation,
  publicEndpoint: string,
  principal: Principal,
): AnyView {
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
    urls: { publicEndpoint },
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
