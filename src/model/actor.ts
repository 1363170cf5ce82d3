/**
 * The origin of a change: principal, request, address and call depth. Every change carries one, for
 * the audit log and for the events that report the change. Types only.
 */
import type { Principal } from './principal.ts';

export interface Actor {
  readonly principal: Principal;
  readonly requestId: string;
  /** Network address of the client; absent for a request that an integration makes in process. */
  readonly address?: string;
  /** Call depth: how many calls the change is inside of. 0 for a request from outside. */
  readonly depth: number;
  /** How many tasks, each of which queued the next one, are behind the change; absent for 0. */
  readonly generation?: number;
}
