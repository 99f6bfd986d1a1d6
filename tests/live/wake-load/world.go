package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	namespace = "/api/v1/namespaces/wake-load"
	pods      = namespace + "/pods"
	events    = "/apis/events.k8s.io/v1/namespaces/wake-load/events"

	// Nodes with room for more pods than are created.
	nodes, podsOfNode = 100, 110
	// Requests at once, as from controllers.
	workers = 32
	// Until a measurement has failed.
	patience = 10 * time.Minute
)

// world is the cluster that is measured.
type world struct {
	settings
	api     *api
	stub    *stub
	calls   []object
	created int
}

type object = map[string]any

// collections are where the objects of an installation's calls are, by kind.
var collections = map[string]string{
	"PriorityLevelConfiguration":     "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations",
	"FlowSchema":                     "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas",
	"ValidatingWebhookConfiguration": "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
}

// prepare makes what pods need: no controller runs.
func (w *world) prepare() error {
	meta := object{"name": "wake-load"}
	if _, err := w.api.do(http.MethodPost, "/api/v1/namespaces", object{"metadata": meta}); err != nil {
		return err
	}
	account := object{"metadata": object{"name": "default"}}
	if _, err := w.api.do(http.MethodPost, namespace+"/serviceaccounts", account); err != nil {
		return err
	}
	room := object{"cpu": "64", "memory": "256Gi", "pods": fmt.Sprint(podsOfNode)}
	for number := range nodes {
		name := fmt.Sprintf("node-%d", number)
		ready := []object{{"type": "Ready", "status": "True"}}
		node := object{
			"metadata": object{"name": name, "labels": object{"kubernetes.io/hostname": name}},
			"status":   object{"capacity": room, "allocatable": room, "conditions": ready},
		}
		if _, err := w.api.do(http.MethodPost, "/api/v1/nodes", node); err != nil {
			return err
		}
		untainted := object{"spec": object{"taints": nil}}
		if _, err := w.api.do(http.MethodPatch, "/api/v1/nodes/"+name, untainted); err != nil {
			return err
		}
	}
	return nil
}

// podOf is a pod that waits for a node which is not there, or fits every node.
func (w *world) podOf(fits bool) (string, object) {
	w.created++
	name := fmt.Sprintf("pod-%d", w.created)
	requests := object{"cpu": "10m", "memory": "16Mi"}
	container := object{"name": "c", "image": "none", "resources": object{"requests": requests}}
	spec := object{
		"containers": []object{container}, "automountServiceAccountToken": false,
		"terminationGracePeriodSeconds": 0,
	}
	if !fits {
		spec["nodeSelector"] = object{"example.com/none": "none"}
	}
	return name, object{"metadata": object{"name": name}, "spec": spec}
}

// measure has the API server call what variant says, and measures the parts.
func (w *world) measure(variant string) (figures, error) {
	parts := map[string]func(figures) error{"schedule": w.schedule, "others": w.others}
	found := figures{}
	err := w.call(variant)
	for _, name := range w.parts {
		part, isKnown := parts[name]
		if !isKnown {
			return nil, fmt.Errorf("no part is called %s", name)
		}
		if err == nil {
			err = part(found)
		}
		if err == nil {
			err = w.clear()
		}
	}
	if err == nil {
		err = w.rest()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", variant, err)
	}
	return found, nil
}

// call writes what variant says, and waits until the API server goes by it.
func (w *world) call(variant string) error {
	if err := w.write(variant); err != nil {
		return err
	}
	return w.until(func(calls bool) bool { return calls == (variant != "none") })
}

// write has the API server call what variant says, soon.
func (w *world) write(variant string) error {
	for _, part := range slices.Backward(w.calls) {
		name := part["metadata"].(object)["name"].(string)
		if _, err := w.api.do(http.MethodDelete, collections[part["kind"].(string)]+"/"+name, nil); err != nil {
			return err
		}
	}
	if variant == "none" {
		return nil
	}
	for _, part := range w.calls {
		kind := part["kind"].(string)
		if w.withoutPriority && kind != "ValidatingWebhookConfiguration" {
			continue
		}
		webhooks, _ := part["webhooks"].([]any)
		for _, webhook := range webhooks {
			client := object{"url": w.stub.url + "/" + variant, "caBundle": w.stub.bundle}
			webhook.(object)["clientConfig"] = client
		}
		if _, err := w.api.do(http.MethodPost, collections[kind], part); err != nil {
			return err
		}
	}
	return nil
}

// until waits for five probes in a row that call the stub, or do not, as is wanted.
func (w *world) until(wanted func(bool) bool) error {
	probe := event("Warning", "FailedScheduling", "journeyman-probe")
	for row, tries := 0, 0; row < 5; tries++ {
		before := w.stub.calls.Load()
		if _, err := w.api.do(http.MethodPost, events+"?dryRun=All", probe); err != nil {
			return err
		}
		if row++; !wanted(before < w.stub.calls.Load()) {
			row = 0
		}
		if tries == 100 {
			return fmt.Errorf("the API server does not go by the webhooks")
		}
		time.Sleep(200 * time.Millisecond)
	}
	return nil
}

func event(kind, reason, reporter string) object {
	return object{
		"metadata": object{"generateName": "event-"}, "type": kind, "reason": reason, "action": "Scheduling",
		"eventTime":           time.Now().UTC().Format("2006-01-02T15:04:05.000000Z"),
		"reportingController": reporter, "reportingInstance": reporter, "note": "measured",
		"regarding": object{"apiVersion": "v1", "kind": "Pod", "namespace": "wake-load", "name": "pod"},
	}
}

func (w *world) create(pod object) error {
	_, err := w.api.do(http.MethodPost, pods, pod)
	return err
}

// work does jobs over a fixed number of connections until there is none left, and says what failed.
func (w *world) work(jobs <-chan func() error) <-chan error {
	failures := make([]error, workers)
	var running sync.WaitGroup
	for worker := range workers {
		running.Go(func() {
			for job := range jobs {
				failures[worker] = errors.Join(failures[worker], job())
			}
		})
	}
	ended := make(chan error, 1)
	go func() {
		running.Wait()
		ended <- errors.Join(failures...)
	}()
	return ended
}

// schedule measures how many pods kube-scheduler gets through in a second: from the first request that creates one to
// the last condition PodScheduled, or the last binding.
func (w *world) schedule(found figures) error {
	total := w.unschedulable + w.schedulable
	jobs := make(chan func() error, total)
	for number := range total {
		fits := number*w.schedulable/total != (number+1)*w.schedulable/total
		_, pod := w.podOf(fits)
		jobs <- func() error { return w.create(pod) }
	}
	close(jobs)
	waiting, bound := map[string]bool{}, map[string]bool{}
	var lastWaiting, lastBound time.Time
	ready, ended := make(chan error, 1), make(chan error, 1)
	go func() {
		ended <- w.api.watch(patience, ready, func(pod pod) bool {
			switch name := pod.Metadata.Name; {
			case pod.Spec.NodeName != "" && !bound[name]:
				bound[name], lastBound = true, time.Now()
			case pod.isUnschedulable() && !waiting[name]:
				waiting[name], lastWaiting = true, time.Now()
			}
			return len(waiting) == w.unschedulable && len(bound) == w.schedulable
		})
	}()
	if err := <-ready; err != nil {
		return err
	}
	before, err := w.flows()
	if err != nil {
		return err
	}
	began, calls := time.Now(), w.stub.calls.Load()
	if err := <-w.work(jobs); err != nil {
		return err
	}
	if err := <-ended; err != nil {
		return err
	}
	found["pods found unschedulable a second"] = float64(w.unschedulable) / lastWaiting.Sub(began).Seconds()
	found["pods scheduled a second"] = float64(w.schedulable) / lastBound.Sub(began).Seconds()
	// One more than there were, so that every figure can be compared.
	found["(calls of the stub)"] = float64(w.stub.calls.Load()-calls) + 1
	after, err := w.flows()
	found["(events with a priority of their own)"] = after.events - before.events + 1
	found["(requests refused by priority and fairness)"] = after.refused - before.refused + 1
	return err
}

// flows are counts of API priority and fairness since the start of the API server.
type flows struct{ events, refused, ofEvents float64 }

func (w *world) flows() (flows, error) {
	text, err := w.api.do(http.MethodGet, "/metrics", nil)
	if err != nil {
		return flows{}, err
	}
	sum := func(metric, label string) (sum float64) {
		for line := range strings.Lines(string(text)) {
			if strings.HasPrefix(line, metric+"{") && strings.Contains(line, label) {
				value, _ := strconv.ParseFloat(strings.TrimSpace(line[strings.LastIndex(line, " "):]), 64)
				sum += value
			}
		}
		return sum
	}
	if sum("apiserver_flowcontrol_dispatched_requests_total", "") == 0 {
		return flows{}, fmt.Errorf("the API server runs without API priority and fairness")
	}
	return flows{
		events:   sum("apiserver_flowcontrol_dispatched_requests_total", `flow_schema="journeyman-scheduler-events"`),
		refused:  sum("apiserver_flowcontrol_rejected_requests_total", ""),
		ofEvents: sum("apiserver_request_total", `resource="events"`),
	}, nil
}

// rest has the API server call nothing, and waits until no event is on its way: kube-scheduler sends those that waited
// for `wake`, or were refused, for some time.
func (w *world) rest() error {
	if err := w.call("none"); err != nil {
		return err
	}
	last := -1.0
	for began, since := time.Now(), time.Now(); time.Since(since) < 3*time.Second; time.Sleep(500 * time.Millisecond) {
		now, err := w.flows()
		if err != nil {
			return err
		}
		if now.ofEvents != last {
			last, since = now.ofEvents, time.Now()
		}
		if time.Since(began) > patience {
			return fmt.Errorf("events of kube-scheduler within %s after its pods are gone", patience)
		}
	}
	if err := w.clear(); err != nil {
		return err
	}
	return w.collect()
}

// collect has the API server collect its garbage, so that it need not while something is measured: one collection takes
// half a second on two cores, and the requests of that time wait.
func (w *world) collect() error {
	_, err := w.api.do(http.MethodGet, "/debug/pprof/heap?gc=1", nil)
	return err
}

// Seconds of a variant's turn, and those of them that are not measured: the API server learns of the turn, and calls of
// the turn before end.
const turnSeconds, unmeasuredSeconds = 5, 2

// updates measures updates of pods at a fixed rate, each from when it is due, while pods become unschedulable. Variants
// take turns within one stream of updates, so that what else the machine does delays all of them alike.
func (w *world) updates() (map[string][]figures, error) {
	names, err := w.boundPods(200)
	if err != nil {
		return nil, err
	}
	turns := w.order()
	ofTurn := w.rate * turnSeconds
	took := make([]time.Duration, ofTurn*len(turns))
	jobs := make(chan func() error, 2*len(took))
	failures := w.work(jobs)
	var busy []time.Duration
	began := time.Now()
	for number := range took {
		due := began.Add(time.Duration(number) * time.Second / time.Duration(w.rate))
		time.Sleep(time.Until(due))
		switch number % ofTurn {
		case 0:
			// Of the turn before, which has just ended.
			busy = append(busy, busyTime())
			jobs <- func() error { return w.write(turns[number/ofTurn]) }
		case w.rate * unmeasuredSeconds:
			busy = append(busy, busyTime())
		}
		jobs <- func() error {
			change := object{"metadata": object{"annotations": object{"number": fmt.Sprint(number)}}}
			_, err := w.api.do(http.MethodPatch, pods+"/"+names[number%len(names)], change)
			took[number] = time.Since(due)
			return err
		}
		if number*w.pending/w.rate != (number+1)*w.pending/w.rate {
			_, pod := w.podOf(false)
			jobs <- func() error { return w.create(pod) }
		}
	}
	busy = append(busy, busyTime())
	close(jobs)
	if err := <-failures; err != nil {
		return nil, err
	}
	found := map[string][]figures{}
	for turn, variant := range turns {
		measured := took[turn*ofTurn+w.rate*unmeasuredSeconds : (turn+1)*ofTurn]
		found[variant] = append(found[variant], figures{
			"ms of an update of a pod, p99":    quantile(measured, 0.99),
			"ms of an update of a pod, median": quantile(measured, 0.5),
			"processors in use meanwhile":      (busy[2*turn+2] - busy[2*turn+1]).Seconds() / (turnSeconds - unmeasuredSeconds),
		})
	}
	return found, errors.Join(w.clear(), w.rest())
}

// busyTime is how long all processors of this machine have worked since it started, and 0 where /proc does not say it.
func busyTime() time.Duration {
	text, _ := os.ReadFile("/proc/stat")
	line, _, _ := strings.Cut(string(text), "\n")
	var user, nice, system, idle, waiting, interrupts, softInterrupts int64
	fmt.Sscanf(line, "cpu %d %d %d %d %d %d %d", &user, &nice, &system, &idle, &waiting, &interrupts, &softInterrupts)
	return time.Duration(user+nice+system+interrupts+softInterrupts) * 10 * time.Millisecond
}

// order is the variants, shuffled anew for each round.
func (w *world) order() (turns []string) {
	for range w.rounds {
		order := slices.Clone(w.variants)
		rand.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		turns = append(turns, order...)
	}
	return turns
}

// boundPods creates pods, and waits until kube-scheduler has bound each of them.
func (w *world) boundPods(number int) ([]string, error) {
	bound := map[string]bool{}
	ready, ended := make(chan error, 1), make(chan error, 1)
	go func() {
		ended <- w.api.watch(patience, ready, func(pod pod) bool {
			bound[pod.Metadata.Name] = pod.Spec.NodeName != ""
			return len(bound) == number && !slices.Contains(slices.Collect(maps.Values(bound)), false)
		})
	}()
	if err := <-ready; err != nil {
		return nil, err
	}
	for range number {
		_, pod := w.podOf(true)
		if err := w.create(pod); err != nil {
			return nil, err
		}
	}
	err := <-ended
	return slices.Collect(maps.Keys(bound)), err
}

// others measures requests that the conditions do not let through, one after the other: events of other reasons are
// compared with the conditions, and pods have no webhook at all.
func (w *world) others(found figures) error {
	var ofEvents, create, patch []time.Duration
	for range w.requests {
		took, err := w.api.timed(http.MethodPost, events, event("Normal", "Started", "kubelet"))
		if err != nil {
			return err
		}
		ofEvents = append(ofEvents, took)
		name, pod := w.podOf(true)
		pod["spec"].(object)["schedulerName"] = "none"
		if took, err = w.api.timed(http.MethodPost, pods, pod); err != nil {
			return err
		}
		create = append(create, took)
		change := object{"metadata": object{"labels": object{"a": "b"}}}
		if took, err = w.api.timed(http.MethodPatch, pods+"/"+name, change); err != nil {
			return err
		}
		patch = append(patch, took)
	}
	found["ms of another event, median"] = quantile(ofEvents, 0.5)
	found["ms of a new pod, median"] = quantile(create, 0.5)
	found["ms of a patch of a pod, median"] = quantile(patch, 0.5)
	return nil
}

// clear removes pods and events, and waits until kube-scheduler has nothing left to do.
func (w *world) clear() error {
	for _, path := range []string{pods, events} {
		// The API server ends a request after a minute, however much it has to delete.
		for left := 1; left > 0; {
			if _, err := w.api.do(http.MethodDelete, path+"?gracePeriodSeconds=0&limit=500", nil); err != nil {
				return err
			}
			var page struct{ Items []json.RawMessage }
			said, err := w.api.do(http.MethodGet, path+"?limit=1", nil)
			if err == nil {
				err = json.Unmarshal(said, &page)
			}
			if err != nil {
				return err
			}
			left = len(page.Items)
		}
	}
	time.Sleep(2 * time.Second)
	return nil
}
