/**
 * `annex api`: sends one request to any route of the API, with the URL and the token of the
 * profile. What it prints is the body of the answer as it came.
 */
import Type from 'typebox';
import type { CommandContext } from '../command.ts';
import { type Command, defineCommand } from '../command.ts';
import { UsageError } from '../terminal/failure.ts';
import { givenText } from '../traffic/option-values.ts';

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

function method(word: string): string {
  const upper = word.toUpperCase();
  if (METHODS.some((known) => known === upper)) return upper;
  throw new UsageError(`a method is one of ${METHODS.join(', ')}; it is "${word}".`);
}

function path(word: string): string {
  if (word.startsWith('/v1/')) return word;
  throw new UsageError(`a path begins with /v1/; it is "${word}".`);
}

function header(line: string): readonly [string, string] {
  const at = line.indexOf(':');
  const name = line.slice(0, Math.max(at, 0)).trim();
  // The value is not quoted: it may be a credential.
  if (!/^[\w-]+$/.test(name)) throw new UsageError('a header has the form "name: value".');
  return [name.toLowerCase(), line.slice(at + 1).trim()];
}

export const api: Command = defineCommand({
  name: 'api',
  summary: 'send a request to any route of the API',
  description: [
    'Sends a request with the URL and the token of the profile, and prints the body of the answer. `annex api GET /v1/openapi.json` describes all routes.',
  ],
  arguments: {
    method: { help: METHODS.join(', '), parse: method },
    path: { help: 'path with its query, from /v1/ on', parse: path },
  },
  options: {
    data: { value: 'json', short: 'd', help: 'the body; "@file" reads a file, "-" standard input' },
    header: {
      value: 'line',
      short: 'H',
      repeatable: true,
      parse: header,
      help: 'one more header, as "if-match: ..."; may be given several times',
    },
  },
  examples: [
    { line: 'annex api GET /v1/integrations', does: 'list the integrations' },
    {
      line: `annex api POST /v1/tokens --data '{"kind":"platform"}'`,
      does: 'make a token',
    },
  ],
  json: Type.Unknown({ description: 'The body of the answer; null if it has none.' }),
  async run(context, { method, path, data, header }) {
    const { output, client, isTerminal, signal } = context;
    const body = data === undefined ? undefined : await bodyOf(context, data);
    const answer = (await client()).request<string>(method, path, {
      answer: 'text',
      headers: Object.fromEntries(header),
      ...(body !== undefined && { body }),
      options: { signal },
    });
    const received = await answer;
    // On a terminal the text of the service must not control it.
    if (!output.isJson && !isTerminal.stdout) return void (await output.raw(Buffer.from(received)));
    const value = received === '' ? null : jsonOf(received);
    output.result(value, () => {
      if (received !== '') output.json(value);
    });
  },
});

async function bodyOf(context: CommandContext, data: string): Promise<unknown> {
  const file = data === '-' ? data : data.startsWith('@') ? data.slice(1) : undefined;
  const from = file === '-' ? 'Standard input' : (file ?? '--data');
  const json = file === undefined ? data : await givenText(context, file);
  try {
    return JSON.parse(json);
  } catch (cause) {
    // The parser's message quotes the text, which may hold secrets.
    throw new UsageError(`${from} is not JSON.`, { cause });
  }
}

function jsonOf(received: string): unknown {
  try {
    return JSON.parse(received);
  } catch {
    return received;
  }
}
