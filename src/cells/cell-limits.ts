/** The limits that a cell keeps by itself: part of the first message that it receives. */
import type { Limits } from '../limits.ts';
import type { CellLimits } from '../protocol/wire.ts';

export function cellLimits(limits: Limits): CellLimits {
  return {
    responseBodyBytes: limits.responseBodyBytes,
    fetchesPerCall: limits.fetchesPerCall,
    fetchesInFlightPerCall: limits.fetchesInFlightPerCall,
    fetchRequestBodyBytes: limits.fetchRequestBodyBytes,
    isolateHeapMib: limits.isolateHeapMib,
    timersPerCall: limits.timersPerCall,
    logLinesPerCall: limits.logLinesPerCall,
    logBytesPerCall: limits.logBytesPerCall,
    isolatesPerCell: limits.isolatesPerCell,
    cellHeapMib: limits.cellHeapMib,
    cellRssMib: limits.cellRssMib,
    warmIsolatesPerCell: limits.warmIsolatesPerCell,
  };
}
