// SPDX-License-Identifier: BSD-2-Clause
// Goroutines that call, allocate, hash and sort, and so keep the collector busy.
package main

import (
	"fmt"
	"sort"
	"strings"
	"sync"
)

type tree struct{ l, r *tree }

func build(d int) *tree {
	if d == 0 {
		return &tree{}
	}
	return &tree{build(d - 1), build(d - 1)}
}
func (t *tree) count() int {
	if t.l == nil {
		return 1
	}
	return 1 + t.l.count() + t.r.count()
}
func main() {
	var wg sync.WaitGroup
	for i := 0; i < 4; i++ {
		wg.Add(1)
		go func(i int) {
			defer wg.Done()
			n := 0
			for j := 0; j < 20; j++ {
				n += build(16).count()
				m := map[string]int{}
				var ks []string
				for k := 0; k < 20000; k++ {
					s := fmt.Sprintf("%d-%d", k, i)
					m[s] = k
					ks = append(ks, strings.ToUpper(s))
				}
				sort.Strings(ks)
				n += len(m)
			}
			fmt.Println(n)
		}(i)
	}
	wg.Wait()
}
