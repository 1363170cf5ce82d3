/**
 * Reads the configuration schemas of a manifest (`docs/contract/configuration.md#properties`): the
 * settings of an installation.
 *
 * Read once at publish; all other code relies on the resulting shape. Does not validate values
 * (`configuration-check.ts` does). Members are named as the YAML keys.
 */

import { type ConfigurationProperty, readProperty } from './configuration-property.ts';
import { excerpt, type YamlFields } from './yaml-fields.ts';

/** `account` is the level of the organization. */
export const CONFIGURATION_LEVELS = ['account', 'site', 'space'] as const;
/**
 * Name of a property. It is a member of a JavaScript object and part of a URL, so it is a plain
 * word.
 */
export const PROPERTY_NAME = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/;
/** Maximum properties of a configuration; a form has one field for each. */
export const PROPERTIES_MAX = 100;
/** Either properties, or a component that draws the settings itself. */
export interface Configuration {
  readonly properties: Readonly<Record<string, ConfigurationProperty>>;
  /** Names of properties that must be set. */
  readonly required: readonly string[];
  readonly componentId?: string;
}

export type Configurations = { readonly [Level in (typeof CONFIGURATION_LEVELS)[number]]?: Configuration };

/** Reads the `configurations` of a manifest. */
export function readConfigurations(fields: YamlFields | undefined): Configurations {
  if (fields === undefined) return {};
  fields.warnUnknown(CONFIGURATION_LEVELS);
  const found = CONFIGURATION_LEVELS.flatMap((level) => {
    const own = fields.map(level);
    return own === undefined ? [] : [[level, readConfiguration(own)] as const];
  });
  return Object.fromEntries(found);
}

function readConfiguration(fields: YamlFields): Configuration {
  fields.warnUnknown(['properties', 'required', 'componentId']);
  const componentId = fields.optionalText('componentId');
  if (componentId !== undefined) {
    for (const key of ['properties', 'required'].filter((other) => fields.has(other)))
      fields.warning(key, `"${key}" is ignored: the component "${excerpt(componentId)}" draws the settings.`);
    return { properties: {}, required: [], componentId };
  }
  const map = fields.map('properties');
  if (map === undefined && !fields.has('componentId'))
    fields.warning(undefined, 'A configuration without "properties" and "componentId" has no settings.');
  const properties = readProperties(map);
  return { properties, required: readRequired(fields, properties) };
}

function readProperties(map: YamlFields | undefined): Record<string, ConfigurationProperty> {
  map?.refuseEmpty('property');
  const names = map?.keys() ?? [];
  if (names.length > PROPERTIES_MAX)
    map?.error(undefined, `There are ${names.length} properties; at most ${PROPERTIES_MAX} are allowed.`);
  const properties = names.flatMap((name): [string, ConfigurationProperty][] => {
    if (!PROPERTY_NAME.test(name)) {
      map?.error(
        name,
        'The name of a property must be letters, digits, "_" and "-", at most 64, not a digit or "-" first.',
      );
    }
    const fields = map?.map(name);
    const property = fields && readProperty(name, fields);
    return property === undefined ? [] : [[name, property]];
  });
  return Object.fromEntries(properties);
}

/** Reads which properties must be set. A name without a property is left out with a warning. */
function readRequired(
  fields: YamlFields,
  properties: Readonly<Record<string, ConfigurationProperty>>,
): readonly string[] {
  const required: string[] = [];
  for (const [index, name] of fields.texts('required', { unique: true }).entries()) {
    if (Object.hasOwn(properties, name)) required.push(name);
    else {
      const message = `${fields.nameOf(['required', index])} names no property that is declared: "${excerpt(name)}" is ignored.`;
      fields.warningMeant(['required', index], message, name, Object.keys(properties));
    }
  }
  return required;
}
