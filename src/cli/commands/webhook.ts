/**
 * `annex webhook`: the state of a webhook, its signing secret, its own headers, and a test of its
 * receiver. Each
 * webhook is of one target: an installation, or its part in a space or a site.
 */
import Type from 'typebox';
import type {
  Annex,
  EnabledWebhook,
  Replayed,
  Webhook,
  WebhookHeaders,
  WebhookHeadersToSet,
  WebhookSecret,
  WebhookTest,
  WholeWebhook,
} from '../../../packages/client/src/index.ts';
import { standardSecret } from '../../model/signature.ts';
import type { CommandContext } from '../command.ts';
import { type Command, type CommandGroup, defineCommand } from '../command.ts';
import { EXIT, UsageError } from '../terminal/failure.ts';
import { type Output, paint } from '../terminal/output.ts';
import { secretFor } from '../terminal/secret-input.ts';
import { OUTCOMES_WAIT_MS, outcomesOf, rowOf, TITLES } from '../traffic/deliveries.ts';
import {
  findInstallation,
  INSTALLATION,
  PLACE,
  targetPath,
  type Words,
  wordsOf,
} from '../traffic/installation.ts';
import { duration, seconds } from '../traffic/option-values.ts';
import { DELIVERY } from './deliveries.ts';

const SECRET = Type.Object({
  secret: Type.String(),
  standardSecret: Type.Optional(Type.String()),
  createdAt: Type.String(),
  headerPrefix: Type.Optional(Type.String()),
  previous: Type.Optional(Type.Object({ until: Type.String() })),
});
const MS_PER_S = 1_000;
const STANDARD = {
  standard: { help: 'print it as receivers of Standard Webhooks take it, whsec_…' },
} as const;

const secret: Command = defineCommand({
  name: 'secret',
  summary: 'show the secret that signs a webhook',
  description: [
    'Prints the secret by which the receiver verifies deliveries, and nothing else on standard output. Each reading is an entry in the audit.',
  ],
  arguments: { installation: INSTALLATION },
  options: { ...PLACE, ...STANDARD },
  examples: [
    {
      line: 'export WEBHOOK_SECRET=$(annex webhook secret hooks --site docs)',
      does: 'give it to a receiver on this machine',
    },
  ],
  json: SECRET,
  async run(context, { installation, standard, ...place }) {
    const [client, path] = await webhookOf(context, installation, place);
    const { signal } = context;
    showSecret(
      context.output,
      await client.request('GET', `${path}/webhook-secret`, { options: { signal } }),
      standard,
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
    ...STANDARD,
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
  async run(context, { installation, overlap, standard, ...place }) {
    const [client, path] = await webhookOf(context, installation, place);
    const { signal } = context;
    const body = overlap === undefined ? {} : { overlapSeconds: overlap / MS_PER_S };
    const rotated = await client.request<WebhookSecret>('POST', `${path}/webhook-secret/rotate`, {
      body,
      options: { signal },
    });
    showSecret(context.output, rotated, standard);
  },
});

const headers: Command = defineCommand({
  name: 'headers',
  summary: 'show, set or remove the headers of your own that a webhook sends',
  description: [
    'Shows the names. With --set, replaces all headers by the lines of standard input, as "X-Key: value"; with --bearer or --basic, by an Authorization whose token, or user:password, is read there. At a terminal it is asked for, and not shown.',
    'Requests carry them to the origin that the URL of the webhook has now, and to no other: after a change to another one, set them again. The values are sealed and never shown.',
  ],
  arguments: { installation: INSTALLATION },
  options: {
    ...PLACE,
    set: { help: 'set the headers of the lines that are read' },
    bearer: { help: 'set the token that is read, as Authorization: Bearer' },
    basic: { help: 'set the user:password that is read, as Authorization: Basic' },
    delete: { help: 'remove them all' },
    fromEnv: { value: 'variable', help: 'read the value of this variable, not standard input' },
  },
  examples: [
    { line: 'annex webhook headers hooks --site docs', does: 'see the names' },
    { line: 'annex webhook headers hooks --site docs --set < headers.txt', does: 'take them from a file' },
    {
      line: 'annex webhook headers hooks --site docs --bearer --from-env RECEIVER_TOKEN',
      does: 'send a token, taken from a variable',
    },
  ],
  json: Type.Object({ names: Type.Array(Type.String()), origin: Type.Optional(Type.String()) }),
  async run(context, { installation, set, bearer, basic, delete: removes, fromEnv, ...place }) {
    const ways = [set && 'set', bearer && 'bearer', basic && 'basic', removes && 'delete'].filter(Boolean);
    if (ways.length > 1) throw new UsageError(`--${ways[0]} and --${ways[1]} exclude each other.`);
    const { output, signal } = context;
    const [client, target] = await webhookOf(context, installation, place);
    const path = `${target}/webhook-headers`;
    const options = { signal };
    let shown: WebhookHeaders = { names: [] };
    if (removes) await client.request('DELETE', path, { options });
    else if (ways.length === 0) shown = await client.request('GET', path, { options });
    else {
      const what = basic ? 'user:password' : bearer ? 'the token' : 'the headers';
      const text = await secretFor(context, what, fromEnv);
      const body = basic ? basicOf(text) : bearer ? { bearer: text } : { headers: linesOf(text) };
      shown = await client.request('PUT', path, { body, options });
    }
    output.result(shown, () => {
      const { names, origin } = shown;
      for (const name of names) output.line(name);
      if (names.length === 0) output.talk('The webhook sends no headers of your own.');
      else output.talk(`Sent to ${origin}.`);
    });
  },
});

function basicOf(text: string): WebhookHeadersToSet {
  const [, username, password] = /^([^:]*):(.*)$/s.exec(text) ?? [];
  if (username !== undefined && password !== undefined) return { basic: { username, password } };
  throw new UsageError('There is no colon between user and password.');
}

const linesOf = (text: string) =>
  text
    .split(/\r?\n/)
    .filter((line) => line.trim() !== '')
    .map((line, index) => {
      const [, name, value] = /^([^:]*):\s*(.*)$/s.exec(line) ?? [];
      // Without the line, which may be a secret.
      if (name === undefined || value === undefined)
        throw new UsageError(`Line ${index + 1} is no header, as "X-Key: value".`);
      return { name, value: value.trimEnd() };
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

const WEBHOOK = Type.Object({
  installation: Type.String(),
  space: Type.Optional(Type.String()),
  site: Type.Optional(Type.String()),
  integration: Type.String(),
  organization: Type.String(),
  state: Type.Enum(['healthy', 'failing', 'disabled']),
  since: Type.Optional(Type.String()),
  failing: Type.Optional(Type.Object({ since: Type.String(), outcome: Type.String() })),
  disabled: Type.Optional(
    Type.Object({ by: Type.String(), reason: Type.String(), note: Type.Optional(Type.String()) }),
  ),
});
const WHOLE = Type.Object({
  ...WEBHOOK.properties,
  outcomes: Type.Optional(Type.Array(Type.Object({ outcome: Type.String(), deliveries: Type.Integer() }))),
  held: Type.Integer(),
});

const STYLES = { healthy: 'green', failing: 'red', disabled: 'yellow' } as const;
const stateOf = ({ state }: Pick<Webhook, 'state'>) => paint(STYLES[state], state);

/** Why a webhook is not healthy, in a few words. */
function whyOf({ failing, disabled }: Pick<Webhook, 'failing' | 'disabled'>): string {
  const failure = failing === undefined ? '' : `${failing.outcome}, since ${failing.since}`;
  if (disabled === undefined) return failure;
  const { by, reason, note } = disabled;
  const why = reason === 'request' ? (note ?? 'by request') : reason;
  return `${why} (by ${by})${failure === '' ? '' : `; ${failure}`}`;
}

const list: Command = defineCommand({
  name: 'list',
  summary: 'list webhooks that are failing or disabled',
  options: {
    state: { value: 'state', help: 'only in this state', choices: ['failing', 'disabled'] },
    organization: { value: 'organization', help: 'only of this organization' },
    integration: { value: 'integration', help: 'only of this integration' },
  },
  examples: [{ line: 'annex webhook list --state disabled', does: 'see which webhooks are disabled' }],
  json: Type.Object({ items: Type.Array(WEBHOOK) }),
  async run({ output, client }, filter) {
    const annex = await client();
    const [items, { place }] = await Promise.all([
      Array.fromAsync(annex.webhooks.all(filter)),
      wordsOf(annex),
    ]);
    const titles = ['WEBHOOK', 'PLACE', 'STATE', 'SINCE', 'WHY'];
    output.list(
      { items },
      titles,
      (one) => [
        `${one.integration}@${one.organization}`,
        place(one),
        stateOf(one),
        one.since ?? '',
        whyOf(one),
      ],
      'Every webhook is healthy.',
    );
  },
});

const show: Command = defineCommand({
  name: 'show',
  summary: 'show whether a webhook is healthy, failing or disabled',
  arguments: { installation: INSTALLATION },
  options: PLACE,
  examples: [{ line: 'annex webhook show hooks --site docs', does: 'see how its receiver answers' }],
  json: WHOLE,
  async run(context, { installation, ...place }) {
    const [client, path] = await webhookOf(context, installation, place);
    showWebhook(context.output, await wordsOf(client), await client.request('GET', `${path}/webhook`));
  },
});

const disable: Command = defineCommand({
  name: 'disable',
  summary: 'disable a webhook: its deliveries are held',
  description: [
    'Nothing is posted to the receiver until the webhook is enabled. Its deliveries are held meanwhile, and can be replayed as long as deliveries are kept.',
  ],
  arguments: { installation: INSTALLATION },
  options: { ...PLACE, note: { value: 'text', help: 'why, for people' } },
  examples: [{ line: 'annex webhook disable hooks --site docs', does: 'post nothing to its receiver' }],
  json: WHOLE,
  async run(context, { installation, note, ...place }) {
    const [client, path] = await webhookOf(context, installation, place);
    const body = note === undefined ? {} : { note };
    showWebhook(
      context.output,
      await wordsOf(client),
      await client.request('POST', `${path}/webhook/disable`, { body }),
    );
  },
});

const enable: Command = defineCommand({
  name: 'enable',
  summary: 'enable a webhook, and deliver what was held',
  description: [
    'With --replay, what was held is delivered, oldest first: a few at a time, and one at a time while the receiver fails. Without it, what was held stays held.',
  ],
  arguments: { installation: INSTALLATION },
  options: { ...PLACE, replay: { help: 'deliver what was held' } },
  examples: [
    {
      line: 'annex webhook enable hooks --site docs --replay',
      does: 'post again, also what was missed meanwhile',
    },
  ],
  json: Type.Object({ ...WHOLE.properties, replayed: Type.Optional(Type.Integer()) }),
  async run(context, { installation: word, replay = false, ...place }) {
    const { output } = context;
    const [client, path] = await webhookOf(context, word, place);
    const { next, ...enabled } = await client.request<EnabledWebhook>('POST', `${path}/webhook/enable`, {
      body: { replay },
    });
    let { replayed = 0 } = enabled;
    const held = { installation: enabled.installation, ...place, state: 'held' } as const;
    for (let cursor = next; cursor !== undefined; ) {
      output.talk(`${replayed} so far.`);
      const more = await client.request<Replayed>('POST', '/v1/deliveries/replay', {
        body: { ...held, cursor },
      });
      replayed += more.replayed;
      cursor = more.next;
    }
    const whole = next === undefined ? enabled : await client.request<WholeWebhook>('GET', `${path}/webhook`);
    const shown = replay ? { ...whole, replayed } : whole;
    output.result(shown, () => {
      output.line('The webhook is enabled.');
      if (replay)
        output.line(`${replayed} held ${replayed === 1 ? 'delivery is' : 'deliveries are'} pending again.`);
      else if (whole.held > 0) output.talk(heldText(whole.held));
    });
  },
});

const heldText = (held: number): string =>
  `${held} ${held === 1 ? 'delivery is' : 'deliveries are'} held: annex deliveries replay <installation> --state held`;

function showWebhook(output: Output, words: Words, webhook: WholeWebhook): void {
  const { outcomes = [], held } = webhook;
  output.result(webhook, () => {
    output.line(paint('bold', words.target(webhook)), ' is ', stateOf(webhook));
    const why = whyOf(webhook);
    if (why !== '') output.line(`  ${why}`);
    if (outcomes.length > 0)
      output.table(
        ['OUTCOME', 'DELIVERIES'],
        outcomes.map(({ outcome, deliveries }) => [outcome, deliveries]),
      );
    if (held > 0) output.line(`  ${held} held`);
  });
}

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
function showSecret(output: Output, shown: WebhookSecret, isStandard: boolean | undefined): void {
  output.result(shown, () => {
    output.line(isStandard ? standardSecret(shown.secret) : shown.secret);
    if (shown.previous) output.talk(`The replaced secret signs, too, until ${shown.previous.until}.`);
  });
}

export const webhook: CommandGroup = {
  name: 'webhook',
  summary: 'the state, the secret and the headers of a webhook, and a test of its receiver',
  description: [
    'A webhook belongs to an installation, or to its part in a space or a site: name that with --space or --site.',
  ],
  examples: [
    { line: 'annex webhook test hooks --site docs', does: 'see whether the receiver gets a test event' },
  ],
  commands: [list, show, disable, enable, secret, rotate, headers, test],
};
