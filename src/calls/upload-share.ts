/**
 * The share of places that uploads may have: calls whose bodies are still being sent.
 *
 * Attack: a stranger sends bodies to one endpoint so slowly that each call runs until its time is
 * over, and holds all places of the installation. So uploads have half of the places, and one
 * sender no more than it leaves free of that half. This file only counts; `admission.ts` gives
 * places.
 */
import { isFairPlace } from '../limits.ts';

/** Share of the places that uploads may have. */
const UPLOAD_SHARE = 1 / 2;

export class UploadShare {
  readonly #bySender = new Map<string, number>();
  #taken = 0;

  /**
   * @param places of which this is a share @returns whether there is room for one more upload of
   * the sender
   */
  hasRoom(places: number, sender: string): boolean {
    const left = Math.max(1, Math.floor(places * UPLOAD_SHARE)) - this.#taken - 1;
    return isFairPlace(this.#bySender.get(sender) ?? 0, left);
  }

  take(sender: string): void {
    this.#taken += 1;
    this.#bySender.set(sender, (this.#bySender.get(sender) ?? 0) + 1);
  }

  giveBack(sender: string): void {
    const own = (this.#bySender.get(sender) ?? 1) - 1;
    this.#taken -= 1;
    if (own === 0) this.#bySender.delete(sender);
    else this.#bySender.set(sender, own);
  }
}
