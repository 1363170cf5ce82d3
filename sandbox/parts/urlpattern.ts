/** Part: URLPattern (https://urlpattern.spec.whatwg.org/), as urlpattern-polyfill implements it. */
export { URLPattern } from 'urlpattern-polyfill/urlpattern';
