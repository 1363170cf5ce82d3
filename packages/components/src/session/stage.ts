/**
 * What one `<annex-component>` shows: the component itself, the modals above it, and the question
 * of a `confirm`. It carries out the actions of the platform (docs/contract/components.md#actions);
 * all others are the component's.
 */
import { type Signal, signal } from '@preact/signals';
import type { PagePlace } from '../drawing/frame-message.ts';
import { isObject, member, objectMember, textMember } from '../drawing/json.ts';
import { linkUrl, webUrl } from '../drawing/urls.ts';
import { transportChoices } from '../fetch-transport.ts';
import { LIMITS } from '../limits.ts';
import type { Action, ChoiceReader, JsonObject, ShownPage, Transport } from '../transport.ts';
import type { Words } from '../words.ts';
import { cacheOf } from './answer-cache.ts';
import { ComponentSession, type Failure } from './component-session.ts';
import { BROWSER_CLOCK } from './slices.ts';

export interface Modal {
  /** Unique in the stage. */
  readonly id: number;
  readonly session: ComponentSession;
  readonly opener: Place;
}

export interface Question {
  readonly confirm: JsonObject;
  answer(yes: boolean): void;
}

/** An element of a component. */
export interface Place {
  readonly session: ComponentSession;
  readonly path: string;
}

export interface StageParts {
  readonly transport: Transport;
  /** Reads choices, in place of the transport. */
  readonly choices?: ChoiceReader;
  readonly words: Words;
  readonly componentId: string;
  readonly props: JsonObject;
  readonly context: JsonObject | undefined;
  readonly surroundings: Surroundings;
  /** Tells the page. @returns false if the page takes care of it itself */
  readonly emit: (event: string, detail: JsonObject) => boolean;
}

/**
 * What the frames of a component have done, together. Attack: a page that takes the focus has the
 * component drawn again and again, each time with a new frame that begins with a clean record.
 */
export interface FrameConduct {
  /** One was stopped: from then on a new one waits for the user. */
  isStopped: boolean;
  /** Times at which one took the focus and lost it, without a verdict. */
  readonly doubts: number[];
}

/** What frames learn of the page around them. */
export interface Surroundings {
  readonly page?: ShownPage | undefined;
  /** Claims of the visitor, for components that may see them. */
  readonly visitor?: JsonObject | undefined;
}

export interface PressOptions {
  readonly confirm?: unknown;
  /** Values of client state for this one action. */
  readonly scope?: Readonly<Record<string, unknown>>;
}

export class Stage {
  readonly root: ComponentSession;
  readonly modals = signal<readonly Modal[]>([]);
  readonly question = signal<Question | undefined>(undefined);
  readonly surroundings: Signal<Surroundings>;
  readonly frames: FrameConduct = { isStopped: false, doubts: [] };
  readonly #parts: StageParts;
  #modalsOpened = 0;
  #named = 0;

  constructor(parts: StageParts) {
    this.#parts = parts;
    this.surroundings = signal(parts.surroundings);
    const { componentId, props } = parts;
    const onComplete = (returnValue: unknown) => this.#complete(returnValue);
    this.root = this.#session(componentId, props, onComplete);
  }

  get words(): Words {
    return this.#parts.words;
  }

  /** Reads choices for a component. */
  choicesOf({ componentId }: ComponentSession): ChoiceReader {
    return this.#parts.choices ?? transportChoices(this.#parts.transport, componentId);
  }

  /**
   * Whether the names of what is chosen may be read before a list is opened. Attack: thousands of
   * lists, all of which ask at once.
   */
  mayName(): boolean {
    this.#named += 1;
    return this.#named <= LIMITS.namedSelects;
  }

  end(): void {
    this.question.peek()?.answer(false);
    for (const { session } of this.modals.peek()) session.end();
    this.modals.value = [];
    this.root.end();
  }

  /** Draws the component and its modals again, with the state that they have. */
  refresh(): void {
    for (const session of [this.root, ...this.modals.peek().map((modal) => modal.session)]) session.refresh();
  }

  /** Asks a question. @returns whether the user confirmed it */
  ask(confirm: JsonObject): Promise<boolean> {
    this.question.peek()?.answer(false);
    return new Promise((resolve) => {
      const question: Question = {
        confirm,
        answer: (yes) => {
          if (this.question.peek() === question) this.question.value = undefined;
          resolve(yes);
        },
      };
      this.question.value = question;
    });
  }

  /** Carries out the action of an element, after the question if there is one. */
  async press(place: Place, press: unknown, { confirm, scope }: PressOptions = {}): Promise<boolean> {
    if (!isObject(press) || textMember(press, 'action') === undefined) return false;
    if (isObject(confirm) && !(await this.ask(confirm))) return false;
    return this.#press(place, press, scope);
  }

  #press(place: Place, press: JsonObject, scope: PressOptions['scope']): boolean {
    let action: Action;
    try {
      action = place.session.client.resolve(press, scope) as Action;
    } catch {
      this.#refuse(place, this.words.failed);
      return false;
    }
    this.#carryOut(place, action, () => void this.#press(place, press, scope));
    return true;
  }

  /** Opens a URL in a new tab, unless the page opens it itself. */
  open(place: Place, value: unknown): void {
    const url = linkUrl(value);
    // Attack: a binding whose value is a `javascript:` URL. The service never saw it.
    if (url === undefined) this.#refuse(place, this.words.refusedUrl);
    else if (this.#parts.emit('annex-navigate', { url })) window.open(url, '_blank', 'noopener,noreferrer');
  }

  /** Tells the page of a link that is about to be followed. @returns false if the page does it */
  follow(url: string): boolean {
    return this.#parts.emit('annex-navigate', { url });
  }

  /** A frame asks for another page of the site; the product goes there. */
  goTo(page: PagePlace): void {
    this.#parts.emit('annex-page', { ...page });
  }

  closeModal(session: ComponentSession, returnValue?: unknown): void {
    const modals = this.modals.peek();
    const index = modals.findIndex((modal) => modal.session === session);
    const modal = modals[index];
    if (modal === undefined) return;
    // Those above it were opened from it.
    for (const above of modals.slice(index)) above.session.end();
    this.modals.value = modals.slice(0, index);
    const value = returnValue === undefined ? {} : { returnValue };
    modal.opener.session.dispatch(modal.opener.path, { action: '@ui.modal.close', ...value });
  }

  /** @param again repeats an action that failed, with the values that its bindings have then */
  #carryOut(place: Place, action: Action, again: () => void): void {
    switch (action.action) {
      case '@ui.modal.open':
        return this.#openModal(place, action);
      case '@ui.modal.close':
        return this.#close(place, member(action, 'returnValue'));
      case '@ui.url.open':
        return this.open(place, member(action, 'url'));
      case '@link.unfurl':
        return this.#unfurl(place, member(action, 'url'));
      case '@editor.node.updateProps':
        return this.#updateProps(objectMember(action, 'props') ?? {});
      default:
        if (action.action.startsWith('@')) this.#refuse(place, this.words.failed);
        else place.session.dispatch(place.path, action, again);
    }
  }

  #openModal(opener: Place, action: Action): void {
    const componentId = textMember(action, 'componentId');
    if (componentId === undefined || this.modals.peek().length >= LIMITS.modals)
      return this.#refuse(opener, this.words.failed);
    const props = objectMember(action, 'props') ?? {};
    const session: ComponentSession = this.#session(componentId, props, (value) =>
      this.closeModal(session, value),
    );
    this.#modalsOpened += 1;
    this.modals.value = [...this.modals.peek(), { id: this.#modalsOpened, session, opener }];
    session.start();
  }

  #close({ session }: Place, returnValue: unknown): void {
    if (session !== this.root) return this.closeModal(session, returnValue ?? givenReturnValue(session));
    this.root.end();
    this.root.tree.value = undefined;
    this.#complete(returnValue);
  }

  #unfurl(place: Place, value: unknown): void {
    const url = webUrl(value);
    if (url === undefined) this.#refuse(place, this.words.refusedUrl);
    else this.#parts.emit('annex-unfurl', { url });
  }

  #updateProps(props: JsonObject): void {
    this.#parts.emit('annex-props', { props });
    this.root.replaceProps(props);
  }

  #complete(returnValue: unknown): void {
    for (const { session } of this.modals.peek()) session.end();
    this.modals.value = [];
    this.#parts.emit('annex-complete', returnValue === undefined ? {} : { returnValue });
  }

  #refuse({ session, path }: Place, message: string): void {
    session.fail(path, { message, code: 'ACTION_REFUSED' });
  }

  #session(
    componentId: string,
    props: JsonObject,
    onComplete: (returnValue: unknown) => void,
  ): ComponentSession {
    const { transport, words, context, emit } = this.#parts;
    return new ComponentSession({
      ...{ componentId, props, context, transport, words, onComplete },
      cache: cacheOf(transport),
      clock: BROWSER_CLOCK,
      onDrawn: (drawn) => void emit('annex-render', { ...drawn }),
      onFailure: ({ code, message }: Failure) => void emit('annex-error', { componentId, code, message }),
    });
  }
}

/** The value that a modal hands over when its window is closed. */
export const givenReturnValue = ({ tree }: ComponentSession): JsonObject | undefined =>
  objectMember(tree.peek()?.root.attributes ?? {}, 'returnValue');
