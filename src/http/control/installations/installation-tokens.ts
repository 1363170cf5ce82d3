/**
 * `…/installations/{id}/tokens`: code of an integration gets the token of one of its installations
 * (docs/contract/environment.md#runtime-tokens).
 *
 * Code at the integration's own endpoint serves many installations and has a token of none. The
 * token is the one that a call of the installation would get now: nothing is stored, and requests
 * within half a minute get the same.
 */
import Type from 'typebox';
import { type TargetName, wholeInstallation } from '../../../model/installation.ts';
import { mayHaveToken, type Principal } from '../../../model/principal.ts';
import { unknownTarget } from '../../../model/unknown-name-errors.ts';
import type { Installations } from '../../../store/installations/installations.ts';
import type { TargetResolver } from '../../../targets/target-resolver.ts';
import { FOR_RUNTIME, principalOf, refuseHolder } from '../authenticate.ts';
import { BOUND_BY_CALLS } from '../order-rate.ts';
import { ERRORS_VIEW, NoQuery } from '../schemas.ts';
import type { TypedApp } from '../typed-routes.ts';
import { visibleTarget } from './installation-rights.ts';
import { TARGET_PARAMS, TARGET_PATHS } from './target-paths.ts';

const TokenView = Type.Object(
  {
    token: Type.String({ description: 'A runtime token of the installation, of kind `installation`.' }),
  },
  { title: 'InstallationToken' },
);

export interface InstallationTokensRouteParts {
  readonly installations: Pick<Installations, 'read'>;
  readonly targets: Pick<TargetResolver, 'named'>;
}

export function installationTokensRoutes(app: TypedApp, parts: InstallationTokensRouteParts): void {
  app.post(
    `${TARGET_PATHS.organization}/tokens`,
    {
      config: { ...FOR_RUNTIME, ...BOUND_BY_CALLS },
      schema: {
        summary: 'Get a runtime token of an installation',
        description: 'For code of the integration. It expires as the tokens of a call do.',
        params: TARGET_PARAMS.organization,
        querystring: NoQuery,
        response: { 201: TokenView, ...ERRORS_VIEW },
      },
    },
    async (request, reply) => {
      refuseHolder(request);
      const principal = principalOf(request);
      const { name, id } = request.params;
      const installation = await visibleTarget(parts.installations, request, name, wholeInstallation(id));
      const target = targetOf(principal, installation);
      const token = (await parts.targets.named(target))?.environment.apiTokens.installation;
      if (token === undefined || !mayHaveToken(principal, { ...installation, ...target }))
        throw unknownTarget(target);
      return reply.code(201).send({ token });
    },
  );
}

/**
 * The target of the token. Attack: code called for one space asks for the token of the whole
 * installation, and with it reads the other spaces. It gets the token of its space.
 */
const targetOf = (principal: Principal, { installationId }: TargetName): TargetName =>
  principal.kind === 'installation' ? principal.target : wholeInstallation(installationId);
