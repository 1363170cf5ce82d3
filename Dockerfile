# Annex in a container: the service as `npm start` runs it, without development dependencies.
#
#   docker build -t annex .
#
# docs/operating/install.md, "In a container", says how to run it.

# All stages use the same Debian release, so binaries that npm picked for its C library run in the
# last.
FROM node:26-bookworm-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# Keep only the program of the Node that npm installs, without headers and manuals.
RUN npm ci --omit=dev && rm -rf node_modules/node-linux-*/include node_modules/node-linux-*/share

# The archives of the npm packages, which the service hands to authors (`GET /v1/packages`).
FROM node:26-bookworm-slim AS packages
RUN apt-get update && apt-get install --yes --no-install-recommends libatomic1
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci
COPY LICENSE tsconfig.json ./
COPY sandbox ./sandbox
COPY src ./src
COPY packages ./packages
COPY fixtures ./fixtures
RUN npm run packages

# A bare Debian and not an image of Node: the service runs on the Node that package-lock.json pins,
# which is the one the tests ran on, whatever version the tag of a Node image points to. System
# packages:
#   libatomic1   Node 26 links to it, and slim images lack it
#   tini         process 1: reaps the processes that a bundler leaves behind, which Node does not,
#                and forwards signals
#   /bin/sh      (part of Debian) sets the memory limit of the bundler
#   setpriv, prlimit  (part of Debian) drop privileges of the cells and limit their resources
#   bubblewrap   gives each cell its own namespaces, if the container may create them
FROM debian:bookworm-slim
RUN apt-get update \
 && apt-get install --yes --no-install-recommends bubblewrap libatomic1 tini \
 && rm -rf /var/lib/apt/lists/*

# An unprivileged user. The code belongs to root. Attack: code execution in the service, to change
# its program.
RUN useradd --uid 10001 --user-group --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin annex \
 && install --directory --owner=annex --group=annex --mode=0700 /data
WORKDIR /app
COPY --from=dependencies /app/node_modules ./node_modules
COPY LICENSE package.json package-lock.json tsconfig.json ./
# `sandbox`: the service builds the prelude of the isolates and the SDK from it.
COPY sandbox ./sandbox
COPY src ./src
# The command line, for `docker exec`, with what it uses of the packages, and the Node that runs both.
COPY packages ./packages
COPY --from=packages /app/dist/*.tgz ./dist/
RUN ln -s /app/packages/annex/bin/annex.js /usr/local/bin/annex \
 && ln -s /app/node_modules/.bin/node /usr/local/bin/node
# The built-in integration, which is published at the start.
COPY fixtures/webhook ./fixtures/webhook
# What a start builds and compiles, once: the service's user writes to no file of its program.
RUN node --eval "Promise.all([import('/app/src/host/launch/cell-sources.ts').then((made) => made.cellSources()), import('/app/src/host/http/control/session-page.ts').then((made) => Promise.all([made.scriptOf('console'), made.scriptOf('portal')]))])" \
 && node -r ./src/require-node.cjs src/main.ts --help > /dev/null

# `docker run --publish` does not reach 127.0.0.1 inside a container. So the control listener binds
# to every address *of the container*; published ports and the container's network decide which
# clients reach it. Its API requires a token, /metrics and /healthz do not: publish its port on
# 127.0.0.1 only, or not at all.
ENV ANNEX_DATA=/data \
    ANNEX_CONTROL_HOST=0.0.0.0 \
    ANNEX_PUBLIC_HOST=0.0.0.0
EXPOSE 7700 7701
VOLUME /data

# A numeric id, so that an orchestrator can verify that it is not root.
USER 10001:10001
# The control listener may bind to one network of the container alone.
HEALTHCHECK --interval=15s --timeout=5s --start-period=20s CMD ["/app/node_modules/.bin/node", "--eval", "fetch('http://' + process.env.ANNEX_CONTROL_HOST.replace(/^(0[.]0[.]0[.]0|::)$/, 'localhost') + ':' + (process.env.ANNEX_CONTROL_PORT ?? 7700) + '/healthz').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["/usr/bin/tini", "--", "/app/node_modules/.bin/node", "-r", "/app/src/require-node.cjs", "/app/src/main.ts"]
