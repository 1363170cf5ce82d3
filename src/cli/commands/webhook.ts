/**
 * `annex webhook`: the signing secret of a webhook, and a test of its receiver. Each webhook is of
 * one target: an installation, or its part in a space or a site.
 */
import Type from 'typebox';
import type { Annex, WebhookSecret, WebhookTest } from '../../../packages/client/src/index.ts';
import type { CommandContext } from '../command.ts';
import { type Command, type CommandGroup, defineCommand } from '../command.ts';
import { EXIT } from '../terminal/failure.ts';
import type { Output } from '../terminal/output.ts';
import { OUTCOMES_WAIT_MS, outcomesOf, rowOf, TITLES } from '../traffic/deliveries.ts';
import { findInstallation, INSTALLATION, PLACE, targetPath } from '../traffic/installation.ts';
import { duration, seconds } from '../traffic/option-values.ts';
import { DELIVERY } from './deliveries.ts';

const SECRET = Type.Object({
  secret: Type.String(),
  createdAt: Type.String(),
  previous: Type.Optional(Type.Object({ until: Type.String() })),
});
const MS_PER_S = 1_000;

const secret: Command = defineCommand({
  name: 'secret',
  summary: 'show the secret that signs a webhook',
  description: [
    'Prints the secret by which the receiver verifies deliveries, and nothing else on standard output. Each reading is an entry in the audit.',
  ],
  arguments: { installation: INSTALLATION },
  options: PLACE,
  examples: [
    {
      line: 'export WEBHOOK_SECRET=$(annex webhook secret hooks --site docs)',
      does: 'give it to a receiver on this machine',
    },
  ],
  json: SECRET,
  async run(context, { installation, ...place }) {
    const [client, path] = await webhookOf(context, installation, place);
    const { signal } = context;
    showSecret(
      context.output,
      await client.request('GET', `${path}/webhook-secret`, { options: { signal } }),
    );
  },
});

const rotate: Command = defineCommand({
  name: 'rotate',
  summary: 'replace the secret that signs a webhook',
  description: [
    'Makes a new secret and prints it. With --overlap, each delivery is signed with both secrets for that time, so that the receiver can change to the new one. Without --overlap, the replaced secret stops at once.',
  ],
  arguments: { installation: INSTALLATION },
  options: {
    ...PLACE,
    overlap: {
      value: 'duration',
      help: 'sign with the replaced secret, too, for so long: 1m to 7d, as 10m or 2h',
      parse: duration,
    },
  },
  examples: [
    {
      line: 'annex webhook rotate hooks --site docs --overlap 1h',
      does: 'replace it, with an hour to change the receiver',
    },
  ],
  json: SECRET,
  async run(context, { installation, overlap, ...place }) {
    const [client, path] = await webhookOf(context, installation, place);
    const { signal } = context;
    const body = overlap === undefined ? {} : { overlapSeconds: overlap / MS_PER_S };
    const rotated = await client.request<WebhookSecret>('POST', `${path}/webhook-secret/rotate`, {
      body,
      options: { signal },
    });
    showSecret(context.output, rotated);
  },
});

const test: Command = defineCommand({
  name: 'test',
  summary: 'send a test event to a receiver and wait for its answer',
  description: [
    'Sends an example event to this webhook alone, as the product would, and waits until its delivery has ended.',
  ],
  arguments: { installation: INSTALLATION },
  options: {
    ...PLACE,
    type: { value: 'type', help: 'type of the event; by default the first that is selected' },
    timeout: {
      value: 'seconds',
      help: `wait at most this long (default: ${OUTCOMES_WAIT_MS / MS_PER_S})`,
      parse: seconds,
    },
  },
  examples: [{ line: 'annex webhook test hooks --site docs', does: 'see whether the receiver gets it' }],
  exits: { 1: 'it was refused, its delivery failed, or did not end in time' },
  json: Type.Object({
    eventId: Type.String(),
    deliveries: Type.Integer(),
    outcomes: Type.Array(DELIVERY, { description: 'The delivery, as it was at the end.' }),
  }),
  async run(context, { installation, type, timeout = OUTCOMES_WAIT_MS, ...place }) {
    const { output, signal } = context;
    const [client, path] = await webhookOf(context, installation, place);
    const sent = await client.request<WebhookTest>('POST', `${path}/webhook-test`, {
      body: type === undefined ? {} : { type },
      options: { signal },
    });
    const outcomes = await outcomesOf(context, client, { ...sent, waitMs: timeout });
    output.result({ ...sent, outcomes }, () => {
      output.talk(`Sent ${sent.eventId}.`);
      output.table(TITLES, outcomes.map(rowOf));
      if (sent.deliveries === 0)
        output.line(
          'No delivery: the code does not handle this type, or its manifest lacks the scope of it.',
        );
    });
    const isOver = outcomes.every(({ state }) => state !== 'pending');
    if (!isOver) output.talk(`After ${timeout / MS_PER_S} s, the delivery is still pending.`);
    return outcomes.some(({ state }) => state === 'delivered') ? EXIT.ok : EXIT.failed;
  },
});

interface Place {
  readonly space?: string | undefined;
  readonly site?: string | undefined;
}

/** A client, and the path of the target that a command names. */
async function webhookOf(
  context: CommandContext,
  word: string,
  place: Place,
): Promise<readonly [Annex, path: string]> {
  const client = await context.client();
  return [client, targetPath(await findInstallation(client, word), place)];
}

/** The secret alone is data, so that a shell can take it. */
function showSecret(output: Output, shown: WebhookSecret): void {
  output.result(shown, () => {
    output.line(shown.secret);
    if (shown.previous) output.talk(`The replaced secret signs, too, until ${shown.previous.until}.`);
  });
}

export const webhook: CommandGroup = {
  name: 'webhook',
  summary: 'show or replace the secret of a webhook, and test its receiver',
  description: [
    'A webhook belongs to an installation, or to its part in a space or a site: name that with --space or --site.',
  ],
  examples: [
    { line: 'annex webhook test hooks --site docs', does: 'see whether the receiver gets a test event' },
  ],
  commands: [secret, rotate, test],
};
