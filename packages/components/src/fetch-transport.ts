/**
 * A transport for a backend that passes the render API on as it is: the page posts the request to a
 * URL of the product and gets status, body and `Cache-Control` back.
 */
import { isObject, member } from './drawing/json.ts';
import type { ChoiceReader, Transport } from './transport.ts';

/**
 * @param url of the product's backend, on the origin of the page
 * @param headers of each request, such as a token against forged requests
 */
export function fetchTransport(url: string, headers: Readonly<Record<string, string>> = {}): Transport {
  return async (request, signal) => {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(request),
      signal,
    });
    return {
      status: response.status,
      body: await response.json().catch(() => undefined),
      cacheControl: response.headers.get('cache-control'),
    };
  };
}

/**
 * Reads choices through the service, which fetches them for the installation: the page does not
 * reach where their URL leads.
 */
export const transportChoices =
  (transport: Transport, componentId: string): ChoiceReader =>
  async (url, signal) => {
    const { status, body } = await transport({ componentId, props: {}, choices: { url } }, signal);
    if (status !== 200) throw new Error(`The choices were answered with status ${status}.`);
    return isObject(body) ? member(body, 'choices') : undefined;
  };

/**
 * Reads choices from where their URL leads, by the browser, for products that want that.
 *
 * Attack: a URL of an integration, to have the browser send the cookies or the address of the page.
 * Neither is sent.
 */
export const fetchChoices: ChoiceReader = async (url, signal) => {
  const response = await fetch(url, { credentials: 'omit', referrerPolicy: 'no-referrer', signal });
  if (!response.ok) throw new Error(`The choices were answered with status ${response.status}.`);
  return response.json();
};
