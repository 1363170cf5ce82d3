/**
 * Who changes something, and from where: what every change is handed along with what it changes, for the audit and for the
 * events that tell of it. Types only.
 */
import type { Principal } from './principal.ts';

export interface Actor {
  readonly principal: Principal;
  readonly requestId: string;
  /** Where the request came from; absent for an integration's own, which comes in process. */
  readonly address?: string;
  /** How many calls the change was made inside of: 0 where it comes from outside. */
  readonly depth: number;
}
