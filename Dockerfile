# Builds Holdfast with a static Swift runtime and runs it as a user without rights, on a read-only root if you like:
#   docker run --read-only -p 8080:8080 -v holdfast:/data -e HOLDFAST_ORIGIN=https://… -e HOLDFAST_ACCESS_TOKENS=… holdfast
FROM swift:6.3-bookworm AS build
RUN apt-get update -qq \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
    libevent-dev libcurl4-openssl-dev libsqlite3-dev libssl-dev pkg-config \
 && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY Package.swift openapi.yaml ./
COPY Sources Sources
COPY Tests Tests
RUN swift build -c release --product holdfast --static-swift-stdlib \
 && install -D "$(swift build -c release --static-swift-stdlib --show-bin-path)/holdfast" /out/holdfast \
 && strip /out/holdfast

FROM debian:bookworm-slim
RUN apt-get update -qq \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
    ca-certificates curl libevent-core-2.1-7 libevent-pthreads-2.1-7 libcurl4 libsqlite3-0 libssl3 \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --system --no-create-home --uid 10001 holdfast \
 && install -d -o holdfast -g holdfast -m 0700 /data
COPY --from=build /out/holdfast /usr/local/bin/holdfast
COPY scripts/container-start /usr/local/bin/container-start
ENV HOLDFAST_LISTEN=0.0.0.0:8080 HOLDFAST_DATA=/data
VOLUME /data
EXPOSE 8080
USER holdfast
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s CMD ["curl", "-fsS", "-o", "/dev/null", "http://127.0.0.1:8080/health/live"]
ENTRYPOINT ["/usr/local/bin/container-start"]
