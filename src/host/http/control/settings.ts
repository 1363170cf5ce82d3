/** `/v1/settings`: what this node was started with, and its limits. For the operator. */
import Type from 'typebox';
import { DEFAULT_LIMITS, type LimitName } from '../../../limits.ts';
import { requireAdmin } from './authenticate.ts';
import { route } from './route.ts';
import { named, optional } from './schemas.ts';

const SettingsView = named('Settings', {
  settings: Type.Array(
    Type.Object({
      flag: Type.String({ description: 'Without its dashes.' }),
      value: optional(Type.String(), 'Absent for a secret, and where nothing is set; without passwords.'),
      origin: Type.Enum(['flag', 'variable', 'default']),
      isSecret: Type.Boolean(),
      help: Type.String(),
    }),
  ),
  limits: Type.Array(
    Type.Object({
      name: Type.String(),
      value: Type.Number(),
      default: Type.Number({ description: 'Another value is that of its variable.' }),
    }),
  ),
});

export const SETTING_ROUTES = [
  route({
    name: 'settings.read',
    at: 'GET /settings',
    summary: 'Read the settings in force of the node that answers',
    rights: requireAdmin,
    answer: SettingsView,
    handle: async (_request, { settings, limits }) => ({
      settings: [...settings],
      limits: Object.entries(limits).map(([name, value]) => ({
        ...{ name, value },
        default: DEFAULT_LIMITS[name as LimitName],
      })),
    }),
  }),
];
