/**
 * Verification of webhooks for receivers (docs/contract/webhooks.md#signature), from the same
 * source as that of the SDK.
 */
export { type RecentIds, recentIds } from '../../../sandbox/sdk/recent-ids.js';
export {
  type CheckedSignature,
  checkSignature as checkWebhook,
  type RawBody,
  type SignatureFault,
  type SignatureOptions,
  verifySignature as verifyWebhook,
} from '../../../sandbox/sdk/verify-signature.js';
