/**
 * Peers are installed in `bench/` only, so their own types are absent when the project is checked.
 */
declare module 'bullmq';
declare module 'pg-boss';
declare module 'graphile-worker';
