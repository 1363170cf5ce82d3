# Annex in a container: the service as `npm start` runs it, without what only development needs.
#
#   docker build -t annex .
#
# The README, "In a container", says how to run it.

# Both stages are the same Debian, so that what npm picked for this C library runs on it.
FROM node:26-bookworm-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# Of the Node that npm brings, the program alone: not its headers and manuals.
RUN npm ci --omit=dev && rm -rf node_modules/node-linux-*/include node_modules/node-linux-*/share

# A bare Debian, and not an image of Node: the Node that runs is the one that package-lock.json names, which is the one
# the tests ran on, whatever this image's tag means next month. Debian brings what is expected of a system:
#   libatomic1   Node 26 links to it, and slim images lack it
#   tini         process 1: collects the processes that a finished bundler leaves behind, which Node does not, and
#                hands on signals
#   /bin/sh      (always there) puts the bundler under a memory limit
#   setpriv, prlimit  (always there) take rights and resources from the cells
#   bubblewrap   gives each cell namespaces of its own, in a container that is allowed to make them
FROM debian:bookworm-slim
RUN apt-get update \
 && apt-get install --yes --no-install-recommends bubblewrap libatomic1 tini \
 && rm -rf /var/lib/apt/lists/*

# A user without rights. The code belongs to root: whoever breaks into the service cannot change it.
RUN useradd --uid 10001 --user-group --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin annex \
 && install --directory --owner=annex --group=annex --mode=0700 /data
WORKDIR /app
COPY --from=dependencies /app/node_modules ./node_modules
COPY LICENSE package.json tsconfig.json ./
# `sandbox` too: the prelude of the isolates and the SDK are built from it.
COPY sandbox ./sandbox
COPY src ./src
# Integrations that come with Annex: published when it starts.
COPY fixtures/webhook ./fixtures/webhook

# 127.0.0.1 inside a container is out of reach of `docker run --publish`. So the control listener answers on every
# address *of the container*, and who reaches it is decided by who publishes it, and by the container's network:
# its API asks for a token, /metrics and /healthz do not. Publish it to 127.0.0.1, or not at all.
ENV ANNEX_DATA=/data \
    ANNEX_CONTROL_HOST=0.0.0.0 \
    ANNEX_PUBLIC_HOST=0.0.0.0
EXPOSE 7700 7701
VOLUME /data

# By number, so that an orchestrator can see that it is not root.
USER 10001:10001
HEALTHCHECK --interval=15s --timeout=5s --start-period=20s CMD ["/app/node_modules/.bin/node", "--eval", "fetch('http://127.0.0.1:' + (process.env.ANNEX_CONTROL_PORT ?? 7700) + '/healthz').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["/usr/bin/tini", "--", "/app/node_modules/.bin/node", "/app/src/main.ts"]
