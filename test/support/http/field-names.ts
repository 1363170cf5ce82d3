/**
 * Names of header fields, as data: for the test that each is decided. To bring the first up to
 * date, take the names in https://www.iana.org/assignments/http-fields/field-names.csv.
 */

/** The registry of HTTP field names of IANA, with obsolete names. */
export const HTTP_FIELDS = `
  A-IM Accept Accept-Additions Accept-CH Accept-Charset Accept-Datetime Accept-Encoding Accept-Features
  Accept-Language Accept-Patch Accept-Post Accept-Query Accept-Ranges Accept-Signature Access-Control
  Access-Control-Allow-Credentials Access-Control-Allow-Headers Access-Control-Allow-Methods
  Access-Control-Allow-Origin Access-Control-Expose-Headers Access-Control-Max-Age
  Access-Control-Request-Headers Access-Control-Request-Method Activate-Storage-Access Age Allow ALPN
  Alt-Svc Alt-Used Alternates AMP-Cache-Transform Apply-To-Redirect-Ref Authentication-Control
  Authentication-Info Authorization Available-Dictionary C-Ext C-Man C-Opt C-PEP C-PEP-Info Cache-Control
  Cache-Group-Invalidation Cache-Groups Cache-Status Cal-Managed-ID CalDAV-Timezones Capsule-Protocol
  CDN-Cache-Control CDN-Loop Cert-Not-After Cert-Not-Before Clear-Site-Data Client-Cert Client-Cert-Chain
  Close CMCD-Object CMCD-Request CMCD-Session CMCD-Status CMSD-Dynamic CMSD-Static Compliance
  Concealed-Auth-Export Configuration-Context Connect-UDP-Bind Connection Content-Base Content-Digest
  Content-Disposition Content-Encoding Content-ID Content-Identifier Content-Language Content-Length
  Content-Location Content-MD5 Content-Range Content-Script-Type Content-Security-Policy
  Content-Security-Policy-Report-Only Content-Style-Type Content-Type Content-Version Cookie Cookie2 Cost
  Cross-Origin-Embedder-Policy Cross-Origin-Embedder-Policy-Report-Only Cross-Origin-Opener-Policy
  Cross-Origin-Opener-Policy-Report-Only Cross-Origin-Resource-Policy CTA-Common-Access-Token DASL Date DAV
  Default-Style Delta-Base Delta-Link Deprecation Depth Derived-From Destination Detached-JWS
  Dictionary-ID Differential-ID Digest DPoP DPoP-Nonce Early-Data EDIINT-Features ETag Expect Expect-CT
  Expires Ext Forwarded From GetProfile Hobareg Host HTTP2-Settings If If-Match If-Modified-Since
  If-None-Match If-Range If-Schedule-Tag-Match If-Unmodified-Since IM Include-Referred-Token-Binding-ID
  Incremental Isolation Keep-Alive Label Last-Event-ID Last-Modified Link Link-Template Location Lock-Token
  Man Max-Forwards Memento-Datetime Meter Method-Check Method-Check-Expires MIME-Version Negotiate NEL
  Non-Compliance OData-EntityId OData-Isolation OData-MaxVersion OData-Version Opt Optional
  Optional-WWW-Authenticate Ordering-Type Origin Origin-Agent-Cluster OSCORE OSLC-Core-Version Overwrite P
  P3P PEP Pep-Info Permissions-Policy PICS-Label Ping-From Ping-To Position Pragma Prefer
  Preference-Applied Priority ProfileObject Protocol Protocol-Info Protocol-Query Protocol-Request
  Proxy-Authenticate Proxy-Authentication-Info Proxy-Authorization Proxy-Features Proxy-Instruction
  Proxy-Status Public Public-Key-Pins Public-Key-Pins-Report-Only Range Redirect-Ref Referer Referer-Root
  Referrer-Policy Refresh Repeatability-Client-ID Repeatability-First-Sent Repeatability-Request-ID
  Repeatability-Result Replay-Nonce Reporting-Endpoints Repr-Digest Resolution-Hint Resolver-Location
  Retry-After Safe Schedule-Reply Schedule-Tag Sec-Fetch-Dest Sec-Fetch-Mode Sec-Fetch-Site
  Sec-Fetch-Storage-Access Sec-Fetch-User Sec-GPC Sec-Purpose Sec-Token-Binding Sec-WebSocket-Accept
  Sec-WebSocket-Extensions Sec-WebSocket-Key Sec-WebSocket-Protocol Sec-WebSocket-Version Security-Scheme
  Server Server-Timing Set-Cookie Set-Cookie2 Set-Txn SetProfile Signature Signature-Input SLUG SoapAction
  Status-URI Strict-Transport-Security Sunset Surrogate-Capability Surrogate-Control TCN TE Timeout
  Timing-Allow-Origin Topic Traceparent Tracestate Trailer Transfer-Encoding TTL UA-Color UA-Media
  UA-Pixels UA-Resolution UA-Windowpixels Unencoded-Digest Upgrade Urgency URI Use-As-Dictionary User-Agent
  Variant-Vary Vary Version Via Want-Content-Digest Want-Digest Want-Repr-Digest Warning WWW-Authenticate
  X-Content-Type-Options X-Device-Accept-Ranges X-Frame-Options X-Pad X-XSS-Protection`;

/** Further names that browsers act on: specifications of WHATWG, W3C and WICG, and their drafts. */
export const OF_BROWSERS = `
  Accept-CH-Lifetime Access-Control-Allow-Private-Network Ad-Auction-Allowed Ad-Auction-Signals
  Allow-CSP-From Attribution-Reporting-Eligible Attribution-Reporting-Register-OS-Source
  Attribution-Reporting-Register-OS-Trigger Attribution-Reporting-Register-Source
  Attribution-Reporting-Register-Trigger Attribution-Reporting-Support Critical-CH Critical-Origin-Trial
  DNT Document-Isolation-Policy Document-Policy Document-Policy-Report-Only Feature-Policy Integrity-Policy
  Integrity-Policy-Report-Only No-Vary-Search Observe-Browsing-Topics Origin-Isolation Origin-Trial
  Permissions-Policy-Report-Only Report-To Require-Document-Policy Save-Data Sec-Ad-Auction-Fetch
  Sec-Browsing-Topics Sec-CH-UA Sec-CH-UA-Arch Sec-CH-UA-Mobile Sec-Private-State-Token
  Sec-Session-Challenge Sec-Session-Registration Sec-Shared-Storage-Writable Sec-Speculation-Tags
  Secure-Session-Challenge Secure-Session-Registration Service-Worker Service-Worker-Allowed
  Service-Worker-Navigation-Preload Set-Login Shared-Storage-Write SourceMap Speculation-Rules
  Supports-Loading-Mode Tk Upgrade-Insecure-Requests X-DNS-Prefetch-Control X-Robots-Tag X-SourceMap`;

/** Names that web servers, proxies and caches in front act on. */
export const OF_PROXIES = `
  Cache-Tag Edge-Control Endpoint-Load-Metrics Endpoint-Load-Metrics-Bin Fly-Replay Fly-Replay-Cache
  Surrogate-Key X-Accel-Buffering X-Accel-Charset X-Accel-Expires X-Accel-Limit-Rate X-Accel-Redirect
  X-AppEngine-BlobKey X-Archive-Charset X-Archive-Files X-Envoy-Degraded
  X-Envoy-Immediate-Health-Check-Fail X-Envoy-Overloaded X-LIGHTTPD-send-file X-LIGHTTPD-send-tempfile
  X-LiteSpeed-Location X-LiteSpeed-Purge X-Reproxy-Expected-Size X-Reproxy-File X-Reproxy-URL X-Sendfile
  X-Sendfile-Temporary X-Sendfile2`;
