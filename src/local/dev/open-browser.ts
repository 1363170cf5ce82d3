/** Opens an address in the browser of this machine, if it has one. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';

const OPENERS: Partial<Record<NodeJS.Platform, readonly string[]>> = {
  darwin: ['open'],
  win32: ['cmd', '/c', 'start', ''],
};
const LINUX = ['xdg-open'];

/** @returns whether a program has taken it */
export async function openInBrowser(url: string): Promise<boolean> {
  const [program = '', ...args] = OPENERS[process.platform] ?? LINUX;
  const child = spawn(program, [...args, url], { stdio: 'ignore', detached: true });
  child.unref();
  try {
    await once(child, 'spawn');
    return true;
  } catch {
    return false;
  }
}
