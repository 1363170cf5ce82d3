/**
 * `env` of a worker that gets requests (docs/contract/plain-workers.md#env): variables, secrets,
 * stores, and what Annex adds.
 *
 * Secrets and configuration are read out of the environment of the call when code reads them, since
 * parsing it costs more than the rest of a small call.
 */
import type { Context } from '../sdk/context.ts';
import type { Environment } from '../sdk/environment.ts';
import type { Storage } from '../sdk/storage.ts';
import { KvNamespace } from './kv.ts';

/** What the manifest says of the worker; the bundler writes it into the script. */
export interface WorkerSettings {
  readonly vars: Readonly<Record<string, unknown>>;
  readonly secrets: readonly string[];
  readonly kv: readonly string[];
  readonly assets?: string;
  /** Id of a schedule → its cron. */
  readonly crons: Readonly<Record<string, string>>;
}

/** One call, as `env` and `ctx` are made of it. */
export interface WorkerCall {
  readonly context: Context;
  readonly storage: Storage;
  /** Absolute URL of its endpoint, without a slash at the end. */
  readonly endpoint: string;
}

export type Env = Readonly<Record<string, unknown>>;

/** Call with its `env`, for code that asks for it without a parameter. */
export interface Scope {
  readonly env: Env;
  readonly waitUntil: (promise: Promise<unknown>) => void;
}

/** Says to the platform that files alone may answer (`http/public/static-files.ts`). */
const FILES_ONLY = 'annex-files-only';

let settings: WorkerSettings = { vars: {}, secrets: [], kv: [], crons: {} };
let runInScope = <Result>(_scope: Scope, run: () => Result): Result => run();

export const setSettings = (given: WorkerSettings): void => {
  settings = given;
};
export const cronOf = (schedule: string): string => settings.crons[schedule] ?? '';

/** Has each call run with its scope. */
export const followScopes = (run: typeof runInScope): void => {
  runInScope = run;
};
export const within = <Result>(scope: Scope, run: () => Result): Result => runInScope(scope, run);

/** @param call undefined for code outside of calls, which gets variables and stores alone */
export function envOf(call: WorkerCall | undefined): Env {
  const { vars, secrets, kv, assets } = settings;
  const env: Record<string, unknown> = { ...vars };
  const running = (name: string) => {
    if (call !== undefined) return call;
    throw new Error(`env.${name} is known only during a call: read it in a handler.`);
  };
  const lazy = (name: string, read: (call: WorkerCall) => unknown) =>
    Object.defineProperty(env, name, {
      get: () => read(running(name)),
      // Code that wraps or replaces a member gets what it has set.
      set: (value) => Object.defineProperty(env, name, { value, writable: true }),
      enumerable: true,
      configurable: true,
    });
  for (const name of secrets) lazy(name, ({ context }) => secretsIn(context.environment)[name]);
  for (const name of kv) env[name] = new KvNamespace(() => running(name).storage, name);
  if (assets !== undefined)
    env[assets] = {
      fetch: (input: Request | string | URL, init?: RequestInit) =>
        fetchFile(running(assets).endpoint, new Request(input, init)),
    };
  lazy('CONFIGURATION', ({ context }) => configurationOf(context.environment));
  lazy('ANNEX', ({ context }) => context);
  return env;
}

const secretsIn = ({ secrets }: Environment): Readonly<Record<string, unknown>> => secrets ?? {};

/** The configuration of the most specific target. */
const configurationOf = ({ installation, spaceInstallation, siteInstallation }: Environment): unknown =>
  (siteInstallation ?? spaceInstallation ?? installation)?.configuration ?? {};

async function fetchFile(endpoint: string, request: Request): Promise<unknown> {
  const { method, url } = request;
  if (method !== 'GET' && method !== 'HEAD')
    return new Response('Method Not Allowed', { status: 405, headers: { allow: 'GET, HEAD' } });
  const { pathname, search } = new URL(url);
  const headers = new Headers(request.headers);
  headers.set(FILES_ONLY, '1');
  return fetch(`${endpoint}${pathname}${search}`, { method, headers, redirect: 'manual' });
}
