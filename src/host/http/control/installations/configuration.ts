/**
 * `…/configuration`: the configuration of a target as a form: the properties that the active
 * version's manifest declares, with their values (docs/contract/configuration.md#form).
 *
 * For principals that may read the target. Values of credentials are never sent.
 */
import Type from 'typebox';
import type { ConfigurationProblem } from '../../../../model/configuration-check.ts';
import { type ConfigurationForm, configurationForm } from '../../../../model/configuration-form.ts';
import { INSTALLATION_STATUSES } from '../../../../model/installation.ts';
import { LEVELS } from '../../../../model/level.ts';
import { unknownIntegration } from '../../../../model/unknown-name-errors.ts';
import { publicEndpoint } from '../../../targets/target-resolver.ts';
import { route } from '../route.ts';
import { NoQuery, named, optional } from '../schemas.ts';
import { TARGET_NOUNS, TARGET_PARAMS, TARGET_PATHS, TARGET_TAGS, visibleTarget } from './targets.ts';

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
});

const FormView = named('ConfigurationForm', {
  level: Type.Enum([...LEVELS]),
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

export const CONFIGURATION_ROUTES = LEVELS.map((level) =>
  route({
    name: `${TARGET_TAGS[level]}.getConfiguration`,
    at: `GET ${TARGET_PATHS[level]}/configuration`,
    summary: `Read the configuration of ${TARGET_NOUNS[level]} as a form`,
    forRuntime: true,
    params: TARGET_PARAMS[level],
    query: NoQuery,
    answer: FormView,
    async handle(request, control) {
      const { registry, origins, installations, eventTypes } = control;
      const target = await visibleTarget(control, request, level);
      const integration = await registry.integration(target.integration);
      const version = integration && (await registry.version(integration.name, integration.activeVersion));
      if (version === undefined) throw unknownIntegration(target.integration);
      const url = publicEndpoint(origins, target.endpointKey);
      const shown = { ...target, publicEndpoint: url };
      const form = configurationForm(version.manifest, shown, await eventTypes.catalog());
      return formView(form, await installations.problemsOf(target));
    },
  }),
);

const formView = (form: ConfigurationForm, problems: readonly ConfigurationProblem[]) => ({
  ...form,
  ...(problems.length > 0 && { problems }),
});
