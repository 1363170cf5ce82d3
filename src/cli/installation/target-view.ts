/**
 * An installation, or the part of it in a space or a site, as commands show it: the schema of its
 * JSON, and its lines for people.
 */
import Type from 'typebox';
import type { Output } from '../terminal/output.ts';
import { paint } from '../terminal/output.ts';

export const TARGET = Type.Object({
  id: Type.Optional(Type.String({ description: 'Absent in a space or a site.' })),
  installation: Type.Optional(Type.String({ description: 'In a space or a site: id of the installation.' })),
  space: Type.Optional(Type.String()),
  site: Type.Optional(Type.String()),
  integration: Type.String(),
  organization: Type.String(),
  status: Type.Enum(['active', 'pending', 'paused']),
  configuration: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  urls: Type.Object({ publicEndpoint: Type.String() }),
  problems: Type.Optional(
    Type.Array(
      Type.Object({
        property: Type.String(),
        message: Type.String(),
        hint: Type.Optional(Type.String()),
      }),
    ),
  ),
});

export interface TargetView {
  readonly id?: string;
  readonly installation?: string;
  readonly space?: string;
  readonly site?: string;
  readonly integration: string;
  readonly organization: string;
  readonly status: 'active' | 'pending' | 'paused';
  readonly configuration?: Readonly<Record<string, unknown>> | undefined;
  readonly urls: { readonly publicEndpoint: string };
  readonly problems?:
    | readonly { readonly property: string; readonly message: string; readonly hint?: string | undefined }[]
    | undefined;
}

/** Options that select the part of an installation in a space or in a site. */
export const PLACE = {
  space: { value: 'space', help: 'the part of the installation in this space' },
  site: { value: 'site', help: 'the part of the installation in this site' },
} as const;

const STYLES = { active: 'green', pending: 'yellow', paused: 'dim' } as const;

export const statusOf = ({ status }: Pick<TargetView, 'status'>) => paint(STYLES[status], status);

export const idOf = ({ id, installation, space, site }: TargetView): string =>
  id ?? [installation, space ?? site].join('/');

/** What a pending installation, or its part in a space or a site, waits for. */
export function pendingText({
  integration,
  organization,
  space,
  site,
}: Pick<TargetView, 'integration' | 'organization' | 'space' | 'site'>): string {
  const where = space !== undefined ? ` --space ${space}` : site !== undefined ? ` --site ${site}` : '';
  return `It is pending until its configuration is valid: annex configure ${integration}@${organization}${where}`;
}

export function showTarget(output: Output, target: TargetView): void {
  const { integration, organization, urls, problems = [], configuration = {} } = target;
  output.line(paint('bold', `${integration}@${organization}`), ' is ', statusOf(target), `: ${idOf(target)}`);
  output.line(`  endpoint  ${urls.publicEndpoint}`);
  for (const [name, value] of Object.entries(configuration))
    output.line(`  ${name} = ${typeof value === 'string' ? value : JSON.stringify(value)}`);
  for (const { property, message, hint } of problems)
    output.talk(paint('yellow', `${property}: `), message, hint === undefined ? '' : ` ${hint}`);
  if (target.status === 'pending') output.talk(pendingText(target));
}
