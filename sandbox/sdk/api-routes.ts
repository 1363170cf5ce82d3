/**
 * The routes of the API that code of an integration may use
 * (docs/contract/environment.md#runtime-tokens),
 * from the service's description at `/v1/openapi.json`. Types only.
 *
 * Generated: `npx vitest run test/service/sdk/api-routes.test.ts -u`.
 */

import type {
  ApiConfigurationForm,
  ApiCredentialsLease,
  ApiInstallation,
  ApiSiteInstallation,
  ApiSpaceInstallation,
  ApiSpentState,
  ApiWebhookSecret,
  ApiWebhookTest,
} from './api-shapes.ts';

export type * from './api-shapes.ts';

/** Method and path → the parts of a request that the route takes, and its answer. */
export interface ApiRoutes {
  /** Read an integration. */
  'GET /integrations/{name}': {
    readonly answer: {
      readonly name: string;
      readonly title: string;
      readonly description: string;
      /** The owner. */
      readonly organization: string;
      readonly visibility: 'private' | 'unlisted' | 'public';
      /** The active version. */
      readonly version: number;
      readonly createdAt: string;
      readonly updatedAt: string;
      /** Markdown. */
      readonly summary?: string;
      /** Level at which it can be installed: all, organization, space or site. */
      readonly target: string;
      readonly scopes: readonly string[];
      readonly categories: readonly string[];
      readonly blocks: readonly {
        readonly id: string;
        readonly title: string;
        readonly description?: string;
        readonly icon?: string;
        readonly urlUnfurl?: readonly string[];
        readonly markdown?: {
          readonly codeblock: string;
          readonly body: string;
        };
      }[];
      readonly icon?: string;
      readonly previewImages: readonly string[];
      readonly externalLinks: readonly {
        readonly label: string;
        readonly url: string;
      }[];
      /** Hosts that its fetch may reach, if the manifest lists them. */
      readonly egress?: readonly string[];
      /** Names of the properties with the URL of webhooks and the types of events. */
      readonly webhook?: {
        readonly url: string;
        readonly eventTypes: string;
      };
      readonly urls: {
        /** Its record in the API. */
        readonly location: string;
        /** Its page in the host product. */
        readonly app?: string;
        readonly icon?: string;
        /** The folder of its images. */
        readonly assets: string;
        /** Its own endpoint, one for all installations. */
        readonly publicEndpoint: string;
        /** The same on the origin without cookies. */
        readonly publicContentEndpoint: string;
      };
      /** Whether it has an install link. Shown to the owner only. */
      readonly installLink?: boolean;
    };
  };
  /** List installations. */
  'GET /integrations/{name}/installations': {
    readonly query: {
      /** `next` of the page before. */
      readonly cursor?: string;
      readonly limit?: number;
      readonly externalId?: string;
    };
    readonly answer: {
      readonly items: readonly ApiInstallation[];
      /** Cursor of the next page; absent on the last. */
      readonly next?: string;
    };
  };
  /** Read an installation. */
  'GET /integrations/{name}/installations/{id}': {
    readonly headers: {
      /** Send it only if its `ETag` is none of these; otherwise 304. */
      readonly 'if-none-match'?: string;
    };
    readonly answer: ApiInstallation;
  };
  /** Edit an installation. */
  'PATCH /integrations/{name}/installations/{id}': {
    readonly headers: {
      /** Change it only if its `ETag` is one of these; otherwise 412. */
      readonly 'if-match'?: string;
    };
    readonly body: {
      /** Properties to set; null unsets one. Others stay. */
      readonly configuration?: Readonly<Record<string, unknown>>;
      readonly externalIds?: readonly string[];
      readonly space_selection?: 'all' | 'selected';
      readonly site_selection?: 'all' | 'selected';
    };
    readonly answer: ApiInstallation;
  };
  /** Read an installation in a space. */
  'GET /integrations/{name}/installations/{id}/spaces/{space}': {
    readonly headers: {
      /** Send it only if its `ETag` is none of these; otherwise 304. */
      readonly 'if-none-match'?: string;
    };
    readonly answer: ApiSpaceInstallation;
  };
  /** Edit an installation in a space. */
  'PATCH /integrations/{name}/installations/{id}/spaces/{space}': {
    readonly headers: {
      /** Change it only if its `ETag` is one of these; otherwise 412. */
      readonly 'if-match'?: string;
    };
    readonly body: {
      /** Properties to set; null unsets one. Others stay. */
      readonly configuration?: Readonly<Record<string, unknown>>;
      readonly externalIds?: readonly string[];
    };
    readonly answer: ApiSpaceInstallation;
  };
  /** Read an installation in a site. */
  'GET /integrations/{name}/installations/{id}/sites/{site}': {
    readonly headers: {
      /** Send it only if its `ETag` is none of these; otherwise 304. */
      readonly 'if-none-match'?: string;
    };
    readonly answer: ApiSiteInstallation;
  };
  /** Edit an installation in a site. */
  'PATCH /integrations/{name}/installations/{id}/sites/{site}': {
    readonly headers: {
      /** Change it only if its `ETag` is one of these; otherwise 412. */
      readonly 'if-match'?: string;
    };
    readonly body: {
      /** Properties to set; null unsets one. Others stay. */
      readonly configuration?: Readonly<Record<string, unknown>>;
      readonly externalIds?: readonly string[];
    };
    readonly answer: ApiSiteInstallation;
  };
  /** List the spaces of an installation, by id. */
  'GET /integrations/{name}/installations/{id}/spaces': {
    readonly query: {
      /** `next` of the page before. */
      readonly cursor?: string;
      readonly limit?: number;
      readonly externalId?: string;
    };
    readonly answer: {
      readonly items: readonly ApiSpaceInstallation[];
      /** Cursor of the next page; absent on the last. */
      readonly next?: string;
    };
  };
  /** List the sites of an installation, by id. */
  'GET /integrations/{name}/installations/{id}/sites': {
    readonly query: {
      /** `next` of the page before. */
      readonly cursor?: string;
      readonly limit?: number;
      readonly externalId?: string;
    };
    readonly answer: {
      readonly items: readonly ApiSiteInstallation[];
      /** Cursor of the next page; absent on the last. */
      readonly next?: string;
    };
  };
  /** Read the webhook secret of an installation in a space. */
  'GET /integrations/{name}/installations/{id}/spaces/{space}/webhook-secret': {
    readonly answer: ApiWebhookSecret;
  };
  /** Rotate the webhook secret of an installation in a space. */
  'POST /integrations/{name}/installations/{id}/spaces/{space}/webhook-secret/rotate': {
    readonly body: {
      /** Printable ASCII characters without spaces. If absent, a secret is generated. */
      readonly secret?: string;
      /** Time in which the previous secret signs too. If absent, it stops at once. */
      readonly overlapSeconds?: number;
    };
    readonly answer: ApiWebhookSecret;
  };
  /** Read the webhook secret of an installation in a site. */
  'GET /integrations/{name}/installations/{id}/sites/{site}/webhook-secret': {
    readonly answer: ApiWebhookSecret;
  };
  /** Rotate the webhook secret of an installation in a site. */
  'POST /integrations/{name}/installations/{id}/sites/{site}/webhook-secret/rotate': {
    readonly body: {
      /** Printable ASCII characters without spaces. If absent, a secret is generated. */
      readonly secret?: string;
      /** Time in which the previous secret signs too. If absent, it stops at once. */
      readonly overlapSeconds?: number;
    };
    readonly answer: ApiWebhookSecret;
  };
  /** Test the webhook of an installation in a space. */
  'POST /integrations/{name}/installations/{id}/spaces/{space}/webhook-test': {
    readonly body?: {
      /** A type that the configuration selects; if absent, the first of them. */
      readonly type?: 'space_content_updated';
    };
    readonly answer: ApiWebhookTest;
  };
  /** Test the webhook of an installation in a site. */
  'POST /integrations/{name}/installations/{id}/sites/{site}/webhook-test': {
    readonly body?: {
      /** A type that the configuration selects; if absent, the first of them. */
      readonly type?: 'site_view' | 'page_feedback';
    };
    readonly answer: ApiWebhookTest;
  };
  /** Read the configuration of an installation as a form. */
  'GET /integrations/{name}/installations/{id}/configuration': {
    readonly answer: ApiConfigurationForm;
  };
  /** Read the configuration of an installation in a space as a form. */
  'GET /integrations/{name}/installations/{id}/spaces/{space}/configuration': {
    readonly answer: ApiConfigurationForm;
  };
  /** Read the configuration of an installation in a site as a form. */
  'GET /integrations/{name}/installations/{id}/sites/{site}/configuration': {
    readonly answer: ApiConfigurationForm;
  };
  /** Lease the credentials of an installation to renew them. */
  'POST /integrations/{name}/installations/{id}/credentials/lease': {
    readonly body: {
      /** A lease that the call holds, to extend it. */
      readonly lease?: string;
    };
    readonly answer: ApiCredentialsLease;
  };
  /** Release the lease of the credentials of an installation. */
  'DELETE /integrations/{name}/installations/{id}/credentials/lease/{lease}': {
    readonly answer: undefined;
  };
  /** Lease the credentials of an installation in a space to renew them. */
  'POST /integrations/{name}/installations/{id}/spaces/{space}/credentials/lease': {
    readonly body: {
      /** A lease that the call holds, to extend it. */
      readonly lease?: string;
    };
    readonly answer: ApiCredentialsLease;
  };
  /** Release the lease of the credentials of an installation in a space. */
  'DELETE /integrations/{name}/installations/{id}/spaces/{space}/credentials/lease/{lease}': {
    readonly answer: undefined;
  };
  /** Lease the credentials of an installation in a site to renew them. */
  'POST /integrations/{name}/installations/{id}/sites/{site}/credentials/lease': {
    readonly body: {
      /** A lease that the call holds, to extend it. */
      readonly lease?: string;
    };
    readonly answer: ApiCredentialsLease;
  };
  /** Release the lease of the credentials of an installation in a site. */
  'DELETE /integrations/{name}/installations/{id}/sites/{site}/credentials/lease/{lease}': {
    readonly answer: undefined;
  };
  /** Spend the state of an OAuth flow of an installation. */
  'POST /integrations/{name}/installations/{id}/credentials/states': {
    readonly body: {
      /** SHA-256 of the state, in base64url. */
      readonly digest: string;
    };
    readonly answer: ApiSpentState;
  };
  /** Spend the state of an OAuth flow of an installation in a space. */
  'POST /integrations/{name}/installations/{id}/spaces/{space}/credentials/states': {
    readonly body: {
      /** SHA-256 of the state, in base64url. */
      readonly digest: string;
    };
    readonly answer: ApiSpentState;
  };
  /** Spend the state of an OAuth flow of an installation in a site. */
  'POST /integrations/{name}/installations/{id}/sites/{site}/credentials/states': {
    readonly body: {
      /** SHA-256 of the state, in base64url. */
      readonly digest: string;
    };
    readonly answer: ApiSpentState;
  };
  /** Queue a task. */
  'POST /integrations/{name}/tasks': {
    readonly body: {
      /** Any JSON value. The event `task` has it as it is here. */
      readonly task: unknown;
      /** Seconds until the task is delivered. */
      readonly schedule?: number;
    };
    readonly answer: undefined;
  };
}
