/**
 * The keys of `annex dev`, where standard input is a terminal: one key, one action. A digit chooses
 * from the list that the last action has shown.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import type { Annex, Rendering } from '../../../packages/client/src/index.ts';
import type { CommandContext } from '../../cli/command.ts';
import { Failure } from '../../cli/terminal/failure.ts';
import { type DevEvent, KEYS_HELP } from './dev-event.ts';
import { componentsOf, type DevSession, eventsOf, postEvent, sampleFor } from './dev-session.ts';

const [INTERRUPT, END_OF_INPUT] = ['\x03', '\x04'];
const DIGIT = /^[1-9]$/;

interface Terminal extends Readable {
  setRawMode?(isRaw: boolean): unknown;
}

interface DevKeysDeps {
  readonly context: CommandContext;
  readonly annex: Annex;
  readonly session: DevSession;
  /** Address of the page. */
  readonly page: string;
  readonly emit: (event: DevEvent) => void;
  readonly quit: () => void;
}

export class DevKeys {
  readonly #deps: DevKeysDeps;
  /** What the digits choose. */
  #choices: readonly (() => Promise<void>)[] = [];

  constructor(deps: DevKeysDeps) {
    this.#deps = deps;
  }

  /** Reads keys until the terminal ends. @returns stops, and gives the terminal back */
  start(): () => void {
    const stdin: Terminal = this.#deps.context.stdin;
    const read = (chunk: Buffer | string) => {
      for (const key of String(chunk)) void this.press(key);
    };
    // Keys come at once and are not shown. Ctrl-C comes as a key.
    stdin.setRawMode?.(true);
    stdin.on('data', read);
    return () => {
      stdin.off('data', read);
      stdin.setRawMode?.(false);
      stdin.pause();
    };
  }

  async press(key: string): Promise<void> {
    const { context, emit, quit } = this.#deps;
    if (key === 'q' || key === INTERRUPT || key === END_OF_INPUT) return quit();
    try {
      await this.#act(key);
    } catch (error) {
      const { message } = context.explain(error);
      emit({ event: 'failed', message });
    }
  }

  async #act(key: string): Promise<void> {
    const { context, page } = this.#deps;
    const { output } = context;
    if (DIGIT.test(key)) return this.#choices[Number(key) - 1]?.();
    this.#choices = [];
    if (key === 'o') return this.#open(page);
    if (key === 'r') return this.#render();
    if (key === 't') return this.#trigger();
    if (key === 'c') return output.clear();
    if (key === 'h' || key === '?') output.talk(KEYS_HELP);
  }

  async #open(page: string): Promise<void> {
    const isOpen = await openInBrowser(page);
    if (!isOpen) this.#deps.context.output.talk(`Open ${page}`);
  }

  async #render(): Promise<void> {
    const { annex, emit, session } = this.#deps;
    const components = componentsOf(this.#live().manifest);
    if (components.length === 0) throw new Failure('The manifest names no component.');
    for (const { id: component, place } of components) {
      const body = { componentId: component };
      const rendering = await annex.request<Rendering>('POST', `${session.path(place)}/render`, { body });
      emit({ event: 'rendered', component, rendering });
    }
  }

  async #trigger(): Promise<void> {
    const types = eventsOf(this.#live());
    if (types.length === 0) throw new Failure('The scopes of the manifest let it receive no event.');
    const [only] = types;
    if (types.length === 1 && only !== undefined) return this.#post(only);
    this.#choices = types.map((type) => () => this.#post(type));
    this.#deps.context.output.talk(types.map((type, at) => `${at + 1} ${type}`).join('  '));
  }

  async #post(type: string): Promise<void> {
    const { annex, emit } = this.#deps;
    const { eventId, deliveries } = await postEvent(annex, sampleFor(type, this.#live()));
    emit({ event: 'triggered', type, eventId, deliveries });
  }

  #live() {
    const { live } = this.#deps.session;
    if (live === undefined) throw new Failure('Nothing is live yet.');
    return live;
  }
}

const OPENERS: Partial<Record<NodeJS.Platform, readonly string[]>> = {
  darwin: ['open'],
  win32: ['cmd', '/c', 'start', ''],
};
const LINUX = ['xdg-open'];

/** @returns whether a program has taken it */
async function openInBrowser(url: string): Promise<boolean> {
  const [program = '', ...args] = OPENERS[process.platform] ?? LINUX;
  const child = spawn(program, [...args, url], { stdio: 'ignore', detached: true });
  child.unref();
  try {
    await once(child, 'spawn');
    return true;
  } catch {
    return false;
  }
}
