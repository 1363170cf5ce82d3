/**
 * How a page reaches one target: the requests below the path of the target in the API
 * (docs/contract/configuration.md#form) and those of its deliveries, and their answers. It is sent
 * with a UI token, which the product's backend makes for the person; no other token reaches a page.
 */

/** A property of the form, as the API describes it. */
export interface FormField {
  readonly name: string;
  readonly type: 'string' | 'number' | 'boolean' | 'button';
  readonly title?: string;
  readonly description?: string;
  readonly required: boolean;
  readonly default?: unknown;
  readonly enum?: readonly string[];
  readonly titles?: Readonly<Record<string, string>>;
  readonly multiple?: boolean;
  readonly completion?: boolean;
  readonly button_text?: string;
  readonly callback_url?: string;
  readonly value?: unknown;
  readonly sealed?: boolean;
  readonly isSet?: boolean;
  readonly isLost?: boolean;
  readonly account?: string;
}

export interface FormProblem {
  readonly property: string;
  readonly message: string;
}

export interface ConfigurationForm {
  readonly status: 'active' | 'pending' | 'paused';
  readonly componentId?: string;
  readonly properties?: readonly FormField[];
  readonly problems?: readonly FormProblem[];
}

export interface FormRequest {
  readonly method: 'GET' | 'PATCH' | 'POST';
  /** Below the path of the target; `/deliveries` and what is below it are of the API itself. */
  readonly path: `/${string}`;
  readonly body?: unknown;
  /** The `ETag` that the target must have. */
  readonly ifMatch?: string;
}

export interface FormAnswer {
  readonly status: number;
  /** The parsed JSON. */
  readonly body: unknown;
  readonly etag?: string | null;
}

/** Sends one request. It rejects if there is no answer. */
export type FormTransport = (request: FormRequest, signal: AbortSignal) => Promise<FormAnswer>;

/**
 * A transport with UI tokens.
 *
 * @param target URL of the target: `…/v1/integrations/{name}/installations/{id}`, or of its space or
 *   site below that
 * @param newToken asks the product's backend for a token; called at first, and when one has expired
 */
export function tokenTransport(target: string, newToken: () => Promise<string>): FormTransport {
  let token: Promise<string> | undefined;
  const below = target.replace(/\/$/, '');
  const api = below.replace(/\/integrations\/[^/]+\/installations\/.*$/, '');
  return async ({ method, path, body, ifMatch }, signal) => {
    const send = async () => {
      token ??= newToken();
      const asked = token;
      asked.catch(() => {
        if (token === asked) token = undefined;
      });
      return fetch(`${path.startsWith('/deliveries') ? api : below}${path}`, {
        method,
        headers: {
          authorization: `Bearer ${await asked}`,
          ...(body !== undefined && { 'content-type': 'application/json' }),
          ...(ifMatch !== undefined && { 'if-match': ifMatch }),
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
        credentials: 'omit',
        signal,
      });
    };
    let response = await send();
    if (response.status === 401) {
      token = undefined;
      response = await send();
    }
    return {
      status: response.status,
      body: await response.json().catch(() => undefined),
      etag: response.headers.get('etag'),
    };
  };
}
