/**
 * Where debuggers may connect: only to a service that no other machine can reach.
 *
 * A debugger reads every secret of an installation and runs any code as it. So there is no setting
 * for inspection that a deployment could carry along: `annex dev --inspect` passes it to the start
 * of its own service, and a service that listens beyond loopback refuses it.
 */

/** What a start needs to let debuggers in. */
export interface InspectionSettings {
  /** 0 picks a free port. */
  readonly port: number;
  /** Folder of an integration's sources, for debuggers to show and to open. */
  readonly sourceFolder?: (integration: string) => string | undefined;
}

/** The settings of a service that matter to its inspection. */
export interface Reach {
  readonly controlHost: string;
  readonly publicHost: string;
  readonly workers: number;
}

/** Sentences about settings with which a service does not let debuggers in. */
export function inspectionProblems({ controlHost, publicHost, workers }: Reach): string[] {
  const problems: string[] = [];
  for (const [flag, host] of [
    ['control-host', controlHost],
    ['public-host', publicHost],
  ])
    if (!isLoopback(host ?? ''))
      problems.push(
        `--inspect needs a service that only this machine can reach, and --${flag} is ${host}: make it 127.0.0.1.`,
      );
  if (workers > 1) problems.push(`--inspect needs one node, and --workers is ${workers}.`);
  return problems;
}

const isLoopback = (host: string): boolean =>
  host === '::1' || host === 'localhost' || /^127(\.\d{1,3}){3}$/.test(host);
