/** `annex deliveries`: list, follow, show, redeliver, replay and cancel deliveries. */
import Type from 'typebox';
import type { Annex, DeliveryChange } from '../../../packages/client/src/index.ts';
import { type Command, type CommandGroup, defineCommand } from '../command.ts';
import { UsageError } from '../terminal/failure.ts';
import { paint } from '../terminal/output.ts';
import { rowOf, STATES, showChange, stateOf, TITLES } from '../traffic/deliveries.ts';
import { firstOf, follow } from '../traffic/follow-stream.ts';
import { findInstallation, INSTALLATION } from '../traffic/installation.ts';
import { moment, wholeNumber } from '../traffic/option-values.ts';

const SHOWN = 20;
const PAGE = 100;

export const DELIVERY = Type.Object({
  id: Type.String(),
  eventId: Type.String(),
  type: Type.String(),
  kind: Type.String(),
  integration: Type.String(),
  organization: Type.String(),
  installation: Type.Optional(Type.String()),
  space: Type.Optional(Type.String()),
  site: Type.Optional(Type.String()),
  state: Type.Enum([...STATES]),
  attempts: Type.Integer(),
  retries: Type.Integer(),
  outcome: Type.Optional(Type.String()),
  createdAt: Type.String(),
  dueAt: Type.Optional(Type.String()),
  finishedAt: Type.Optional(Type.String()),
});
const ID = { help: 'id of the delivery' } as const;
const SELECTION = {
  space: { value: 'space', help: 'only to this space' },
  site: { value: 'site', help: 'only to this site' },
  type: { value: 'type', help: 'only of this type of event' },
} as const;

/** The service says which types of events there are. */
type ListQuery = Parameters<Annex['deliveries']['all']>[0];

const list: Command = defineCommand({
  name: 'list',
  summary: 'list deliveries, newest first, or follow them',
  arguments: { installation: { ...INSTALLATION, optional: true } },
  options: {
    ...SELECTION,
    organization: { value: 'organization', help: 'only of this organization' },
    event: { value: 'eventId', help: 'only of this event' },
    state: { value: 'state', help: 'only in this state', choices: STATES },
    since: { value: 'time', help: 'accepted since then: 30s, 10m, 2h, 1d, or a date', parse: moment },
    limit: { value: 'number', help: `deliveries at most; ${SHOWN} by default`, parse: wholeNumber },
    follow: { help: 'show each change as it happens, until it is interrupted' },
  },
  examples: [
    {
      line: 'annex deliveries list hello --state failed --since 1d',
      does: 'see what failed in the last day',
    },
    { line: 'annex deliveries list hello --follow', does: 'watch deliveries and their attempts' },
  ],
  json: Type.Union([
    Type.Object({ items: Type.Array(DELIVERY) }),
    Type.Object({
      id: Type.String(),
      change: Type.String(),
      at: Type.String(),
      delivery: DELIVERY,
      attempt: Type.Optional(Type.Unknown()),
    }),
  ]),
  stream: 'follow',
  async run(context, { installation: word, since, limit, follow: isFollowed, ...filter }) {
    const { output } = context;
    if (isFollowed && since !== undefined)
      throw new UsageError('--since is for lists: leave it out with --follow.');
    const client = await context.client();
    const installation = word === undefined ? undefined : (await findInstallation(client, word)).id;
    const query = { ...filter, installation };
    if (isFollowed) {
      const changes = follow<DeliveryChange>(context, {
        ...{ path: '/v1/deliveries', begins: 'Following deliveries. Ctrl-C ends it.', items: 'changes' },
        query: { ...query, ...(limit !== undefined && limit > 0 && { limit }) },
      });
      for await (const change of changes) await output.item(change, () => showChange(output, change));
      return;
    }
    const shown = limit ?? SHOWN;
    const from = since === undefined ? undefined : new Date(since).toISOString();
    const page = { ...query, from, limit: Math.max(1, Math.min(PAGE, shown)) };
    const items = await firstOf(client.deliveries.all(page as ListQuery), shown);
    output.list({ items }, TITLES, rowOf, 'There are no such deliveries.');
  },
});

const show: Command = defineCommand({
  name: 'show',
  summary: 'show a delivery with its attempts and its payload',
  arguments: { delivery: ID },
  examples: [{ line: 'annex deliveries show <delivery>', does: 'see why a delivery failed' }],
  json: Type.Object({
    ...DELIVERY.properties,
    history: Type.Array(Type.Unknown()),
    destination: Type.Optional(Type.String()),
    payload: Type.Optional(Type.String()),
  }),
  async run({ output, client }, { delivery: id }) {
    const delivery = await (await client()).deliveries.get(id);
    output.result(delivery, () => {
      const { integration, organization, space, site, kind, type, eventId, state } = delivery;
      const place = space ?? site;
      output.line(paint('bold', delivery.id), '  ', stateOf(state));
      output.line(`event        ${type} ${eventId}`);
      output.line(`to           ${integration}@${organization}${place ? ` in ${place}` : ''} (${kind})`);
      output.line(`created      ${delivery.createdAt}`);
      if (delivery.dueAt !== undefined) output.line(`due          ${delivery.dueAt}`);
      if (delivery.finishedAt !== undefined) output.line(`finished     ${delivery.finishedAt}`);
      if (delivery.outcome !== undefined) output.line(`outcome      ${delivery.outcome}`);
      if (delivery.destination !== undefined) output.line(`destination  ${delivery.destination}`);
      output.table(
        ['ATTEMPT', 'AT', 'MS', 'OUTCOME', 'ANSWER'],
        delivery.history.map(({ number, at, durationMs, outcome, reason, response = '' }) => {
          return [number, at, durationMs, outcome, reason ?? response.slice(0, 80)];
        }),
      );
      if (delivery.payload !== undefined) output.line(delivery.payload);
    });
  },
});

const changes = (name: 'redeliver' | 'cancel', summary: string, does: string, done: string): Command =>
  defineCommand({
    name,
    summary,
    arguments: { delivery: ID },
    examples: [{ line: `annex deliveries ${name} <delivery>`, does }],
    json: DELIVERY,
    async run({ output, client }, { delivery: id }) {
      const delivery = await (await client()).deliveries[name](id);
      output.result(delivery, () => output.line(`${delivery.id} ${done}.`));
    },
  });

const replay: Command = defineCommand({
  name: 'replay',
  summary: 'deliver many finished deliveries again',
  description: [
    'Delivers the failed deliveries of an installation again, or those in another state, oldest first. Receivers recognize a repeated event by its eventId.',
  ],
  arguments: { installation: INSTALLATION },
  options: {
    ...SELECTION,
    state: { value: 'state', help: 'those in this state; failed by default', choices: STATES.slice(1) },
    since: { value: 'time', help: 'accepted since then: 30s, 10m, 2h, 1d, or a date', parse: moment },
    until: { value: 'time', help: 'accepted before then', parse: moment },
    dryRun: { help: 'count them, and change none' },
  },
  examples: [
    { line: 'annex deliveries replay hello --since 2h', does: 'repeat what failed in the last two hours' },
  ],
  json: Type.Object({ replayed: Type.Integer() }),
  async run(context, { installation: word, since, until, dryRun = false, ...rest }) {
    const { output } = context;
    const client = await context.client();
    const { id: installation } = await findInstallation(client, word);
    const times = {
      ...(since !== undefined && { from: new Date(since).toISOString() }),
      ...(until !== undefined && { to: new Date(until).toISOString() }),
    };
    let replayed = 0;
    for (let cursor: string | undefined; ; ) {
      const body = { installation, ...rest, ...times, cursor };
      const answer = await client.request<{ replayed: number; next?: string }>(
        'POST',
        '/v1/deliveries/replay',
        { body, query: { dryRun: dryRun || undefined } },
      );
      replayed += answer.replayed;
      cursor = answer.next;
      if (cursor === undefined) break;
      output.talk(`${replayed} so far.`);
    }
    const noun = replayed === 1 ? 'delivery is' : 'deliveries are';
    output.result({ replayed }, () =>
      output.line(dryRun ? `${replayed} would be pending again.` : `${replayed} ${noun} pending again.`),
    );
  },
});

export const deliveries: CommandGroup = {
  name: 'deliveries',
  summary: 'list, follow, show, repeat and cancel deliveries of events',
  examples: [{ line: 'annex deliveries list hello', does: 'see the newest deliveries to hello' }],
  commands: [
    list,
    show,
    changes('redeliver', 'deliver one again that has ended', 'post the same event again', 'is pending again'),
    replay,
    changes('cancel', 'cancel a pending delivery', 'stop its retries', 'is canceled'),
  ],
};
