/**
 * What a command gets to work with: output, variables, folder, the connection to a service, input
 * and the signal that ends it.
 */
import type { Readable } from 'node:stream';
import type { Annex } from '../../packages/client/src/index.ts';
import type { Connection } from './profile/connection.ts';
import type { Failure } from './terminal/failure.ts';
import type { Output } from './terminal/output.ts';

export interface CommandContext {
  readonly output: Output;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The folder that relative paths are resolved against. */
  readonly cwd: string;
  readonly stdin: Readable;
  readonly isTerminal: { readonly stdin: boolean; readonly stdout: boolean; readonly stderr: boolean };
  /** Aborts on SIGINT and SIGTERM, and when the reader of standard output has gone. */
  readonly signal: AbortSignal;
  /** The value of `--profile`. */
  readonly profile: string | undefined;
  /**
   * URL and token of the service: of the variables, the profile, or the service of this folder.
   *
   * @throws Failure where there is none
   */
  connection(): Promise<Connection>;
  /**
   * The API of that service. What it throws is explained where all failures are: let it pass.
   *
   * @throws Failure where there is no token
   */
  client(): Promise<Annex>;
  /** The API of another service, or with another token, which is from `tokenFrom`. */
  readonly clientOf: (url: string, token: string | undefined, tokenFrom: string) => Annex;
  /** What the service's answer means, for commands that report a failure as data. */
  readonly explain: (cause: unknown) => Failure;
  /** Versions of this program and of the service that answered; undefined if it tells none. */
  readonly versions: () => readonly [string, string | undefined];
}
