/**
 * A command for the driver of an engine, sent where a statement would be: as the only parameter of
 * a raw query. Each engine carries it out in its own way.
 */
export abstract class EngineCommand {}

/** The text that a command is sent with: valid SQL, for drivers that compile it first. */
export const COMMAND_SQL = 'select 1 where 1 = 0';
