/** `annex trigger`: posts a sample event, as the host product would, and shows its deliveries. */
import Type from 'typebox';
import type { Annex, Installation } from '../../../packages/client/src/index.ts';
import { type Command, defineCommand } from '../command.ts';
import { EXIT, UsageError } from '../terminal/failure.ts';
import { OUTCOMES_WAIT_MS, outcomesOf, rowOf, TITLES } from '../traffic/deliveries.ts';
import { findInstallation, INSTALLATION, targetPath } from '../traffic/installation.ts';
import { seconds } from '../traffic/option-values.ts';
import { field, SAMPLES, type Sample, sampleType, unknownType, withFields } from '../traffic/sample-event.ts';
import { DELIVERY } from './deliveries.ts';

export const trigger: Command = defineCommand({
  name: 'trigger',
  summary: 'post a sample event and see what becomes of it',
  description: [
    'Posts a realistic event, as the host product would, with a token of the operator or of the product. With an installation, it is for that one alone; otherwise for all subscribers of the organization.',
    `The events are ${Object.keys(SAMPLES).join(', ')}; and those that the product has declared, with their sample: \`annex event-types list\`.`,
  ],
  arguments: {
    event: { help: 'type of the event', parse: sampleType },
    installation: { ...INSTALLATION, optional: true },
  },
  options: {
    organization: { value: 'organization', help: 'post it for all that this organization has installed' },
    space: { value: 'space', help: 'space where it happens; by default one of the installation' },
    site: { value: 'site', help: 'site where it happens; by default one of the installation' },
    field: {
      short: 'f',
      value: 'name=value',
      help: 'set a member, as visitor.ip=192.0.2.1; the value is JSON or a text',
      repeatable: true,
      parse: field,
    },
    wait: { help: 'wait until all its deliveries have ended' },
    timeout: {
      value: 'seconds',
      help: `wait at most this long (default: ${OUTCOMES_WAIT_MS / 1_000})`,
      parse: seconds,
    },
  },
  examples: [
    { line: 'annex trigger site_view hello --wait', does: 'post a visit and wait for its outcome' },
    { line: 'annex trigger invoice.paid hello -f data.amount=3', does: 'post the sample of a declared type' },
    {
      line: 'annex trigger page_feedback --organization acme --site docs -f feedback.rating=bad',
      does: 'post feedback for everything that acme has installed',
    },
  ],
  exits: { 1: 'it was refused; with --wait, a delivery failed or did not end in time' },
  json: Type.Object({
    event: Type.Object({}, { additionalProperties: Type.Unknown(), description: 'What was posted.' }),
    eventId: Type.String(),
    deliveries: Type.Integer(),
    outcomes: Type.Array(DELIVERY, { description: 'The deliveries, as they were at the end.' }),
  }),
  async run(
    context,
    { event: type, installation: word, organization, space, site, wait, timeout = OUTCOMES_WAIT_MS, ...rest },
  ) {
    const { output } = context;
    if ((word === undefined) === (organization === undefined))
      throw new UsageError('Name an installation, or an organization with --organization.');
    const client = await context.client();
    const installation = word === undefined ? undefined : await findInstallation(client, word);
    const sample = SAMPLES[type] ?? (await declaredSample(client, type));
    const place = await placeOf(client, installation, { type, sample, space, site });
    const about = installation
      ? { organization: installation.organization, installationId: installation.id }
      : { organization };
    const event = withFields({ type, ...about, ...place, ...sample.members }, rest.field);
    const { eventId, deliveries } = await client.request<{ eventId: string; deliveries: number }>(
      'POST',
      '/v1/events',
      { body: event },
    );
    const outcomes = await outcomesOf(context, client, { eventId, deliveries, waitMs: wait ? timeout : 0 });
    output.result({ event, eventId, deliveries, outcomes }, () => {
      output.talk(`Posted ${eventId}.`);
      output.table(TITLES, outcomes.map(rowOf));
      if (outcomes.length === 0) output.line(noRecipient(place));
    });
    const isOver = outcomes.every(({ state }) => state !== 'pending');
    if (wait && !isOver) output.talk(`After ${timeout / 1_000} s, a delivery is pending still.`);
    const isWell = isOver && outcomes.every(({ state }) => state !== 'failed');
    return wait && !isWell ? EXIT.failed : EXIT.ok;
  },
});

function noRecipient(place: Readonly<Record<string, string>>): string {
  const [[name, id = ''] = []] = Object.entries(place);
  const where = name === undefined ? 'the organization' : `${name.replace(/Id$/, '')} "${id}"`;
  return `No recipient: nothing that is installed handles this type, has its scope and is active in ${where}.`;
}

interface GivenPlace {
  readonly type: string;
  readonly sample: Sample;
  readonly space?: string | undefined;
  readonly site?: string | undefined;
}

/** @throws UsageError if the product has not declared the type, or without a sample */
async function declaredSample(client: Annex, type: string): Promise<Sample> {
  const { items } = await client.eventTypes.list();
  const found = items.find((one) => one.type === type);
  if (found === undefined)
    throw unknownType(
      type,
      items.map((one) => one.type),
    );
  return { level: found.level, isDeclared: true, members: { data: found.sample ?? {} } };
}

/** The space or site where it happens: the given one, or one of the installation. */
async function placeOf(
  client: Annex,
  installation: Installation | undefined,
  { type, sample, ...given }: GivenPlace,
): Promise<Readonly<Record<string, string>>> {
  const { level, isDeclared } = sample;
  const other = (['space', 'site'] as const).find((one) => one !== level && given[one] !== undefined);
  if (level === 'organization') {
    if (other === undefined) return {};
    throw new UsageError(`${type} happens in an organization: leave --${other} out.`);
  }
  if (other !== undefined)
    throw new UsageError(`${type} happens in a ${level}: use --${level} in place of --${other}.`);
  const name = isDeclared ? level : `${level}Id`;
  const named = given[level];
  if (named !== undefined) return { [name]: named };
  if (installation !== undefined) {
    const path = `${targetPath(installation)}/${level}s`;
    const { items } = await client.request<{ items: Record<string, unknown>[] }>('GET', path, {
      query: { limit: 1 },
    });
    const first = items[0]?.[level];
    if (typeof first === 'string') return { [name]: first };
  }
  return { [name]: `sample-${level}` };
}
