import type { BenchOptions } from '../bench-options.ts'
import { compare } from '../statistics.ts'
import type { LatencyResult, LatencyTask } from './latency-participant.ts'
import { runParticipant } from './participant-process.ts'
import type { PostgresTables } from './postgres-tables.ts'

const name = 'commit to listener, hot path'
const events: Readonly<Record<LatencyTask['way'], number>> = { POLLER: 60, HOT: 200 }

/** Measures the hot path beside a poller with an interval of 100 ms. */
export async function runLatency(tables: PostgresTables, options: BenchOptions): Promise<void> {
  const { rounds, only, progress, report } = options
  if (!name.includes(only)) return
  const medians: Record<LatencyTask['way'], number[]> = { POLLER: [], HOT: [] }
  for (let round = 1; round <= rounds; round++)
    for (const way of ['POLLER', 'HOT'] as const) {
      progress(`${name}: round ${round} of ${rounds}, ${way}`)
      await tables.seed('outbox_event', 0, 'PENDING')
      const task: LatencyTask = { way, url: tables.url, events: events[way] }
      medians[way].push((await runParticipant<LatencyResult>('latency-participant.ts', task)).p50Ms)
    }
  const names = { bench: 'outbox', case: name, unit: 'ms p50', reference: '100 ms poller' }
  report(compare(names, medians.HOT, medians.POLLER, true))
}
