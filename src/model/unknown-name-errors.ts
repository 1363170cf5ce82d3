/**
 * Errors for names that do not exist. An object that never existed, one that was deleted and one of
 * another tenant get the same sentence, made only here: a different word would reveal which of them
 * it is.
 */
import { AnnexError } from '../errors.ts';
import { type TargetName, wholeInstallation } from './installation.ts';

export const unknownIntegration = (name: string): AnnexError =>
  new AnnexError('INTEGRATION_UNKNOWN', `There is no integration "${name}".`);

/** A version that was removed and one that never existed get the same sentence. */
export const unknownVersion = (integration: string, number: number): AnnexError =>
  new AnnexError(
    'VERSION_UNKNOWN',
    `Integration "${integration}" has no version ${number}, or has it no longer.`,
  );

export function unknownTarget({ installationId, level, place }: TargetName): AnnexError {
  const where = level === 'organization' ? '' : ` in ${level} "${place}"`;
  return new AnnexError('INSTALLATION_UNKNOWN', `There is no installation "${installationId}"${where}.`);
}

export const unknownInstallation = (id: string): AnnexError => unknownTarget(wholeInstallation(id));
