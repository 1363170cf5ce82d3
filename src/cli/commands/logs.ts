/**
 * `annex logs`: the newest lines of a log, oldest first. `annex tail`: follows it, across
 * reconnects.
 */
import Type from 'typebox';
import type { LogLine } from '../../../packages/client/src/index.ts';
import { type Command, defineCommand } from '../command.ts';
import { UsageError } from '../terminal/failure.ts';
import { firstOf, follow } from '../traffic/follow-stream.ts';
import { findInstallation, INSTALLATION, nameOf } from '../traffic/installation.ts';
import { LEVELS, showLine } from '../traffic/log-lines.ts';
import { moment, wholeNumber } from '../traffic/option-values.ts';

/** Lines of one request. */
const PAGE = 100;
const SHOWN = 100;
const LINE = Type.Object({
  id: Type.String(),
  installation: Type.Optional(Type.String()),
  integration: Type.Optional(Type.String()),
  version: Type.Integer(),
  requestId: Type.String(),
  level: Type.String(),
  text: Type.String(),
  at: Type.String(),
});

export const logs: Command = defineCommand({
  name: 'logs',
  summary: 'show the log of an installation',
  description: ['Shows the newest lines of a log, oldest first. `annex tail` follows it.'],
  arguments: { installation: { ...INSTALLATION, optional: true } },
  options: {
    integration: { value: 'name', help: "the log of this integration's own endpoint instead" },
    level: { value: 'level', help: 'this level and those above it', choices: LEVELS },
    since: { value: 'time', help: 'lines since then: 30s, 10m, 2h, 1d, or a date', parse: moment },
    limit: { value: 'number', help: 'lines at most', parse: wholeNumber, default: SHOWN },
  },
  examples: [
    { line: 'annex logs hello', does: 'see the newest lines of the only installation of hello' },
    { line: 'annex logs hello@acme --level error --since 1d', does: 'see the errors of the last day' },
  ],
  json: Type.Object({ items: Type.Array(LINE) }),
  async run(context, { installation: word, integration, level, since, limit }) {
    const { output } = context;
    if ((word === undefined) === (integration === undefined))
      throw new UsageError('Name an installation, or an integration with --integration.');
    const client = await context.client();
    const installation = word === undefined ? undefined : await findInstallation(client, word);
    const query = { installation: installation?.id, integration, level };
    const all = client.logs.all({ ...query, limit: Math.max(1, Math.min(PAGE, limit)) });
    const isNew = ({ at }: LogLine) => since === undefined || Date.parse(at) >= since;
    const lines = (await firstOf(all, limit, isNew)).reverse();
    output.result({ items: lines }, () => {
      for (const line of lines) showLine(output, line);
      const of = installation === undefined ? String(integration) : nameOf(installation);
      if (lines.length === 0) output.talk(`The log of ${of} has no such lines.`);
    });
  },
});

const EARLIER = 10;
const EARLIER_MAX = 100;

export const tail: Command = defineCommand({
  name: 'tail',
  summary: 'follow the log of an installation',
  description: [
    'Shows the lines of a log as they are written, until it is interrupted. When the connection breaks or the service restarts it connects again, says so on standard error, and continues behind the last line.',
  ],
  arguments: { installation: { ...INSTALLATION, optional: true } },
  options: {
    integration: { value: 'name', help: "the log of this integration's own endpoint instead" },
    level: { value: 'level', help: 'this level and those above it', choices: LEVELS },
    lines: {
      short: 'n',
      value: 'number',
      help: `earlier lines that come first, up to ${EARLIER_MAX}`,
      parse: (text) => {
        const lines = wholeNumber(text);
        if (lines <= EARLIER_MAX) return lines;
        throw new UsageError(`At most ${EARLIER_MAX} earlier lines: \`annex logs --limit\` shows more.`);
      },
      default: EARLIER,
    },
  },
  examples: [
    { line: 'annex tail hello', does: 'follow the log of the only installation of hello' },
    {
      line: 'annex tail hello@acme --level warn --json',
      does: 'follow warnings and errors, a JSON object a line',
    },
  ],
  json: LINE,
  stream: true,
  async run(context, { installation: word, integration, level, lines }) {
    if ((word === undefined) === (integration === undefined))
      throw new UsageError('Name an installation, or an integration with --integration.');
    const client = await context.client();
    const installation = word === undefined ? undefined : await findInstallation(client, word);
    const of = installation === undefined ? String(integration) : nameOf(installation);
    const stream = follow<LogLine>(context, {
      path: '/v1/logs',
      query: { installation: installation?.id, integration, level, ...(lines > 0 && { limit: lines }) },
      begins: `Following the log of ${of}. Ctrl-C ends it.`,
      items: 'lines',
    });
    for await (const line of stream) await context.output.item(line, () => showLine(context.output, line));
  },
});
