/**
 * Jobs of the running call: emissions to the cell, and entries with their answers. A job belongs to
 * the call that started it and is forgotten with it; its promise then never settles.
 *
 * A few jobs of a call are with the cell at once. The others wait here, where the isolate's heap
 * limit counts their bytes; the cell has no such limit.
 */
import type { Emit } from '../../../src/protocol/bridge.ts';
import { arrayBufferByteLength, MapIntrinsic, mapDelete, mapGet, mapSet } from '../primordials.ts';
import type { CryptoPort, JobDone } from './crypto-port.ts';

/** Jobs of one call that the cell has at once. */
const IN_FLIGHT_MAX = 16;
/** Bytes of one call that the cell has at once, unless a single job has more. */
const BYTES_IN_FLIGHT_MAX = 16 * 1024 * 1024;

interface Job {
  readonly request: string;
  readonly bytes: ArrayBuffer;
  readonly length: number;
  readonly done: JobDone;
  next: Job | undefined;
}

/** The jobs of one call: those in flight by number, and a linked queue of those that wait. */
export interface CallJobs {
  last: number;
  inFlight: number;
  bytesInFlight: number;
  readonly given: Map<number, Job>;
  first: Job | undefined;
  tail: Job | undefined;
}

export interface JobPort {
  readonly ask: CryptoPort;
  /** Receives the cell's answer to a job. */
  done(call: number, job: number, answer: string, bytes: ArrayBuffer | undefined): void;
}

/** A call, as far as its jobs are concerned. */
interface CallWithJobs {
  readonly id: number;
  jobs: CallJobs | undefined;
}

/** The calls of the isolate. */
interface Calls {
  running(): CallWithJobs | undefined;
  get(id: number): CallWithJobs | undefined;
  /** Counts an emission. @returns false if this entry has used up its emissions */
  operate(): boolean;
}

export function createJobPort(calls: Calls, emit: Emit): JobPort {
  function give(call: number, jobs: CallJobs, job: Job): void {
    jobs.last += 1;
    jobs.inFlight += 1;
    jobs.bytesInFlight += job.length;
    mapSet(jobs.given, jobs.last, job);
    emit('job', call, jobs.last, job.request, job.bytes);
  }

  return {
    ask(request, bytes, done) {
      const call = calls.running();
      // Code that outlives its call: its job is never answered.
      if (call === undefined) return true;
      call.jobs ??= noJobs();
      const { jobs } = call;
      const job = { request, bytes, length: arrayBufferByteLength(bytes), done, next: undefined };
      if (jobs.first === undefined && hasRoom(jobs, job) && calls.operate()) {
        give(call.id, jobs, job);
        return true;
      }
      // A waiting job is sent when an answer comes, so at least one must be in flight.
      if (jobs.inFlight === 0) return false;
      if (jobs.tail === undefined) jobs.first = job;
      else jobs.tail.next = job;
      jobs.tail = job;
      return true;
    },
    done(id, number, answer, bytes) {
      const jobs = calls.get(id)?.jobs;
      const job = jobs && mapGet(jobs.given, number);
      if (jobs === undefined || job === undefined) return;
      mapDelete(jobs.given, number);
      jobs.inFlight -= 1;
      jobs.bytesInFlight -= job.length;
      while (jobs.first !== undefined && hasRoom(jobs, jobs.first)) {
        const { first } = jobs;
        jobs.first = first.next;
        if (first.next === undefined) jobs.tail = undefined;
        give(id, jobs, first);
      }
      job.done(answer, bytes);
    },
  };
}

const noJobs = (): CallJobs => ({
  last: 0,
  inFlight: 0,
  bytesInFlight: 0,
  given: new MapIntrinsic(),
  first: undefined,
  tail: undefined,
});

const hasRoom = (jobs: CallJobs, job: Job): boolean =>
  jobs.inFlight === 0 ||
  (jobs.inFlight < IN_FLIGHT_MAX && jobs.bytesInFlight + job.length <= BYTES_IN_FLIGHT_MAX);
