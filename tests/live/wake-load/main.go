// Command wake-load measures what the webhooks of `wake` cost a real API server and kube-scheduler, side by side:
// without them ("none"), and with a `wake` that answers at once ("quick"), after 900 ms ("slow"), after 900 ms and two at a time ("full"), and never ("dead").
//
// Lambda answers 429 to calls beyond the reserved concurrency, so that a slow function looks like "full".
//
// Each round measures all of them in a random order, and each figure is compared with that of "none" in the same round:
// medians of these ratios are what a machine that does other things beside lets one say. See tests/live/wake.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"slices"
	"strings"
	"time"
)

// settings are what is measured, and its sizes.
type settings struct {
	parts, variants                    []string
	withoutPriority                    bool
	rounds, unschedulable, schedulable int
	rate, pending, requests            int
}

// figures are the results of one variant in one round, by name.
type figures map[string]float64

func main() {
	log.SetFlags(0)
	var s settings
	kubeconfig := flag.String("kubeconfig", "", "administrator's kubeconfig with a token")
	calls := flag.String("calls", "", "file with the objects of an installation that make the API server call wake, a list")
	parts := flag.String("parts", "schedule,update,others", "what is measured")
	variants := flag.String("variants", "none,quick,slow,full,dead", "what answers the API server; the first is compared with")
	flag.BoolVar(&s.withoutPriority, "without-priority", false, "leave events at the priority level of the scheduler")
	flag.IntVar(&s.rounds, "rounds", 5, "rounds of all variants")
	flag.IntVar(&s.unschedulable, "unschedulable", 1000, "pods that fit no node, in each round and variant")
	flag.IntVar(&s.schedulable, "schedulable", 200, "pods that fit, at the same time")
	flag.IntVar(&s.rate, "updates", 500, "updates of pods a second")
	flag.IntVar(&s.pending, "pending", 20, "pods a second that become unschedulable meanwhile")
	flag.IntVar(&s.requests, "requests", 200, "requests one after the other that no webhook matches, of each kind")
	flag.Parse()

	api, err := connect(*kubeconfig)
	check(err)
	stub, err := startStub()
	check(err)
	s.parts, s.variants = strings.Split(*parts, ","), strings.Split(*variants, ",")
	world := &world{api: api, stub: stub, settings: s}
	written, err := os.ReadFile(*calls)
	check(err)
	check(json.Unmarshal(written, &world.calls))
	check(world.prepare())

	if place := slices.Index(s.parts, "update"); place >= 0 {
		world.parts = slices.Delete(s.parts, place, place+1)
		found, err := world.updates()
		check(err)
		report(s.variants, found)
	}
	if len(world.parts) == 0 {
		return
	}
	all := map[string][]figures{}
	for place, variant := range world.order() {
		found, err := world.measure(variant)
		check(err)
		all[variant] = append(all[variant], found)
		line, _ := json.Marshal(found)
		fmt.Printf("round %d %-5s %s\n", place/len(s.variants)+1, variant, line)
	}
	report(s.variants, all)
}

// report prints medians and lower quartiles, in which less of what else the machine did is left, and of the ratios to the
// first variant of the same round the median and the range.
func report(variants []string, all map[string][]figures) {
	first := all[variants[0]]
	var names []string
	for name := range first[0] {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		fmt.Printf("\n%s\n", name)
		for _, variant := range variants {
			var values, ratios []float64
			for round, found := range all[variant] {
				values = append(values, found[name])
				ratios = append(ratios, found[name]/first[round][name])
			}
			slices.Sort(values)
			slices.Sort(ratios)
			fmt.Printf("  %-5s %10.2f (quartile %.2f)   %6.3f of %s (%.3f to %.3f)\n", variant, middle(values),
				values[(len(values)-1)/4], middle(ratios), variants[0], ratios[0], ratios[len(ratios)-1])
		}
	}
}

// middle is the median of sorted values.
func middle(sorted []float64) float64 {
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// quantile is the value below which this part of the durations lies, in milliseconds.
func quantile(durations []time.Duration, part float64) float64 {
	slices.Sort(durations)
	index := min(int(part*float64(len(durations))), len(durations)-1)
	return float64(durations[index].Microseconds()) / 1000
}

func check(err error) {
	if err != nil {
		log.Fatal("wake-load: ", strings.TrimSpace(err.Error()))
	}
}
