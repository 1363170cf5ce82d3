/** What a cell is told of the limits, once and first of all: those that it keeps by itself. */
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
