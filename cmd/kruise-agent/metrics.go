package main

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/view"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/webhook"
)

// meters are the series of /metrics.
type meters struct {
	registry *prometheus.Registry
	actions  *prometheus.CounterVec
	refused  *prometheus.CounterVec
	planning *prometheus.HistogramVec
	queueAge *prometheus.HistogramVec
	answers  *prometheus.HistogramVec
	missed   *prometheus.CounterVec
	leader   prometheus.Gauge
	ends     *prometheus.GaugeVec
}

func newMeters() *meters {
	fine := prometheus.ExponentialBuckets(0.0001, 2.5, 12) // 0.1 ms to 2.4 s
	m := &meters{
		registry: prometheus.NewRegistry(),
		actions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "kruise_actions_total", Help: "Writes that the loop made, by the kind of the workload and the verb.",
		}, []string{"kind", "verb"}),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "kruise_writes_refused_total", Help: "Writes of the loop that failed or had no answer.",
		}, []string{"kind", "verb"}),
		planning: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "kruise_plan_seconds", Help: "Time to decide about one workload.", Buckets: fine,
		}, []string{"kind"}),
		queueAge: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "kruise_queue_age_seconds", Help: "Time from an event to the look at the workload that it concerns.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2.5, 12), // 1 ms to 24 s
		}, []string{"kind"}),
		answers: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "kruise_admission_seconds", Help: "Time to answer the API server.", Buckets: fine,
		}, []string{"path", "allowed"}),
		missed: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "kruise_admission_steps_missed_total", Help: "Steps that were left out at the admission of a pod.",
		}, []string{"step"}),
		leader: prometheus.NewGauge(prometheus.GaugeOpts{Name: "kruise_leader", Help: "1 for the replica that drives."}),
		ends: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "kruise_certificate_end_timestamp_seconds", Help: "When the certificates of the webhook server end.",
		}, []string{"certificate"}),
	}
	m.registry.MustRegister(m.actions, m.refused, m.planning, m.queueAge, m.answers, m.missed, m.leader, m.ends,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

func (m *meters) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{}))
	return mux
}

// hear counts what the loop did.
func (m *meters) hear(e view.Event) {
	kind := e.About().Kind
	switch e := e.(type) {
	case view.Acted:
		m.actions.WithLabelValues(kind, strings.ToLower(string(e.Action.Verb))).Inc()
	case view.ActionFailed:
		m.refused.WithLabelValues(kind, strings.ToLower(string(e.Action.Verb))).Inc()
	}
}

// Planned implements reconcile.Meter.
func (m *meters) Planned(kind string, took time.Duration) {
	m.planning.WithLabelValues(kind).Observe(took.Seconds())
}

// Waited implements reconcile.Meter.
func (m *meters) Waited(kind string, age time.Duration) {
	m.queueAge.WithLabelValues(kind).Observe(age.Seconds())
}

func (m *meters) answered(a webhook.Answer) {
	m.answers.WithLabelValues(a.Path, strconv.FormatBool(a.Allowed)).Observe(a.Took.Seconds())
	for _, step := range a.Missed {
		m.missed.WithLabelValues(step).Inc()
	}
}

func (m *meters) leading(yes bool) {
	m.leader.Set(0)
	if yes {
		m.leader.Set(1)
	}
}

func (m *meters) expires(cert, ca time.Time) {
	m.ends.WithLabelValues("server").Set(float64(cert.Unix()))
	m.ends.WithLabelValues("ca").Set(float64(ca.Unix()))
}
