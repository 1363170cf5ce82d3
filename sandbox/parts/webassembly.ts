/** Part: WebAssembly (https://webassembly.github.io/spec/js-api/), within an isolate's limits. */
export { WebAssembly } from '../web/webassembly/webassembly.ts';
