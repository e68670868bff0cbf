package providers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/anthropics/anthropic-sdk-go/bedrock"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/anthropics/anthropic-sdk-go/vertex"
	"github.com/aws/aws-sdk-go-v2/aws"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"golang.org/x/oauth2/google"

	"github.com/deepagents-go/deepagents/model"
	"github.com/deepagents-go/deepagents/model/anthropic"
	"github.com/deepagents-go/deepagents/model/gemini"
)

// cloud opens models that are reached with the credentials of a cloud. It was never run against one.
type cloud struct {
	provider, name, base string
	headers              map[string]string
	o                    Options
	client               *http.Client
}

func (c cloud) unauthorized(format string, args ...any) error {
	return &model.Error{Kind: model.Auth, Provider: c.provider, Err: fmt.Errorf(format, args...)}
}

// vertex opens Gemini or Claude on Google's platform: in GOOGLE_CLOUD_PROJECT with the credentials of the environment, or Gemini
// with a key alone.
func (c cloud) vertex(ctx context.Context, key string) (model.Model, error) {
	project := os.Getenv("GOOGLE_CLOUD_PROJECT")
	location := cmp.Or(os.Getenv("GOOGLE_CLOUD_LOCATION"), os.Getenv("GOOGLE_CLOUD_REGION"), "global")
	if project != "" {
		key = c.o.APIKey // one that was found belongs to something else
	}
	claude := strings.HasPrefix(c.name, "claude")
	if project == "" && (key == "" || claude) {
		return nil, c.unauthorized("no project: set GOOGLE_CLOUD_PROJECT and GOOGLE_CLOUD_LOCATION, or GOOGLE_API_KEY for Gemini; " +
			"a key of Google AI Studio goes with google_genai, one of Anthropic with anthropic")
	}
	if claude {
		return c.vertexClaude(ctx, project, location)
	}
	if key != "" {
		project, location = "", ""
	}
	return gemini.New(ctx, gemini.Options{
		Model: c.name, Provider: c.provider, BaseURL: c.base, Key: key, Vertex: true, Project: project, Location: location,
		Headers: c.headers, Timeout: c.o.Timeout, Retries: c.o.Retries, HTTPClient: c.client,
	})
}

func (c cloud) vertexClaude(ctx context.Context, project, location string) (model.Model, error) {
	found, err := google.FindDefaultCredentials(ctx, "https://www.googleapis.com/auth/cloud-platform")
	if err != nil {
		return nil, c.unauthorized("no credentials of Google Cloud: set GOOGLE_APPLICATION_CREDENTIALS: %w", err)
	}
	return c.claude(vertex.WithCredentials(ctx, location, project, found))
}

// credentialTime bounds how long the credentials of Amazon's cloud are looked for, which may ask the machine's own service.
const credentialTime = 5 * time.Second

// bedrock opens Claude on Amazon's platform: in AWS_REGION with the credentials of the environment, or with a key of Bedrock's.
func (c cloud) bedrock(ctx context.Context, key string) (model.Model, error) {
	if !strings.Contains(c.name, "claude") {
		return nil, &model.SpecError{Spec: c.provider + ":" + c.name, Text: fmt.Sprintf("model %q: on bedrock this build has only Claude", c.name)}
	}
	cfg, err := awsconfig.LoadDefaultConfig(ctx)
	if err != nil {
		return nil, c.unauthorized("the configuration of AWS: %w", err)
	}
	if cfg.Region == "" {
		return nil, c.unauthorized("no region: set AWS_REGION")
	}
	if key != "" {
		cfg.BearerAuthTokenProvider, cfg.AuthSchemePreference = bedrock.NewStaticBearerTokenProvider(key), []string{"httpBearerAuth"}
	} else if err := retrieve(ctx, cfg.Credentials); err != nil {
		return nil, c.unauthorized("no credentials of AWS: set AWS_BEARER_TOKEN_BEDROCK, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE: %w", err)
	}
	return c.claude(bedrock.WithConfig(cfg))
}

// claude opens a model of Anthropic's behind an option of the SDK. That sets the address, unless another was given.
func (c cloud) claude(platform option.RequestOption) (model.Model, error) {
	client := []option.RequestOption{platform}
	if c.base != "" {
		client = append(client, option.WithBaseURL(c.base))
	}
	return anthropic.New(anthropic.Options{
		Model: c.name, Provider: c.provider, Headers: c.headers, MaxTokens: c.o.MaxTokens, MarkBlock: true,
		Timeout: c.o.Timeout, Retries: c.o.Retries, HTTPClient: c.client, Client: client,
	})
}

func retrieve(ctx context.Context, p aws.CredentialsProvider) error {
	if p == nil {
		return errors.New("there are none")
	}
	ctx, cancel := context.WithTimeout(ctx, credentialTime)
	defer cancel()
	_, err := p.Retrieve(ctx)
	return err
}
