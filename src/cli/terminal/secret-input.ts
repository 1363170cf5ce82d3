/**
 * Reads a secret that is not an argument: from standard input, or from the person at a
 * terminal, without showing it. Never asks without a terminal.
 */
import type { Readable } from 'node:stream';
import { Failure, UsageError } from './failure.ts';

const CHARS_MAX = 65_536;
const [INTERRUPT, END, ENTER, LINE_FEED, DELETE, BACKSPACE] = ['\x03', '\x04', '\r', '\n', '\x7f', '\b'];

/** What of a command's context is read from. */
interface Sources {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdin: Readable;
  readonly isTerminal: { readonly stdin: boolean };
  readonly output: { ask(text: string): void };
}

/**
 * A secret for a command.
 *
 * @param name of what is read, for people
 * @param variable whose value is taken in place of standard input
 * @throws UsageError if there is none
 */
export async function secretFor(
  { env, stdin, isTerminal, output }: Sources,
  name: string,
  variable: string | undefined,
): Promise<string> {
  if (variable !== undefined) {
    const value = env[variable];
    if (value === undefined || value === '') throw new UsageError(`The variable ${variable} has no value.`);
    return value;
  }
  const value = isTerminal.stdin
    ? await askSecret(stdin, (text) => output.ask(text), `Value of ${name}: `)
    : await secretOf(stdin);
  if (value !== '') return value;
  throw new UsageError(`There is no value for ${name}.`, {
    hint: 'Send it on standard input, or name a variable with --from-env.',
  });
}

/** All of a stream as text, without the line ends at its end. */
export async function secretOf(stdin: Readable): Promise<string> {
  let text = '';
  for await (const chunk of stdin) {
    text += String(chunk);
    if (text.length > CHARS_MAX) throw new UsageError('Standard input is too long for a secret.');
  }
  return text.trimEnd();
}

/** Whether a person can be asked. */
interface Terminal extends Readable {
  setRawMode?(isRaw: boolean): unknown;
}

/** @param ask prints the question, and the line end after the answer */
export async function askSecret(
  stdin: Terminal,
  ask: (text: string) => void,
  question: string,
): Promise<string> {
  ask(question);
  // In raw mode the terminal shows nothing of what is typed.
  stdin.setRawMode?.(true);
  try {
    return await typedLine(stdin);
  } finally {
    stdin.setRawMode?.(false);
    ask('\n');
  }
}

async function typedLine(stdin: Terminal): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  let typed = '';
  const read = (chunk: Buffer | string): void => {
    for (const char of String(chunk)) {
      if (char === ENTER || char === LINE_FEED || char === END) return resolve(typed);
      if (char === INTERRUPT) return reject(new Failure('Interrupted.', { code: 'INTERRUPTED' }));
      if (char === DELETE || char === BACKSPACE) typed = typed.slice(0, -1);
      else if (typed.length < CHARS_MAX) typed += char;
    }
  };
  const ended = () => resolve(typed);
  stdin.on('data', read);
  stdin.once('end', ended);
  try {
    return await promise;
  } finally {
    stdin.off('data', read);
    stdin.off('end', ended);
    stdin.pause();
  }
}
