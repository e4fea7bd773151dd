# The program as a container image: `make image IMG=<name>`. It has Node, the libraries that Node loads, and src/ with the
# code of its packages, as JavaScript: no shell, no npm, nobody's system.
#
# NODE_IMAGE has Node, npm and a shell, on glibc 2.34 or newer. Pin it by digest from outside:
# --build-arg NODE_IMAGE=node:24-bookworm-slim@sha256:...
ARG NODE_IMAGE=node:24-bookworm-slim

FROM ${NODE_IMAGE} AS packages
WORKDIR /app
COPY package.json package-lock.json ./
COPY tools/bundle/package.json tools/bundle/package-lock.json tools/bundle/
# With --engine-strict, a Node that is too old for package.json ends the build and says so. The secret is
# for networks where npm needs a CA of their own. The bundler has a lock file of its own: of the development packages no
# other is needed.
RUN --mount=type=cache,target=/var/cache/npm \
    --mount=type=secret,id=ca,target=/run/ca.crt,required=false \
    if [ -s /run/ca.crt ]; then export NODE_EXTRA_CA_CERTS=/run/ca.crt; fi; \
    install="npm ci --cache /var/cache/npm --omit=dev --engine-strict --ignore-scripts --no-bin-links \
      --no-audit --no-fund --no-update-notifier" && \
    $install && cd tools/bundle && $install

# The program in few files, as Node would read and compile 900 at each start. Of the packages the image has the licenses,
# as they ask for it, and the manifests, by which scanners know them. Readable to the user below, whatever the umask of who
# checked the sources out, and no programs by themselves.
FROM packages AS program
COPY src src
COPY tools/bundle.ts tools/
COPY tools/bundle/bundle.ts tools/bundle/
COPY LICENSE ./
RUN node --no-warnings tools/bundle.ts src /program/src && \
    find node_modules -type f ! -iname 'licen[cs]e*' ! -iname 'notice*' ! -name package.json -delete && \
    find node_modules -depth -type d -empty -delete && \
    mv LICENSE package.json node_modules /program && \
    find /program -type d -exec chmod 0555 {} + -o -type f -exec chmod 0444 {} +

# Node, and each library where the loader found it: as files, whatever links led there. The last line has nothing
# else: it ends the build where a library is missing, or a glibc would load one more to look up names.
FROM ${NODE_IMAGE} AS system
RUN mkdir -p /system/usr/local/bin /system/etc && \
    cp -L "$(command -v node)" /system/usr/local/bin/node && \
    for library in $(ldd /system/usr/local/bin/node | grep -o '/[^ )]*'); do \
      mkdir -p "/system${library%/*}" && cp -L "$library" "/system$library" || exit 1; \
    done && \
    echo 'hosts: files dns' >/system/etc/nsswitch.conf && \
    chroot /system /usr/local/bin/node -e \
      'if (process.report.getReport().header.glibcVersionRuntime < "2.34") throw new Error("NODE_IMAGE has a glibc before 2.34")'

FROM scratch
WORKDIR /app
COPY --from=system /system /
COPY --from=program /program ./
USER 65532:65532
# Node is process 1, so a signal reaches it. Its heap follows the container's memory limit: by itself it
# takes 259 MiB under any small limit and is killed there, and half of a large one.
# SIGUSR1 opens no inspector, no object reaches its prototype by a field, and no text becomes code.
# The space of new objects stays at 3 x 2 MiB, and glibc gives back what it frees, 10 MB after the start.
ENV MALLOC_TRIM_THRESHOLD_=131072
ENTRYPOINT ["/usr/local/bin/node", "--max-old-space-size-percentage=75", "--disable-sigusr1", "--disable-proto=delete", \
            "--disallow-code-generation-from-strings", "--max-semi-space-size=2", "/app/src/main.js"]
CMD ["--help"]
# Last: what changes with every version keeps no layer above from the cache.
ARG VERSION=unknown
ARG REVISION=unknown
ARG NODE_IMAGE
LABEL org.opencontainers.image.title="management-operator" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.description="Access keys, direct cluster endpoint tokens and platform settings as a Kubernetes operator" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.base.name="${NODE_IMAGE}"
