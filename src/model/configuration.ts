/**
 * Configuration schemas of a manifest (SPEC "Configuration schema", REFERENCE 4): the settings an installation has.
 *
 * Read once at publish; the rest of the system relies on the shape. What a component does with a configuration is not
 * known here.
 */
import type { YamlFields } from './yaml-fields.ts';

const LEVELS = ['account', 'site', 'space'] as const;
const PROPERTY_TYPES = ['string', 'number', 'boolean', 'button'] as const;

export interface ConfigurationProperty {
  readonly type: (typeof PROPERTY_TYPES)[number];
  readonly default?: string | number | boolean;
  /** `title`, `description`, `enum`, `completion_url` and whatever else the author wrote. */
  readonly [key: string]: unknown;
}

/** Either properties, or a component that draws the settings itself. */
export interface Configuration {
  readonly properties: Readonly<Record<string, ConfigurationProperty>>;
  readonly required: readonly string[];
  readonly componentId?: string;
}

export type Configurations = { readonly [Level in (typeof LEVELS)[number]]?: Configuration };

/** Reads the `configurations` of a manifest. */
export function readConfigurations(fields: YamlFields | undefined): Configurations {
  if (fields === undefined) return {};
  fields.warnUnknown(LEVELS);
  const found = LEVELS.flatMap((level) => {
    const own = fields.map(level);
    return own === undefined ? [] : [[level, readConfiguration(own)] as const];
  });
  return Object.fromEntries(found);
}

function readConfiguration(fields: YamlFields): Configuration {
  fields.warnUnknown(['properties', 'required', 'componentId']);
  const componentId = fields.optionalText('componentId');
  if (componentId !== undefined) {
    if (fields.raw('properties') !== undefined) {
      fields.error('properties', 'A configuration has either "properties" or a "componentId", not both.');
    }
    return { properties: {}, required: [], componentId };
  }
  const map = fields.map('properties');
  if (map === undefined) fields.error(undefined, 'A configuration needs "properties" or a "componentId".');
  const properties: [string, ConfigurationProperty][] = [];
  for (const name of map?.keys() ?? []) {
    const property = map?.map(name);
    if (property !== undefined) properties.push([name, readProperty(property)]);
  }
  const required = fields.texts('required');
  required.forEach((name) => {
    if (properties.some(([known]) => known === name)) return;
    fields.error('required', `"required" names "${name}", which is not among the properties.`);
  });
  return { properties: Object.fromEntries(properties), required };
}

function readProperty(fields: YamlFields): ConfigurationProperty {
  const type = fields.choice('type', PROPERTY_TYPES);
  const entries = fields.keys().map((key) => [key, fields.raw(key)] as const);
  const given = fields.raw('default');
  if (given !== undefined && given !== null && typeof given !== type) {
    fields.error('default', `The default of a ${type} property must be a ${type}.`);
  }
  return { ...Object.fromEntries(entries), type };
}
