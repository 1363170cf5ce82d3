/** `annex console`: a link that opens the console of a service, signed in. */
import Type from 'typebox';
import { type Command, defineCommand } from '../command.ts';

export const consoleLink: Command = defineCommand({
  name: 'console',
  summary: 'print a link that opens the console, signed in',
  description: [
    'Prints a link to the console of the service. Whoever opens it first, within ten minutes, is signed in with the rights of the token of this command.',
  ],
  options: {},
  examples: [{ line: 'annex console', does: 'print a link to open in a browser' }],
  exits: { 1: 'the service gives no link' },
  json: Type.Object({ url: Type.String(), expiresAt: Type.String() }),
  async run({ output, client, connection }) {
    const annex = await client();
    const { url: service } = await connection();
    const { url, expiresAt } = await annex.consoleLinks.create();
    const link = { url: new URL(url, service).href, expiresAt };
    await output.item(link, () => output.line(link.url));
  },
});
