/**
 * Decides whether an emitted answer can be sent: its headers are valid in HTTP, and its body is
 * within the limit.
 */
import type { Emission } from '../../protocol/bridge.ts';
import type { Outcome } from '../../protocol/wire.ts';
import { type Answer, answerTooLarge, type EndReason } from './cell-call.ts';
import { readAnswer } from './emission-check.ts';

type Responded = Extract<Emission, [kind: 'respond', ...rest: unknown[]]>;

/** An answer, or how the call ends instead. */
export type Judged =
  | { readonly answer: Answer; readonly outcome?: undefined; readonly reason?: undefined }
  | { readonly answer?: undefined; readonly outcome: Outcome; readonly reason: EndReason };

/** Checks an answer. @param bytesMax limit on the bytes that came with it */
export function judgeAnswer(emission: Responded, bytesMax: number): Judged {
  const answer = readAnswer(emission);
  if (answer === undefined) {
    const detail = 'The response has headers that are too many or too long, or that HTTP cannot carry.';
    return { outcome: 'exception', reason: { detail } };
  }
  const { byteLength } = answer.body;
  if (byteLength > bytesMax) return { outcome: 'responseTooLarge', reason: answerTooLarge(byteLength) };
  return { answer };
}
