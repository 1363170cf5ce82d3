/**
 * The proxy that variables of the environment name for a URL, as curl and Node read them. It only
 * describes the proxy, for messages: Node uses it, and only where `NODE_USE_ENV_PROXY` is 1.
 */
import type { ProxyInUse } from '../terminal/unreachable.ts';

type Env = Readonly<Record<string, string | undefined>>;

/** @returns undefined where no variable names one, or `NO_PROXY` excludes the host */
export function proxyFor(url: string, env: Env): ProxyInUse | undefined {
  const { protocol, hostname, host } = new URL(url);
  const name = `${protocol.slice(0, -1)}_proxy`;
  const variable = [name, name.toUpperCase()].find((one) => env[one]);
  const proxy = variable === undefined ? null : URL.parse(env[variable] ?? '');
  if (variable === undefined || proxy === null) return undefined;
  if (isExcluded([hostname, host], env['no_proxy'] || env['NO_PROXY'] || '')) return undefined;
  return { variable, address: proxy.host, isUsed: env['NODE_USE_ENV_PROXY'] === '1' };
}

/** @param names of a host, without and with its port */
const isExcluded = (names: readonly string[], list: string): boolean =>
  list.split(/[\s,]+/).some((entry) => {
    const suffix = entry.toLowerCase().replace(/^\*?\.?/, '');
    if (suffix === '') return entry === '*';
    return names.some((name) => name === suffix || name.endsWith(`.${suffix}`));
  });
