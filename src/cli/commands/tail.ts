/** `annex tail`: follows the log of an installation, across reconnects. */
import type { LogLine } from '../../../packages/client/src/index.ts';
import { type Command, defineCommand } from '../command.ts';
import { UsageError } from '../terminal/failure.ts';
import { follow } from '../traffic/follow-stream.ts';
import {
  findInstallation,
  INSTALLATION_HELP,
  installationWord,
  nameOf,
} from '../traffic/installation-name.ts';
import { LEVELS, showLine } from '../traffic/log-line.ts';
import { wholeNumber } from '../traffic/time-options.ts';
import { LINE } from './logs.ts';

const EARLIER = 10;
const EARLIER_MAX = 100;

export const tail: Command = defineCommand({
  name: 'tail',
  summary: 'follow the log of an installation',
  description: [
    'Shows the lines of a log as they are written, until it is interrupted. When the connection breaks or the service restarts it connects again, says so on standard error, and continues behind the last line.',
  ],
  arguments: { installation: { help: INSTALLATION_HELP, optional: true, parse: installationWord } },
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
