/** Part: `fetch` of a `data:` URL (https://fetch.spec.whatwg.org/#data-url-processor). */
export { fetchDataUrl } from '../web/fetch/data-url.ts';
