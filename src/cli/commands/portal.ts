/** `annex portal`: a link that opens the portal of an organization. */
import Type from 'typebox';
import { PORTAL_LOCALES, PORTAL_VIEWS } from '../../model/portal.ts';
import { type Command, defineCommand } from '../command.ts';
import { UsageError } from '../terminal/failure.ts';

export const portalLink: Command = defineCommand({
  name: 'portal',
  summary: "print a link that opens an organization's portal",
  description: [
    'Prints a link to the portal, where the customers of a product install and set up integrations. Whoever opens it first, within ten minutes, sees that organization alone.',
  ],
  arguments: { organization: { help: 'id of the organization' } },
  options: {
    view: { value: 'view', repeatable: true, choices: PORTAL_VIEWS, help: 'what it shows; by default all' },
    minutes: {
      value: 'minutes',
      parse: wholeMinutes,
      default: 60,
      help: 'how long the session lasts, 720 at most',
    },
    locale: { value: 'locale', choices: PORTAL_LOCALES, help: "language; by default the browser's" },
  },
  examples: [
    { line: 'annex portal acme', does: 'print a link for the customers of "acme"' },
    { line: 'annex portal acme --view webhooks --locale de', does: 'webhooks alone, in German' },
  ],
  exits: { 1: 'the service gives no link' },
  json: Type.Object({ url: Type.String(), expiresAt: Type.String() }),
  async run({ output, client, connection }, { organization, view, minutes, locale }) {
    const annex = await client();
    const { url: service } = await connection();
    const { url, expiresAt } = await annex.portalLinks.create({
      ...{ organization, expiresIn: minutes * 60 },
      ...(view.length > 0 && { views: [...view] }),
      ...(locale !== undefined && { locale }),
    });
    const link = { url: new URL(url, service).href, expiresAt };
    await output.item(link, () => output.line(link.url));
  },
});

function wholeMinutes(text: string): number {
  const minutes = Number(text);
  if (/^\d{1,3}$/.test(text) && minutes >= 1 && minutes <= 720) return minutes;
  throw new UsageError('--minutes is a whole number from 1 to 720.');
}
