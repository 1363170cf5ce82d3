/**
 * Which requests the inspector's listener answers: those of programs on this machine, and of the
 * front ends of Chrome DevTools.
 *
 * Attack: a page in the developer's browser connects to the debugger, which reads every secret of
 * an installation and runs any code. A page's request names the page's origin. A page whose name
 * was made to point at 127.0.0.1 (DNS rebinding) is of the listener's own origin, and its requests
 * name that host.
 */
import type { IncomingMessage } from 'node:http';

const HOSTS: readonly string[] = ['127.0.0.1', 'localhost'];
const ORIGINS: readonly string[] = ['devtools://devtools', 'https://chrome-devtools-frontend.appspot.com'];

/** @returns why the request is refused; undefined where it is answered */
export function requestRefusal({ headers }: IncomingMessage, port: number): string | undefined {
  const { host = '', origin } = headers;
  if (!HOSTS.some((name) => host.toLowerCase() === `${name}:${port}`))
    return `The inspector answers at 127.0.0.1:${port} alone.\n`;
  if (origin !== undefined && !ORIGINS.includes(origin))
    return 'The inspector answers no page, only Chrome DevTools and programs of this machine.\n';
  return undefined;
}
