/** Runs one seed: draws a history, delivers it to several consumers through faults, and compares the rows with a model. */

import { createHash } from 'node:crypto'
import { noopLogger, runtimeWith } from '@waybill/core'
import { createSeededRandom } from '@waybill/core/internal'
import { createMemoryProjectionStore, createProjector } from '@waybill/projection'
import type { Simulation, Violation } from '../simulation.ts'
import { runBuilds } from './builds.ts'
import { deliver, SimulatedCrash } from './deliver.ts'
import { drawHistory, projections } from './history.ts'
import type { RareState } from './rare-states.ts'

const mostSteps = 200_000

export const runProjectionSeed: Simulation['run'] = async (seed, { trace } = {}) => {
  const random = createSeededRandom(seed)
  const draw = (bound: number): number => Math.floor(random() * bound)
  const history = await drawHistory(random)
  const projection = projections[history.versions]
  const failureShare = [0, 0.02, 0.1][draw(3)] ?? 0
  const reached = new Map<RareState, number>()
  const faults = new Map<string, number>()
  const hash = createHash('sha256')
  const reach = (state: RareState): void => void reached.set(state, (reached.get(state) ?? 0) + 1)
  let [events, open, isCalm] = [0, 0, false]

  const store = createMemoryProjectionStore({
    clock: { now: () => events, monotonic: () => events },
    async pause(step) {
      events++
      hash.update(step)
      trace?.(step)
      if (events > mostSteps) throw new RangeError('the run does not end')
      if (isCalm) return
      if (step.startsWith('lock ')) open++
      if (open > 1) reach('consumers: they are in a transaction at once')
      if (step === 'after COMMIT') open = Math.max(0, open - 1)
      for (let turns = draw(6); turns > 0; turns--) await Promise.resolve()
      if (random() >= failureShare) return
      open = Math.max(0, open - 1)
      faults.set(step.replace(/ .*/, ''), (faults.get(step.replace(/ .*/, '')) ?? 0) + 1)
      if (step === 'before COMMIT') reach('crash: before COMMIT')
      if (step === 'after COMMIT') reach('crash: after COMMIT')
      throw new SimulatedCrash(step)
    },
  })
  const consume = async (): Promise<void> => {
    let projector = createProjector(projection, { store, runtime: runtimeWith({ logger: noopLogger }) })
    for (let committed = 0; committed < history.records.length; ) {
      const batch = history.records.slice(committed, committed + 1 + draw(3))
      try {
        await deliver(projector, batch)
        committed += batch.length
        if (random() < 0.2) {
          committed = Math.max(0, committed - draw(12))
          reach('batch: it is repeated as a whole')
        }
      } catch (error) {
        if (!(error instanceof SimulatedCrash)) throw error
        if (random() < 0.5)
          projector = createProjector(projection, { store, runtime: runtimeWith({ logger: noopLogger }) })
      }
    }
  }
  const violations: Violation[] = []
  try {
    await Promise.all(Array.from({ length: 1 + draw(3) }, consume))
    isCalm = true
    const quarantined = await store.quarantined({ projection: projection.name, number: 1 }, { after: null, limit: 100 })
    for (const [key, which] of history.gaps) {
      reach('gap: it quarantines a key')
      if (which === 'FIRST') reach('gap: the first event of a key is missing')
      if (!quarantined.some((one) => one.key === key))
        violations.push({ invariant: 'I8', what: `the gap of ${key} is silent` })
    }
    for (const { key } of quarantined)
      if (!history.gaps.has(key)) violations.push({ invariant: 'I8', what: `${key} is quarantined and has no gap` })
    for (const key of ['k0', 'k1', 'k2', 'k3']) {
      const [found, wanted] = [store.find(projection.name, key), history.rows.get(key)].map((row) =>
        JSON.stringify(row),
      )
      if (found !== wanted) violations.push({ invariant: 'I8', what: `${key} is ${found} instead of ${wanted}` })
    }
    if (violations.length === 0) {
      const step = (name: string): void => {
        events++
        hash.update(name)
        trace?.(name)
        if (events > mostSteps) throw new RangeError('the run does not end')
      }
      violations.push(...(await runBuilds(seed, { step, reach })))
    }
  } catch (error) {
    violations.push({ invariant: 'RUN', what: String(error) })
  }
  return { seed, violations, traceHash: hash.digest('hex'), events, elapsedMs: events, faults, rareStates: reached }
}
