/**
 * The processes of a build, as the operating system sees them, and an upload that keeps them busy.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { expect } from 'vitest';

/**
 * Keeps esbuild busy for most of a minute, in little memory: each `<` may begin type arguments, so
 * the parser reads on to the end of the statement, finds that it does not, and goes back.
 */
export const SLOW_SOURCE = `declare let a: any, b: any;\n${`a${'<b'.repeat(5_000)};\n`.repeat(20)}export default 1;`;

interface Process {
  readonly parent: number;
  readonly session: number;
  readonly command: string;
}

/** All processes but zombies, which only wait to be counted out. */
export const processes = (): Process[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
        // Behind the name, which may have spaces and brackets.
        const [state, parent, , session] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
        const command = readFileSync(`/proc/${pid}/cmdline`, 'latin1').replaceAll('\0', ' ');
        return state === 'Z' ? [] : [{ parent: Number(parent), session: Number(session), command }];
      } catch {
        // It has ended meanwhile.
        return [];
      }
    });

/** How many processes live in a session. */
export const aliveIn = (session: number): number =>
  processes().filter((candidate) => candidate.session === session).length;

const isBuild = ({ parent, command }: Process): boolean =>
  parent === process.pid && /bundler-process(-\d+)?\.(ts|cjs)/.test(command);

/**
 * The session of this test's build, once esbuild runs in it. A process that waits for a later
 * upload has no esbuild yet.
 */
export async function startedSession(): Promise<number> {
  let session = 0;
  const running = () => {
    const all = processes();
    const builds = all.filter(isBuild);
    // The program that runs, and not one that is named in its arguments.
    const bundles = all.filter(({ command }) => /^\S*esbuild(\s|$)/.test(command));
    const found = builds.find((build) => bundles.some((one) => one.session === build.session));
    session = found?.session ?? 0;
    return session;
  };
  await expect.poll(running).toBeGreaterThan(0);
  return session;
}
