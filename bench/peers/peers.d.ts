/**
 * The parts of its peers that the benchmark uses. They are installed by `npm ci` in `bench/` only,
 * so their own types are absent when the project is checked.
 */
declare module 'bullmq' {
  interface Settings {
    readonly connection: { readonly path: string; readonly maxRetriesPerRequest?: null };
  }
  export interface Job<Data> {
    readonly id: string;
    readonly data: Data;
  }
  export class Queue<Data> {
    constructor(name: string, settings: Settings & { readonly defaultJobOptions: object });
    addBulk(jobs: readonly { readonly name: string; readonly data: Data }[]): Promise<unknown>;
    getJobCounts(...states: string[]): Promise<Record<string, number>>;
    close(): Promise<void>;
  }
  export class Worker<Data> {
    constructor(
      name: string,
      process: (job: Job<Data>) => Promise<unknown>,
      settings: Settings & { readonly concurrency: number },
    );
    waitUntilReady(): Promise<unknown>;
    on(event: 'error', listener: (error: Error) => void): this;
    close(): Promise<void>;
  }
}

declare module 'pg-boss' {
  export interface Job<Data> {
    readonly id: string;
    readonly data: Data;
  }
  export class PgBoss {
    constructor(settings: {
      readonly host: string;
      readonly user: string;
      readonly database: string;
      readonly max: number;
      readonly supervise: boolean;
      readonly schedule: boolean;
      readonly migrate?: boolean;
    });
    on(event: 'error', listener: (error: Error) => void): this;
    start(): Promise<unknown>;
    stop(options?: object): Promise<void>;
    createQueue(name: string, options: object): Promise<void>;
    insert<Data>(name: string, jobs: readonly { readonly data: Data }[]): Promise<unknown>;
    fetch<Data>(name: string, options: { readonly batchSize: number }): Promise<Job<Data>[]>;
    complete(name: string, ids: readonly string[], output: object): Promise<unknown>;
    fail(name: string, ids: readonly string[], output: object): Promise<unknown>;
  }
}
