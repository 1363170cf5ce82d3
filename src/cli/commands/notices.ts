/** `annex notices`: what the host product is told, newest first, or as it happens. */
import { setTimeout as pause } from 'node:timers/promises';
import Type from 'typebox';
import type { Annex, Notice } from '../../../packages/client/src/index.ts';
import { type Command, type CommandContext, defineCommand } from '../command.ts';
import { UsageError } from '../terminal/failure.ts';
import { type Output, type Piece, paint } from '../terminal/output.ts';
import { firstOf } from '../traffic/follow-stream.ts';
import { type Words, wordsOf } from '../traffic/installation.ts';
import { moment, timeOfDay, wholeNumber } from '../traffic/option-values.ts';

const SHOWN = 20;
const PAGE = 100;
/** Between two looks for new ones. */
const LOOK_MS = 2_000;
/**
 * A look ends at so many known ones in a row: notices of several nodes are in order as far as their
 * clocks agree.
 */
const KNOWN_IN_ROW = 20;

const NOTICE = Type.Object({
  id: Type.String(),
  type: Type.String(),
  createdAt: Type.String(),
  organization: Type.String(),
  integration: Type.String(),
  installation: Type.Optional(Type.String()),
  space: Type.Optional(Type.String()),
  site: Type.Optional(Type.String()),
  details: Type.Optional(Type.Record(Type.String(), Type.Union([Type.String(), Type.Number()]))),
  delivery: Type.Optional(
    Type.Object({
      id: Type.String(),
      state: Type.String(),
      attempts: Type.Integer(),
      outcome: Type.Optional(Type.String()),
    }),
  ),
});

/** The service says which types there are. */
type ListQuery = NonNullable<Parameters<Annex['notices']['all']>[0]>;

export const notices: Command = defineCommand({
  name: 'notices',
  summary: 'list what the host product is told, newest first, or follow it',
  description: [
    'Shows webhooks that fail, recover or are disabled, connections that are lost and restored, installations that are pending, and integrations that are published or quarantined. POST is the state of the request to the receiver that the operator has named.',
  ],
  options: {
    type: { value: 'type', help: 'only of this type, as webhook.failing' },
    since: { value: 'time', help: 'since then: 30s, 10m, 2h, 1d, or a date', parse: moment },
    limit: { value: 'number', help: `notices at most; ${SHOWN} by default`, parse: wholeNumber },
    follow: { help: 'show each as it is written, until it is interrupted' },
  },
  examples: [
    { line: 'annex notices --since 1d', does: 'see what happened in the last day' },
    { line: 'annex notices --type webhook.failing --follow', does: 'watch for webhooks that fail' },
  ],
  json: Type.Union([Type.Object({ items: Type.Array(NOTICE) }), NOTICE]),
  stream: 'follow',
  async run(context, { type, since, limit, follow }) {
    const { output } = context;
    if (follow && since !== undefined)
      throw new UsageError('--since is for lists: leave it out with --follow.');
    const client = await context.client();
    const words = await wordsOf(client, context.signal);
    const from = since === undefined ? undefined : new Date(since).toISOString();
    const all = (count: number) =>
      client.notices.all({ type, from, limit: Math.max(1, Math.min(PAGE, count)) } as ListQuery);
    if (follow) {
      await followed(context, { all, words }, limit ?? 0);
      return;
    }
    const shown = limit ?? SHOWN;
    const items = await firstOf(all(shown), shown);
    output.list({ items }, TITLES, (notice) => rowOf(notice, words), 'There are no such notices.');
  },
});

/** Shows each notice once, until the command is interrupted. */
async function followed(
  { output, signal }: CommandContext,
  { all, words }: { all: (count: number) => AsyncIterable<Notice>; words: Words },
  begin: number,
): Promise<void> {
  const known = new Set<string>();
  const before = await firstOf(all(PAGE), PAGE);
  for (const { id } of before) known.add(id);
  output.talk('Following notices. Ctrl-C ends it.');
  await show(output, words, before.slice(0, begin));
  while (!signal.aborted) {
    await pause(LOOK_MS, undefined, { signal }).catch(() => undefined);
    if (signal.aborted) return;
    const found = await unknownAmong(all(PAGE), known);
    for (const { id } of found) known.add(id);
    await show(output, words, found);
  }
}

/** Those that are not known, newest first. */
async function unknownAmong(notices: AsyncIterable<Notice>, known: ReadonlySet<string>): Promise<Notice[]> {
  const found: Notice[] = [];
  let inRow = 0;
  for await (const notice of notices) {
    inRow = known.has(notice.id) ? inRow + 1 : 0;
    if (inRow === 0) found.push(notice);
    if (inRow === KNOWN_IN_ROW) break;
  }
  return found;
}

async function show(output: Output, words: Words, notices: readonly Notice[]): Promise<void> {
  for (const notice of notices.toReversed())
    await output.item(notice, () =>
      output.line(
        paint('dim', `${timeOfDay(notice.createdAt)} `),
        notice.type,
        ` ${words.target(notice)}`,
        paint('dim', ` ${detailsOf(notice)}`),
      ),
    );
}

const detailsOf = ({ details = {} }: Notice): string =>
  Object.entries(details)
    .map(([name, value]) => `${name}=${value}`)
    .join(' ');

const TITLES = ['TYPE', 'ABOUT', 'DETAILS', 'POST', 'CREATED'];
const rowOf = (notice: Notice, words: Words): readonly Piece[] => [
  notice.type,
  words.target(notice),
  detailsOf(notice),
  notice.delivery?.state ?? '',
  notice.createdAt,
];
