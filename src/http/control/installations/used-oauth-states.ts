/**
 * `…/credentials/states`: spends the `state` of an OAuth flow, so that it is valid once
 * (docs/contract/oauth.md#state). `createOAuthHandler` of the SDK calls it before it exchanges a
 * code.
 *
 * Only for calls of the target, whose code could store credentials anyway. It counts as an edit:
 * each state is a row that is kept for a quarter of an hour.
 */
import Type from 'typebox';
import { LEVELS, type Level } from '../../../model/level.ts';
import type { Installations } from '../../../store/installations/installations.ts';
import type { UsedOAuthStates } from '../../../store/installations/used-oauth-states.ts';
import { FOR_RUNTIME } from '../authenticate.ts';
import { ERRORS_VIEW, NoQuery } from '../schemas.ts';
import type { TypedApp } from '../typed-routes.ts';
import { countedEdit } from './counted-edit.ts';
import { renewableTarget } from './credential-leases.ts';
import type { EditRate } from './edit-rate.ts';
import { TARGET_NOUNS, TARGET_PARAMS, TARGET_PATHS } from './target-paths.ts';

export interface UsedOAuthStatesRouteParts {
  readonly installations: Pick<Installations, 'read'>;
  readonly usedOAuthStates: Pick<UsedOAuthStates, 'spend'>;
  readonly edits: EditRate;
}

const StateBody = Type.Object(
  {
    digest: Type.String({
      description: 'SHA-256 of the state, in base64url.',
      maxLength: 43,
      pattern: '^[A-Za-z0-9_-]{43}$',
    }),
  },
  { title: 'StateToSpend', additionalProperties: false },
);

const StateView = Type.Object(
  {
    isFirst: Type.Boolean({ description: 'Whether the state was not spent before.' }),
  },
  { title: 'SpentState' },
);

export function usedOAuthStatesRoutes(app: TypedApp, parts: UsedOAuthStatesRouteParts): void {
  for (const level of LEVELS) spendRoute(app, parts, level);
}

function spendRoute(app: TypedApp, parts: UsedOAuthStatesRouteParts, level: Level): void {
  app.post(
    `${TARGET_PATHS[level]}/credentials/states`,
    {
      config: FOR_RUNTIME,
      onRequest: countedEdit(parts, level),
      schema: {
        summary: `Spend the state of an OAuth flow of ${TARGET_NOUNS[level]}`,
        params: TARGET_PARAMS[level],
        querystring: NoQuery,
        body: StateBody,
        response: { 200: StateView, ...ERRORS_VIEW },
      },
    },
    async (request) => {
      const name = await renewableTarget(parts, request, level);
      return { isFirst: await parts.usedOAuthStates.spend(name, request.body.digest) };
    },
  );
}
