package rollout

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/features"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/cluster"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/commands/cli"
)

// parse reads a command line as the verb does.
func parse(t *testing.T, line ...string) (*options, error) {
	t.Helper()
	var f flags
	set := pflag.NewFlagSet("rollout", pflag.ContinueOnError)
	f.add(set)
	if err := set.Parse(line); err != nil {
		t.Fatal(err)
	}
	return f.toOptions(target{name: "web"}, set.Changed)
}

func number1(text string) *intstr.IntOrString { n := intstr.Parse(text); return &n }

func TestEveryFlagShowsInTheOptions(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	gates := cli.LocalGates().With(features.CloneSetPartitionRollback, true)
	plain := func(change func(*options)) *options {
		o := &options{target: target{name: "web"}, dryRun: cluster.DryRunNone, gates: cli.LocalGates(), release: true}
		change(o)
		o.target.gates = o.gates
		return o
	}
	tests := map[string]struct {
		line []string
		want *options
	}{
		"nothing": {nil, plain(func(*options) {})},
		"images": {[]string{"--image", "a=x:1", "--image=b=y@sha256:0000000000000000000000000000000000000000000000000000000000000000"}, plain(func(o *options) {
			o.intent.Images = map[string]string{"a": "x:1", "b": "y@sha256:0000000000000000000000000000000000000000000000000000000000000000"}
		})},
		"partition":            {[]string{"--partition", "80%"}, plain(func(o *options) { o.intent.Partition = number1("80%") })},
		"a decimal":            {[]string{"--partition", "33.3%"}, plain(func(o *options) { o.intent.Partition = number1("33.3%") })},
		"partition zero":       {[]string{"--partition", "0"}, plain(func(o *options) { o.intent.Partition = number1("0") })},
		"max-unavailable":      {[]string{"--max-unavailable", "3"}, plain(func(o *options) { o.intent.MaxUnavailable = number1("3") })},
		"max-surge":            {[]string{"--max-surge", "10%"}, plain(func(o *options) { o.intent.MaxSurge = number1("10%") })},
		"type":                 {[]string{"--type", "InPlaceOnly"}, plain(func(o *options) { o.intent.Type = "InPlaceOnly" })},
		"paused":               {[]string{"--paused"}, plain(func(o *options) { o.intent.Paused = &yes })},
		"no longer paused":     {[]string{"--paused=false"}, plain(func(o *options) { o.intent.Paused = &no })},
		"timeout":              {[]string{"--timeout", "10m"}, plain(func(o *options) { o.timeout = 10 * time.Minute })},
		"no-wait":              {[]string{"--no-wait"}, plain(func(o *options) { o.noWait = true })},
		"dry-run alone":        {[]string{"--dry-run"}, plain(func(o *options) { o.dryRun = cluster.DryRunClient })},
		"dry-run by server":    {[]string{"--dry-run=server"}, plain(func(o *options) { o.dryRun = cluster.DryRunServer })},
		"feature gates":        {[]string{"--feature-gates", "CloneSetPartitionRollback=true"}, plain(func(o *options) { o.gates = gates })},
		"release-on-exit":      {[]string{"--release-on-exit=false"}, plain(func(o *options) { o.release = false })},
		"mode":                 {[]string{"--mode", "local"}, plain(func(o *options) { o.mode = cluster.ModeLocal })},
		"output":               {[]string{"-o", "name"}, plain(func(o *options) { o.output = cli.Name })},
		"no colours":           {[]string{"--plain"}, plain(func(o *options) { o.plain = true })},
		"the same image twice": {[]string{"--image", "a=x", "--image", "a=x"}, plain(func(o *options) { o.intent.Images = map[string]string{"a": "x"} })},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := parse(t, test.line...)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(options{}, target{}, kind{}), cmp.Comparer(func(a, b features.Gates) bool { return a == b })); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestNumbersThatAreNone(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "5x", "-1", "+1", "1.5", "%", ".5%", "5.%", "1.2.3%", "5%%", "0x5", "1e2%", "101%", "99999999999999999999", "99999999999", " 5"} {
		_, err := parseNumber("partition", text)
		var coded *cli.Error
		if !errors.As(err, &coded) || coded.Code != cli.Usage {
			t.Errorf("%q: got %v, want a usage error", text, err)
		}
	}
}

func TestNumbersAboveTheReplicasAreRefused(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		intent   cluster.Intent
		replicas int32
		refused  bool
	}{
		"partition as many as replicas":    {cluster.Intent{Partition: number1("3")}, 3, false},
		"partition above":                  {cluster.Intent{Partition: number1("4")}, 3, true},
		"percentages are always in range":  {cluster.Intent{Partition: number1("100%"), MaxSurge: number1("100%")}, 3, false},
		"one unavailable of none":          {cluster.Intent{MaxUnavailable: number1("1")}, 0, false},
		"two unavailable of one":           {cluster.Intent{MaxUnavailable: number1("2")}, 1, true},
		"surge above":                      {cluster.Intent{MaxSurge: number1("5")}, 4, true},
		"partition of a set without pods":  {cluster.Intent{Partition: number1("1")}, 0, true},
		"what is not asked is not checked": {cluster.Intent{}, 0, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := checkNumbers(target{name: "web"}, &test.intent, test.replicas)
			if (err != nil) != test.refused {
				t.Errorf("got %v, want refused %v", err, test.refused)
			}
		})
	}
}
