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
      /** Where it can be installed: all, organization, space or site. */
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
      /** The hosts that its fetch may reach, where the manifest lists them. */
      readonly egress?: readonly string[];
      /** Where it posts webhooks: the settings that hold the URL and the types of events. */
      readonly webhook?: {
        readonly url: string;
        readonly eventTypes: string;
      };
      /** Whether it has an install link. Only its owner is told. */
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
      /** Only where its `ETag` is none of these; 304 where it is one. */
      readonly 'if-none-match'?: string;
    };
    readonly answer: ApiInstallation;
  };
  /** Edit an installation. */
  'PATCH /integrations/{name}/installations/{id}': {
    readonly headers: {
      /** Only where its `ETag` is one of these; 412 where it is not. */
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
      /** Only where its `ETag` is none of these; 304 where it is one. */
      readonly 'if-none-match'?: string;
    };
    readonly answer: ApiSpaceInstallation;
  };
  /** Edit an installation in a space. */
  'PATCH /integrations/{name}/installations/{id}/spaces/{space}': {
    readonly headers: {
      /** Only where its `ETag` is one of these; 412 where it is not. */
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
      /** Only where its `ETag` is none of these; 304 where it is one. */
      readonly 'if-none-match'?: string;
    };
    readonly answer: ApiSiteInstallation;
  };
  /** Edit an installation in a site. */
  'PATCH /integrations/{name}/installations/{id}/sites/{site}': {
    readonly headers: {
      /** Only where its `ETag` is one of these; 412 where it is not. */
      readonly 'if-match'?: string;
    };
    readonly body: {
      /** Properties to set; null unsets one. Others stay. */
      readonly configuration?: Readonly<Record<string, unknown>>;
      readonly externalIds?: readonly string[];
    };
    readonly answer: ApiSiteInstallation;
  };
  /** List the spaces that it is installed in, by id. */
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
  /** List the sites that it is installed in, by id. */
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
  /** Show what webhooks of an installation in a space are signed with. */
  'GET /integrations/{name}/installations/{id}/spaces/{space}/webhook-secret': {
    readonly answer: ApiWebhookSecret;
  };
  /** Replace what webhooks of an installation in a space are signed with. */
  'POST /integrations/{name}/installations/{id}/spaces/{space}/webhook-secret/rotate': {
    readonly body: {
      /** One of your own: printable ASCII characters without spaces. One is made unless given. */
      readonly secret?: string;
      /** How long the secret before it goes on signing, too. It stops at once unless given. */
      readonly overlapSeconds?: number;
    };
    readonly answer: ApiWebhookSecret;
  };
  /** Show what webhooks of an installation in a site are signed with. */
  'GET /integrations/{name}/installations/{id}/sites/{site}/webhook-secret': {
    readonly answer: ApiWebhookSecret;
  };
  /** Replace what webhooks of an installation in a site are signed with. */
  'POST /integrations/{name}/installations/{id}/sites/{site}/webhook-secret/rotate': {
    readonly body: {
      /** One of your own: printable ASCII characters without spaces. One is made unless given. */
      readonly secret?: string;
      /** How long the secret before it goes on signing, too. It stops at once unless given. */
      readonly overlapSeconds?: number;
    };
    readonly answer: ApiWebhookSecret;
  };
  /** Try the webhook of an installation in a space out. */
  'POST /integrations/{name}/installations/{id}/spaces/{space}/webhook-test': {
    readonly body?: {
      /** One that is selected there; unless given, the first of those. */
      readonly type?: 'space_content_updated';
    };
    readonly answer: ApiWebhookTest;
  };
  /** Try the webhook of an installation in a site out. */
  'POST /integrations/{name}/installations/{id}/sites/{site}/webhook-test': {
    readonly body?: {
      /** One that is selected there; unless given, the first of those. */
      readonly type?: 'site_view' | 'page_feedback';
    };
    readonly answer: ApiWebhookTest;
  };
  /** Read the settings of an installation as a form. */
  'GET /integrations/{name}/installations/{id}/configuration': {
    readonly answer: ApiConfigurationForm;
  };
  /** Read the settings of an installation in a space as a form. */
  'GET /integrations/{name}/installations/{id}/spaces/{space}/configuration': {
    readonly answer: ApiConfigurationForm;
  };
  /** Read the settings of an installation in a site as a form. */
  'GET /integrations/{name}/installations/{id}/sites/{site}/configuration': {
    readonly answer: ApiConfigurationForm;
  };
  /** Be the one to renew the credentials of an installation. */
  'POST /integrations/{name}/installations/{id}/credentials/lease': {
    readonly body: {
      /** One that is held already: more time for it. */
      readonly lease?: string;
    };
    readonly answer: ApiCredentialsLease;
  };
  /** Let others renew the credentials of an installation. */
  'DELETE /integrations/{name}/installations/{id}/credentials/lease/{lease}': {
    readonly answer: undefined;
  };
  /** Be the one to renew the credentials of an installation in a space. */
  'POST /integrations/{name}/installations/{id}/spaces/{space}/credentials/lease': {
    readonly body: {
      /** One that is held already: more time for it. */
      readonly lease?: string;
    };
    readonly answer: ApiCredentialsLease;
  };
  /** Let others renew the credentials of an installation in a space. */
  'DELETE /integrations/{name}/installations/{id}/spaces/{space}/credentials/lease/{lease}': {
    readonly answer: undefined;
  };
  /** Be the one to renew the credentials of an installation in a site. */
  'POST /integrations/{name}/installations/{id}/sites/{site}/credentials/lease': {
    readonly body: {
      /** One that is held already: more time for it. */
      readonly lease?: string;
    };
    readonly answer: ApiCredentialsLease;
  };
  /** Let others renew the credentials of an installation in a site. */
  'DELETE /integrations/{name}/installations/{id}/sites/{site}/credentials/lease/{lease}': {
    readonly answer: undefined;
  };
  /** Spend the state of an OAuth flow of an installation. */
  'POST /integrations/{name}/installations/{id}/credentials/states': {
    readonly body: {
      /** Its SHA-256 in base64url. */
      readonly digest: string;
    };
    readonly answer: ApiSpentState;
  };
  /** Spend the state of an OAuth flow of an installation in a space. */
  'POST /integrations/{name}/installations/{id}/spaces/{space}/credentials/states': {
    readonly body: {
      /** Its SHA-256 in base64url. */
      readonly digest: string;
    };
    readonly answer: ApiSpentState;
  };
  /** Spend the state of an OAuth flow of an installation in a site. */
  'POST /integrations/{name}/installations/{id}/sites/{site}/credentials/states': {
    readonly body: {
      /** Its SHA-256 in base64url. */
      readonly digest: string;
    };
    readonly answer: ApiSpentState;
  };
}
