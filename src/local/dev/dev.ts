/** `annex dev`: publishes a folder at each change, and shows what its code does. */
import { type Command, defineCommand } from '../../cli/command.ts';
import { EVENT_TYPES_OPTION } from '../../cli/commands/event-types.ts';
import { UsageError } from '../../cli/terminal/failure.ts';
import { FOLDER_ARGUMENTS, FOLDER_OPTIONS, SECRET_OPTIONS } from '../../cli/upload/prepared-upload.ts';
import { DEV_EVENT } from './dev-event.ts';

const PAGE_PORT = 7710;
const PORT = 7711;
/** That of Node's inspector, which editors know. */
const INSPECT_PORT = 9229;
const PORT_MAX = 65_535;

export const dev: Command = defineCommand({
  name: 'dev',
  summary: 'publish a folder at each change, and see what its code does',
  description: [
    'Starts a service in this process, publishes the folder, installs it for its organization, and watches its files. Each save is checked as a publish checks it, and is live within a moment. What is refused is shown at its place in the file, and the version before goes on.',
    'The log and the deliveries of the installation follow below, with stacks at the lines of the source. At a terminal, keys open the page, render components and post sample events.',
    'The page is a simulated host product on this machine: configuration form, components, events, requests, and what came back. Its address has a secret part, which keeps other users and pages out.',
    'The service keeps its data in the folder .annex of the integration, which Git ignores and no upload has: configuration, secrets and stored data are there in the next run. Remove it to begin anew. With --service, or with --profile, it publishes to a running service instead.',
    'Values of secrets are taken as `annex publish` takes them, and a changed .env counts at once.',
  ],
  arguments: FOLDER_ARGUMENTS,
  options: {
    ...FOLDER_OPTIONS,
    ...SECRET_OPTIONS,
    overwriteSecrets: { help: 'with --service: let the values that are found replace those that it has' },
    organization: { value: 'organization', help: 'install it for this one instead of its owner' },
    service: { help: 'use the running service that other commands use' },
    port: {
      value: 'port',
      help: 'port of the endpoints; another one if it is taken',
      parse: portNumber,
      default: PORT,
    },
    pagePort: {
      value: 'port',
      help: 'port of the page; another one if it is taken',
      parse: portNumber,
      default: PAGE_PORT,
    },
    eventTypes: EVENT_TYPES_OPTION,
    egressAllow: {
      value: 'hosts',
      help: 'hosts that are not public and that the code may reach, as 127.0.0.1:3000',
    },
    inspect: { help: 'let Chrome DevTools or an editor stop in the code, at lines of the source' },
    inspectPort: {
      value: 'port',
      help: 'with --inspect: port of 127.0.0.1 for debuggers; 0 picks a free one',
      parse: portNumber,
      default: INSPECT_PORT,
    },
  },
  examples: [
    { line: 'annex dev', does: 'develop the integration in this folder' },
    { line: 'annex dev hello --egress-allow 127.0.0.1:3000', does: 'let its code reach a local server' },
    { line: 'annex dev --profile staging', does: 'publish each save to a running service' },
    { line: 'annex dev --inspect', does: 'stop at breakpoints, from chrome://inspect or VS Code' },
    { line: 'annex dev --json', does: 'read what happens as JSON, one object a line' },
  ],
  exits: { 1: 'the folder has no integration, or the service cannot be started or reached' },
  json: DEV_EVENT,
  stream: true,
  async run(context, { service, port, pagePort, egressAllow, eventTypes, inspect, inspectPort, ...input }) {
    // Loaded here: it brings the service, and a watcher of files.
    const { runDev } = await import('./run-dev.ts');
    const isRunning = service || context.profile !== undefined;
    // Attack: a debugger in a service that others use.
    if (inspect && isRunning)
      throw new UsageError(
        '--inspect lets debuggers into a service of this command; a running one lets none in.',
      );
    const debuggers = inspect ? inspectPort : undefined;
    if (eventTypes !== undefined && isRunning)
      throw new UsageError('--event-types is for the service of this command; a running one has its own.');
    const own = { egressAllow, eventTypes, inspectPort: debuggers };
    await runDev(context, { ...input, isRunning, port, pagePort, ...own });
  },
});

/** @throws UsageError with a sentence about the text */
function portNumber(text: string): number {
  const port = Number(text);
  if (/^\d{1,5}$/.test(text) && port <= PORT_MAX) return port;
  throw new UsageError(`"${text}" is not a port.`);
}
