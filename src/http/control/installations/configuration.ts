/**
 * `…/configuration`: the configuration of a target as a form: the properties that the active
 * version's manifest declares, with their values (docs/contract/configuration.md#form).
 *
 * For principals that may read the target. Values of credentials are never sent.
 */
import Type from 'typebox';
import type { ConfigurationProblem } from '../../../model/configuration-check.ts';
import { type ConfigurationForm, configurationForm } from '../../../model/configuration-form.ts';
import { INSTALLATION_STATUSES } from '../../../model/installation.ts';
import { LEVELS } from '../../../model/level.ts';
import { unknownIntegration } from '../../../model/unknown-name-errors.ts';
import type { Installations } from '../../../store/installations/installations.ts';
import type { Version } from '../../../store/integrations/integration-rows.ts';
import type { Registry } from '../../../store/integrations/registry.ts';
import { type Origins, publicEndpoint } from '../../../targets/target-resolver.ts';
import { FOR_RUNTIME } from '../authenticate.ts';
import { ERRORS_VIEW, NoQuery } from '../schemas.ts';
import type { TypedApp } from '../typed-routes.ts';
import { visibleTarget } from './installation-rights.ts';
import { TARGET_NOUNS, TARGET_PARAMS, TARGET_PATHS, targetNameOf } from './target-paths.ts';

const FieldView = Type.Object(
  {
    name: Type.String(),
    type: Type.Enum(['string', 'number', 'boolean', 'button']),
    title: Type.Optional(Type.String()),
    description: Type.Optional(Type.String()),
    required: Type.Boolean(),
    default: Type.Optional(Type.Unknown()),
    enum: Type.Optional(Type.Array(Type.String(), { description: 'Options of a dropdown.' })),
    multiple: Type.Optional(
      Type.Boolean({ description: 'Several options may be chosen: the value is a list.' }),
    ),
    completion: Type.Optional(
      Type.Boolean({ description: 'The integration supplies the options, at `…/completions`.' }),
    ),
    button_text: Type.Optional(Type.String()),
    callback_url: Type.Optional(Type.String({ description: 'Absolute URL that the button opens.' })),
    value: Type.Optional(
      Type.Unknown({ description: 'Absent if nothing is set, and for sealed properties.' }),
    ),
    sealed: Type.Optional(
      Type.Boolean({ description: 'The property has credentials, which are never shown.' }),
    ),
    isSet: Type.Optional(Type.Boolean({ description: 'Whether a sealed property has a value.' })),
  },
  { title: 'ConfigurationField' },
);

const FormView = Type.Object(
  {
    level: Type.Enum([...LEVELS]),
    status: Type.Enum([...INSTALLATION_STATUSES]),
    componentId: Type.Optional(
      Type.String({ description: 'Component that draws the configuration, instead of a form.' }),
    ),
    properties: Type.Optional(Type.Array(FieldView, { description: "In the manifest's order." })),
    problems: Type.Optional(
      Type.Array(
        Type.Object({ property: Type.String(), message: Type.String(), hint: Type.Optional(Type.String()) }),
        { description: 'Problems that make the configuration invalid.' },
      ),
    ),
  },
  { title: 'ConfigurationForm' },
);

export interface ConfigurationRouteParts {
  readonly registry: Pick<Registry, 'integration' | 'version'>;
  readonly origins: Origins;
  readonly installations: Pick<Installations, 'read' | 'problemsOf'>;
}

export function configurationRoutes(
  app: TypedApp,
  { registry, origins, installations }: ConfigurationRouteParts,
): void {
  for (const level of LEVELS) {
    app.get(
      `${TARGET_PATHS[level]}/configuration`,
      {
        config: FOR_RUNTIME,
        schema: {
          summary: `Read the configuration of ${TARGET_NOUNS[level]} as a form`,
          params: TARGET_PARAMS[level],
          querystring: NoQuery,
          response: { 200: FormView, ...ERRORS_VIEW },
        },
      },
      async (request) => {
        const { name } = request.params;
        const target = await visibleTarget(installations, request, name, targetNameOf(level, request.params));
        const version = await activeVersion(registry, name);
        const url = publicEndpoint(origins, target.endpointKey);
        const form = configurationForm(version.manifest, { ...target, publicEndpoint: url });
        return formView(form, await installations.problemsOf(target));
      },
    );
  }
}

async function activeVersion(
  registry: Pick<Registry, 'integration' | 'version'>,
  name: string,
): Promise<Version> {
  const integration = await registry.integration(name);
  const version = integration && (await registry.version(name, integration.activeVersion));
  if (version === undefined) throw unknownIntegration(name);
  return version;
}

const formView = ({ properties, ...form }: ConfigurationForm, problems: readonly ConfigurationProblem[]) => ({
  ...form,
  ...(properties && {
    properties: properties.map(({ enum: choices, ...field }) => ({
      ...field,
      ...(choices && { enum: [...choices] }),
    })),
  }),
  ...(problems.length > 0 && { problems: [...problems] }),
});
