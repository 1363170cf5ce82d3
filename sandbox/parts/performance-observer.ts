/** Part: PerformanceObserver (https://w3c.github.io/performance-timeline/). */
export { PerformanceObserver, PerformanceObserverEntryList } from '../web/time/performance-observer.ts';
