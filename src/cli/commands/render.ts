/** `annex render`: draws a component of an installation, optionally after an action. */
import Type from 'typebox';
import { type Annex, AnnexError, type Installation } from '../../../packages/client/src/index.ts';
import type { CommandContext } from '../command.ts';
import { type Command, defineCommand } from '../command.ts';
import { showTree } from '../traffic/content-tree.ts';
import { findInstallation, INSTALLATION, targetPath } from '../traffic/installation.ts';
import { errorsOf, piecesOf } from '../traffic/log-lines.ts';
import { givenObject } from '../traffic/option-values.ts';

interface Rendering {
  readonly type: string;
  readonly state?: unknown;
  readonly props?: unknown;
  readonly element?: unknown;
  readonly returnValue?: unknown;
}

export const render: Command = defineCommand({
  name: 'render',
  summary: 'draw a component of an installation',
  description: [
    'Draws a component of an installation and shows its elements as a tree.',
    'A component that throws is answered without its reason: the command shows it from the log, with its place in the code.',
    'The answer of an earlier rendering has the state and the props to send with an action: see --json.',
  ],
  arguments: {
    component: { help: 'id of the component, as the code names it' },
    installation: INSTALLATION,
  },
  options: {
    props: { value: 'json', help: 'props: JSON, or @file' },
    state: { value: 'json', help: 'state of the last answer: JSON, or @file' },
    action: { value: 'action', help: 'action of the user: its name, JSON, or @file' },
    context: { value: 'json', help: 'where it is shown: JSON, or @file' },
    user: { value: 'id', help: 'id of the user to whom it is shown' },
    space: { value: 'space', help: 'render for this space' },
    site: { value: 'site', help: 'render for this site' },
  },
  examples: [
    { line: 'annex render counter hello', does: 'draw the first state of the component counter' },
    {
      line: `annex render counter hello --state '{"count":1}' --action increment`,
      does: 'draw it after an action',
    },
  ],
  json: Type.Object({
    type: Type.String({ description: '`element`, or `complete` where an action ended the component.' }),
    state: Type.Optional(Type.Unknown()),
    props: Type.Optional(Type.Unknown()),
    element: Type.Optional(Type.Unknown()),
    returnValue: Type.Optional(Type.Unknown()),
  }),
  async run(context, { component, installation: word, user, space, site, ...given }) {
    const { output } = context;
    const action = given.action?.match(/^[\w.-]+$/) ? { action: given.action } : undefined;
    const body = {
      componentId: component,
      props: await givenObject(context, '--props', given.props),
      state: await givenObject(context, '--state', given.state),
      context: await givenObject(context, '--context', given.context),
      action: action ?? (await givenObject(context, '--action', given.action)),
      ...(user !== undefined && { auth: { userId: user } }),
    };
    const client = await context.client();
    const installation = await findInstallation(client, word);
    const path = targetPath(installation, { space, site });
    const rendering = await client
      .request<Rendering>('POST', `${path}/render`, { body })
      .catch(async (error: unknown) => {
        await showReason(context, { client, installation }, error);
        throw error;
      });
    output.result(rendering, () => {
      if (rendering.type === 'element') showTree(output, rendering.element);
      else output.line(`The component is complete: ${JSON.stringify(rendering.returnValue ?? null)}`);
    });
  },
});

/** Shows what the log says of a component that threw. */
async function showReason(
  { output, signal }: CommandContext,
  { client, installation }: { client: Annex; installation: Installation },
  error: unknown,
): Promise<void> {
  if (!(error instanceof AnnexError) || error.code !== 'RENDER_FAILED') return;
  const { requestId } = error;
  if (requestId === undefined) return;
  for (const line of await errorsOf(client, installation, requestId, signal)) output.talk(...piecesOf(line));
}
