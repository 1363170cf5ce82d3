/**
 * Reads a secret that is not an argument: from standard input, or from the person at a
 * terminal, without showing it. Never asks without a terminal.
 */
import type { Readable } from 'node:stream';
import { Failure, UsageError } from './failure.ts';

const CHARS_MAX = 65_536;
const [INTERRUPT, END, ENTER, LINE_FEED, DELETE, BACKSPACE] = ['\x03', '\x04', '\r', '\n', '\x7f', '\b'];

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
