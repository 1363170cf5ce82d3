/**
 * Decides whether a `webframe` may have the focus of the page.
 *
 * Attack: a page in a frame calls `focus()` again and again, and what the user types into a field of
 * the product arrives in the frame. No attribute of a frame forbids that. A frame may have the focus
 * only if the user gave it: by Tab, by a press in the frame, or by the button that shows it again.
 *
 * A page sees no event of a press in a frame of another origin. It sees only that the user did
 * something (`navigator.userActivation`), and its own events have the same effect for five seconds.
 * So the activation by typing into a field, or by a press on one, is used up at once. What is active
 * after that was a press in a frame.
 */
import type { RefObject } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import type { FrameConduct } from '../session/stage.ts';

/** Time for which browsers keep an activation. */
const ACTIVATION_MS = 5_000;
/** Focus that passes from one frame to another has no event. */
const POLL_MS = 50;
/**
 * What a page does that soon after it has loaded, or after the user's act elsewhere, is no answer
 * to the user.
 */
const SETTLED_MS = 30;
/** Times in ten seconds that a frame may take the focus where its right is not certain. */
const DOUBTS_MAX = 2;
const DOUBTS_MS = 10_000;

const TEXT_TYPES: ReadonlySet<string> = new Set([
  'text',
  'search',
  'email',
  'url',
  'tel',
  'password',
  'number',
]);
/** Keys beside those of one character that write into a field. */
const WRITING_KEYS: ReadonlySet<string> = new Set(['Backspace', 'Delete', 'Dead', 'Process', 'Unidentified']);

interface Watched {
  isLoaded: boolean;
  /** The user has pressed the button that shows the frame, and nothing else since. */
  isWanted: boolean;
  /** When the last press in it was seen that has had no effect yet. */
  pressedAt: number;
  readonly conduct: FrameConduct;
  readonly stop: () => void;
}

/** What had the focus, and where its caret was. */
interface Held {
  readonly element: HTMLElement;
  readonly restore: () => void;
}

const MOVES = ['focusin', 'focusout'] as const;

type Verdict = 'given' | 'doubtful' | 'stolen';

class FocusGuard {
  readonly #frames = new Map<HTMLIFrameElement, Watched>();
  #listening: AbortController | undefined;
  /** The frame that has the focus by right. */
  #holder: HTMLIFrameElement | undefined;
  /** The holder gets it back, by way of the page itself. */
  #isReturning = false;
  #usedUpAt = Number.NEGATIVE_INFINITY;
  /** What lost the focus last, if nothing has it since. */
  #lost: Held | undefined;
  /** A Tab whose effect is not seen yet, and what had the focus. */
  #tab: { readonly event: Event; readonly from: EventTarget | undefined } | undefined;
  #isPressed = false;
  /** The time of the last activation by this page that is not used up. */
  #activeSince = Number.NEGATIVE_INFINITY;

  watch(frame: HTMLIFrameElement, watched: Watched): () => void {
    this.#frames.set(frame, watched);
    this.#listening ??= this.#listen();
    // What stays within a shadow root is not seen outside of it.
    const root = frame.getRootNode();
    const moved = (event: Event) => this.#moved(event);
    for (const name of MOVES) root.addEventListener(name, moved);
    return () => {
      for (const name of MOVES) root.removeEventListener(name, moved);
      this.#frames.delete(frame);
      if (this.#frames.size > 0) return;
      this.#listening?.abort();
      this.#listening = undefined;
    };
  }

  #listen(): AbortController {
    // The end of a press is not seen where its beginning stopped the last frame.
    this.#isPressed = false;
    const listening = new AbortController();
    const options = { capture: true, signal: listening.signal };
    const on = <K extends keyof WindowEventMap>(
      names: readonly K[],
      seen: (event: WindowEventMap[K]) => void,
    ) => {
      for (const name of names)
        window.addEventListener(name, (event) => event.isTrusted && seen(event), options);
    };
    on(['keydown'], (event) => this.#key(event));
    on(['pointerdown'], (event) => this.#press(event));
    on(['pointerup', 'pointercancel'], () => {
      this.#isPressed = false;
    });
    on(['click'], (event) => this.#click(event));
    on(MOVES, (event) => this.#moved(event));
    on(['blur', 'focus'], (event) => {
      if (event.target !== window) return;
      if (event.type === 'focus') this.#regained();
      this.#check();
    });
    const timer = setInterval(() => this.#check(), POLL_MS);
    listening.signal.addEventListener('abort', () => clearInterval(timer));
    return listening;
  }

  #key(event: KeyboardEvent): void {
    this.#acted(event);
    const [from] = event.composedPath();
    this.#tab = event.key === 'Tab' ? { event, from } : undefined;
    const writes = event.key.length === 1 ? !event.ctrlKey && !event.metaKey : WRITING_KEYS.has(event.key);
    if (writes && isTextField(from)) this.#useUp();
  }

  #press(event: PointerEvent): void {
    this.#acted(event);
    this.#tab = undefined;
    this.#isPressed = true;
  }

  #moved(event: Event): void {
    const [element] = event.composedPath();
    if (!(element instanceof HTMLElement)) return;
    this.#lost = event.type === 'focusout' ? held(element) : undefined;
    if (event.type === 'focusout') return;
    this.#tab = undefined;
    this.#regained();
    if (isTextField(element)) this.#useUpForeign();
  }

  #click(event: MouseEvent): void {
    const path = event.composedPath();
    // A link in a text that is edited may open a window.
    const opens = path.some(
      (target) => target instanceof Element && target.matches('a, button, [role=button]'),
    );
    if (opens || !path.some(isTextField)) return;
    this.#isPressed = true;
    // After all that listens to the click.
    setTimeout(() => {
      this.#isPressed = false;
      this.#useUp();
    });
  }

  #acted(event: Event): void {
    this.#activeSince = event.timeStamp;
    this.#isReturning = false;
    for (const watched of this.#frames.values()) watched.isWanted = false;
  }

  #useUp(): void {
    this.#usedUpAt = performance.now();
    if (useUpActivation()) this.#activeSince = Number.NEGATIVE_INFINITY;
  }

  /** Whether this page itself may have activated what is active. */
  get #isOwn(): boolean {
    return this.#isPressed || performance.now() - this.#activeSince <= ACTIVATION_MS;
  }

  /** Attack: a frame uses the press of a minute ago for the focus that the page has taken back. */
  #useUpForeign(): void {
    if (!this.#isOwn) this.#useUp();
  }

  #check(): void {
    const frame = activeElement();
    if (!(frame instanceof HTMLIFrameElement)) return;
    const watched = this.#frames.get(frame);
    const isRightful = frame === this.#holder || watched === undefined;
    if (!isRightful) this.#judge(frame, watched);
    else {
      this.#holder = frame;
      this.#isReturning = false;
      if (watched !== undefined) this.#notePress(watched);
    }
    this.#tab = undefined;
  }

  /**
   * Attack: another frame takes the focus, for which the user has pressed in this one. So the press
   * is used up, also before it ends.
   */
  #notePress(watched: Watched): void {
    if (this.#isOwn || !isActive()) return;
    watched.pressedAt = performance.now();
    this.#useUp();
  }

  /** Whether the user has just pressed in a frame, which has the focus. A press counts once. */
  takePress(frame: HTMLIFrameElement): boolean {
    const watched = this.#frames.get(frame);
    if (watched === undefined || activeElement() !== frame) return false;
    this.#notePress(watched);
    const isPressed = performance.now() - watched.pressedAt <= ACTIVATION_MS;
    watched.pressedAt = Number.NEGATIVE_INFINITY;
    // What the page of the product has activated itself is not told from a press in the frame.
    return isPressed || isActive();
  }

  /** The page itself has the focus again. */
  #regained(): void {
    if (this.#isReturning || this.#holder === undefined) return;
    if (activeElement() instanceof HTMLIFrameElement) return;
    this.#holder = undefined;
    this.#useUpForeign();
  }

  #judge(frame: HTMLIFrameElement, watched: Watched): void {
    const verdict = this.#verdict(watched);
    if (verdict === 'given') {
      this.#holder = frame;
      return;
    }
    this.#giveBack(frame);
    const now = performance.now();
    const { conduct } = watched;
    conduct.doubts.push(now);
    while (now - (conduct.doubts[0] ?? now) > DOUBTS_MS) conduct.doubts.shift();
    if (verdict === 'doubtful' && conduct.doubts.length <= DOUBTS_MAX) return;
    // The frame that has the focus by right stays: the user is in it.
    for (const [other, { conduct: its, stop }] of [...this.#frames])
      if (its === conduct && other !== this.#holder) stop();
  }

  #verdict({ isLoaded, isWanted }: Watched): Verdict {
    if (isWanted || this.#isByTab) return 'given';
    const isSoon = performance.now() - this.#usedUpAt < SETTLED_MS && isTextField(this.#lost?.element);
    if (!isLoaded || this.#isPressed || isSoon || !isActive()) return 'stolen';
    // What the user does in a frame of the product is not seen, and activates this page, too.
    if (this.#holder?.isConnected) return this.#frames.has(this.#holder) ? 'given' : 'stolen';
    return this.#isOwn && isTextField(this.#lost?.element) ? 'doubtful' : 'given';
  }

  get #isByTab(): boolean {
    if (this.#tab === undefined || this.#tab.event.defaultPrevented) return false;
    return this.#lost === undefined || this.#lost.element === this.#tab.from;
  }

  #giveBack(frame: HTMLIFrameElement): void {
    const holder = this.#holder;
    const lost = this.#lost;
    if (holder?.isConnected) {
      this.#isReturning = true;
      holder.focus({ preventScroll: true });
    } else if (lost?.element.isConnected) {
      lost.element.focus({ preventScroll: true });
      lost.restore();
    } else {
      frame.blur();
      window.focus();
    }
  }
}

/** Also in shadow roots. */
function activeElement(): Element | null {
  let { activeElement } = document;
  while (activeElement?.shadowRoot?.activeElement) ({ activeElement } = activeElement.shadowRoot);
  return activeElement;
}

const isTextField = (target: EventTarget | undefined): boolean =>
  target instanceof HTMLTextAreaElement ||
  (target instanceof HTMLInputElement && TEXT_TYPES.has(target.type)) ||
  (target instanceof HTMLElement && target.isContentEditable);

function held(element: HTMLElement): Held {
  if (element instanceof HTMLInputElement || element instanceof HTMLTextAreaElement) {
    const { selectionStart: start, selectionEnd: end, selectionDirection: direction } = element;
    // Fields such as `email` have no selection that can be read.
    return {
      element,
      restore: () => start !== null && element.setSelectionRange(start, end, direction ?? undefined),
    };
  }
  const selection = document.getSelection();
  const { anchorNode, anchorOffset = 0, focusNode, focusOffset = 0 } = selection ?? {};
  return {
    element,
    restore: () => {
      if (anchorNode?.isConnected && focusNode?.isConnected)
        selection?.setBaseAndExtent(anchorNode, anchorOffset, focusNode, focusOffset);
    },
  };
}

/** A browser that does not say it might be. */
const isActive = (): boolean => navigator.userActivation?.isActive ?? true;

let blank: HTMLIFrameElement | undefined;

/**
 * Uses up the activation of the page: a message that delegates a capability does, here to an empty
 * frame. @returns false where the browser has no such message
 */
function useUpActivation(): boolean {
  if (!isActive()) return true;
  blank ??= document.createElement('iframe');
  blank.hidden = true;
  if (!blank.isConnected) document.head.append(blank);
  const options = { targetOrigin: location.origin, delegate: 'fullscreen' };
  try {
    blank.contentWindow?.postMessage(undefined, options as WindowPostMessageOptions);
  } catch {
    return false;
  }
  return !isActive();
}

const GUARD = new FocusGuard();

/** Whether the user has just pressed in a watched frame, which has the focus. A press counts once. */
export const takePress = (frame: HTMLIFrameElement): boolean => GUARD.takePress(frame);

/** Watches a frame as long as it is shown. @returns what the frame calls when it has loaded */
export function useFrameFocus(parts: {
  readonly frame: RefObject<HTMLIFrameElement | null>;
  readonly isShown: boolean;
  readonly isWanted: boolean;
  readonly conduct: FrameConduct;
  readonly stop: () => void;
}): () => void {
  const { frame, isShown, isWanted, conduct, stop } = parts;
  const watched = useRef<Watched | undefined>(undefined);
  // Before its page can do anything.
  useLayoutEffect(() => {
    const { current } = frame;
    if (!isShown || current === null) return;
    watched.current = { isLoaded: false, isWanted, pressedAt: Number.NEGATIVE_INFINITY, conduct, stop };
    // The user has pressed the button in its place.
    if (isWanted) current.focus({ preventScroll: true });
    return GUARD.watch(current, watched.current);
  }, [isShown]);
  return () => {
    const { current } = watched;
    if (current !== undefined) setTimeout(() => Object.assign(current, { isLoaded: true }), SETTLED_MS);
  };
}
