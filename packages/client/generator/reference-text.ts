/**
 * The text of `docs/client-reference.md`: every method of the client with its route, from the same
 * model as its code.
 */
import { argumentsOf, followVerb, itemsVerb } from './client-text.ts';
import { type Method, methodsOf } from './methods.ts';
import type { Description } from './openapi.ts';
import { TypeText } from './type-text.ts';

const HEAD = `# The client: reference

Every method of \`@annex/client\`, from the OpenAPI description of the service. Generated: \`npx vitest run test/service/client/generated-client.test.ts -u\`.

The package's [README](../packages/client/README.md) says how it is used: settings, lists, streams, errors, retries, webhooks. Parameters
with a \`?\` may be left out. Every method takes \`options\` last: \`signal\`, \`timeoutMs\`, \`retries\`, and what the table names. It
answers a \`Reply\` of the type in the table, which is a promise of that type; \`answer()\` of it has status and headers, too. Editors
show the members of each type, with their meaning.

[The API](api.md) has the tokens that each route accepts, and [the contract](contract/api.md) its rules.
`;

/** The text of the page. */
export function referenceText(description: Description): string {
  const methods = methodsOf(description, new TypeText());
  const sections = [...Map.groupBy(methods, ({ noun }) => noun)].map(
    ([noun, own]) => `## annex.${noun}\n\n${TABLE}${own.flatMap(rowsOf).join('')}`,
  );
  return [HEAD, ...sections].join('\n');
}

const TABLE = '| method | answers | route | |\n|---|---|---|---|\n';

function rowsOf(method: Method): readonly string[] {
  const { verb, httpMethod, path, operation, item, event } = method;
  const route = `\`${httpMethod} ${path}\``;
  const given = argumentsOf(method).filter(({ name }) => name !== 'options');
  const parameters = given.map(({ name, optional }) => `${name}${optional ? '?' : ''}`).join(', ');
  const row = (name: string, answer: string, about: string): string =>
    `| \`${name}(${parameters})\` | ${answer} | ${route} | ${about} |\n`;
  const same = `\`${verb}\``;
  return [
    row(verb, answerText(method), `${decapitalized(operation.summary ?? '')}${optionsText(method)}`),
    ...(item ? [row(itemsVerb(verb), `items: ${typeText(item)}`, `the items of all pages of ${same}`)] : []),
    ...(event
      ? [row(followVerb(verb), `stream: ${typeText(event)}`, `what ${same} lists, as it happens`)]
      : []),
  ];
}

function answerText({ answer, mayBeUnchanged }: Method): string {
  return mayBeUnchanged ? `${typeText(answer)}, or nothing if unchanged` : typeText(answer);
}

/** A type that has no name is too long for a table. */
const typeText = (type: string): string =>
  type === 'void' ? 'nothing' : type.includes('{') ? 'an object' : `\`${type.replaceAll('|', '\\|')}\``;

function optionsText({ headers, queryOptions }: Method): string {
  const names = [...queryOptions, ...headers].map(({ option }) => `\`${option}\``);
  return names.length === 0 ? '' : `; options: ${names.join(', ')}`;
}

const decapitalized = (text: string): string =>
  /^[A-Z][a-z ]/.test(text) ? text.charAt(0).toLowerCase() + text.slice(1) : text;
