/**
 * `/v1/statement-keys`: rotation of the keys that sign statements to the product's API, for the
 * operator (docs/contract/api.md#the-products-api). `open-routes.ts` publishes their public halves.
 */
import Type from 'typebox';
import { actorOf, requireAdmin } from '../authenticate.ts';
import { route } from '../route.ts';
import { isoTime, named, optional, Time } from '../schemas.ts';

const RotateBody = Type.Optional(
  Type.Object(
    {
      forget: optional(Type.Boolean(), 'Whether all keys so far are withdrawn at once: one has leaked.'),
    },
    { additionalProperties: false },
  ),
);

const KeysView = named('StatementKeys', {
  keys: Type.Array(
    Type.Object({
      kid: Type.String(),
      state: Type.Enum(['next', 'signing', 'previous']),
      createdAt: Time,
    }),
    { description: 'Newest first.' },
  ),
});

export const STATEMENT_KEY_ROUTES = [
  route({
    name: 'statement-keys.rotate',
    at: 'POST /statement-keys/rotate',
    right: 'operate',
    summary: 'Rotate the keys of statements',
    description:
      "The next key signs statements to the product's API from now on; the one before stays published.",
    rights: requireAdmin,
    body: RotateBody,
    answer: KeysView,
    async handle(request, { statementKeys }) {
      const { forget = false } = request.body;
      const keys = await statementKeys.rotate({ forget }, actorOf(request));
      return {
        keys: keys.map(({ kid, state, createdAt }) => ({ kid, state, createdAt: isoTime(createdAt) })),
      };
    },
  }),
];
