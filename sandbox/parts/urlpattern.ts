/** Part: URLPattern (https://urlpattern.spec.whatwg.org/). */
export { URLPattern } from '../web/url/pattern/url-pattern.ts';
