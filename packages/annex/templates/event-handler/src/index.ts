import { createIntegration } from '@annex/sdk';

/**
 * An event may arrive twice: work that must happen once is deduplicated by `eventId`. A handler
 * that throws fails its delivery.
 */
export default createIntegration({
  events: {
    space_content_updated({ spaceId, revisionId }) {
      console.log(`${spaceId} is at revision ${revisionId}`);
    },
    page_feedback({ siteId, feedback }) {
      console.log(`a page of ${siteId} is ${feedback.rating}`);
    },
  },
});
