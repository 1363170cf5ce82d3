/**
 * The console: the page of the control listener for operators, authors and the product's engineers,
 * and its sessions (docs/contract/console.md). Any stored token signs in, and a link does once.
 */
import type { FastifyInstance } from 'fastify';
import type { Tokens } from '../../store/tokens.ts';
import { CONSOLE } from '../page-session.ts';
import { type SessionPageDeps, sessionPageRoutes } from './session-page.ts';

const SESSION_MS = 12 * 3_600_000;

export interface ConsoleDeps extends SessionPageDeps {
  readonly tokens: Pick<Tokens, 'openSession' | 'revoke'>;
}

export function consoleRoutes(app: FastifyInstance, deps: ConsoleDeps): void {
  const parts = {
    ...{ page: CONSOLE, title: 'Annex', images: () => [], frames: [] },
    viewOf: ({ kind, organization }: { kind: string; organization?: string }) => ({ kind, organization }),
    // Attack: a customer of the product who signs in here, with the link to the portal.
    isFor: ({ portal }: { portal?: object }) => portal === undefined,
  };
  const open: Parameters<typeof sessionPageRoutes>[1]['open'] = (signedIn, by) =>
    deps.tokens.openSession(signedIn, SESSION_MS, by);
  sessionPageRoutes(app, { ...parts, open }, deps);
}
