/** Hands the events of a session to all that show them; a later listener gets the latest ones. */
import type { DevEvent } from './dev-event.ts';

/** Events that a new listener gets first. */
const KEPT_MAX = 300;

export type Listener = (event: DevEvent) => void;

export class EventFeed {
  readonly #kept: DevEvent[] = [];
  readonly #listeners = new Set<Listener>();

  emit(event: DevEvent): void {
    this.#kept.push(event);
    if (this.#kept.length > KEPT_MAX) this.#kept.shift();
    for (const listener of this.#listeners) listener(event);
  }

  /** Calls it with the kept events, then with each new one. @returns ends it */
  listen(listener: Listener): () => void {
    for (const event of this.#kept) listener(event);
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
