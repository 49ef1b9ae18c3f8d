# The service and Node, without npm packages or sources of its own:
#
#   docker build --tag petstore .
#   docker buildx build --platform linux/amd64,linux/arm64 --tag registry.example/petstore:1.0.0 --push .
#
# It needs no BuildKit, which alone sets BUILDPLATFORM. `linux` is this machine's own.
# NODE_IMAGE: another Node 26 with npm and a shell, on glibc or musl.
ARG NODE_IMAGE

# Stages of their own, because Dependabot changes only images that FROM names itself.
FROM --platform=${BUILDPLATFORM:-linux} node:26-slim@sha256:3a771f83944bb763050c23c0225c260638c4b7899e7a72485ef75e5e570499e5 AS native-node
FROM node:26-slim@sha256:3a771f83944bb763050c23c0225c260638c4b7899e7a72485ef75e5e570499e5 AS node

# JavaScript is the same everywhere, so this stage runs on the platform of this machine and is never emulated.
FROM --platform=${BUILDPLATFORM:-linux} ${NODE_IMAGE:-native-node} AS build
WORKDIR /build
COPY . .
# The commit, which `petstore --version` names.
ARG REVISION=unknown
# One step, and what it leaves is small: an engine may copy the file system of each step.
RUN npm ci && PETSTORE_COMMIT="${REVISION}" npm run build && \
  cp deploy/docker/is-alive.js dist && rm -rf node_modules ~/.npm

# Compiled code is kept per processor and user, so this stage has those of the last one.
FROM ${NODE_IMAGE:-node} AS compiled
COPY --from=build --chown=1000:1000 /build/dist /petstore
COPY deploy/docker/keep-compiled-code.js /mnt/
WORKDIR /petstore
USER 1000:1000
RUN mkdir -p node_modules/.cache /tmp/data && node /mnt/keep-compiled-code.js && chmod -R a+rX,go-w node_modules

FROM ${NODE_IMAGE:-node}
ARG VERSION=unknown
ARG REVISION=unknown
ARG CREATED=unknown
LABEL org.opencontainers.image.title="petstore" \
  org.opencontainers.image.description="A catalogue of animals behind a JSON HTTP API" \
  org.opencontainers.image.licenses="MIT" \
  org.opencontainers.image.version="${VERSION}" \
  org.opencontainers.image.revision="${REVISION}" \
  org.opencontainers.image.created="${CREATED}"
WORKDIR /petstore
# Belongs to root: the service cannot change its own code.
COPY --from=compiled --chown=0:0 /petstore ./
COPY --from=compiled --chown=1000:1000 /tmp/data ./data
RUN ln -s /petstore/bin/petstore /usr/local/bin/petstore
ENV NODE_ENV=production HOST=0.0.0.0
# The numbers, because Kubernetes cannot tell whether a name is root.
USER 1000:1000
# The SQLite database of the default DATABASE_URL. Nothing else is written: the root file system may be read-only.
VOLUME /petstore/data
EXPOSE 3000
STOPSIGNAL SIGTERM
# Not /readyz: an orchestrator that restarts what is unhealthy would not repair the storage.
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s CMD ["node", "is-alive.js"]
ENTRYPOINT ["bin/petstore"]
CMD ["serve"]
