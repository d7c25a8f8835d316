# The image of kruise-agent for those who build with Docker; `make image` makes the same one without it.
#   docker buildx build --platform linux/amd64,linux/arm64 -t registry.example/kruise-agent:v1 .
FROM --platform=$BUILDPLATFORM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG TARGETOS TARGETARCH VERSION=unknown
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH \
    go build -trimpath -ldflags "-s -w -X main.version=$VERSION" -o /kruise-agent ./cmd/kruise-agent

FROM scratch
COPY --from=build /kruise-agent /kruise-agent
USER 65532:65532
ENTRYPOINT ["/kruise-agent"]
