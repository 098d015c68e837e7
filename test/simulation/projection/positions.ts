/**
 * Events without versions: consumers begin at stored positions although their group has committed others, while rebuilds
 * share the work, are killed, and switch the table under them. It has random numbers and time of its own.
 */

import { applicationOperator, runtimeWith } from '@waybill/core'
import type { ProjectionStore } from '@waybill/core/internal'
import { createMemoryProjectionStore, createProjector, createRebuild } from '@waybill/projection'
import { createVirtualRuntime } from '@waybill/sim'
import { Draw } from '../draw.ts'
import type { Violation } from '../simulation.ts'
import { deliver, SimulatedCrash } from './deliver.ts'
import { type History, projections } from './history.ts'
import type { RareState } from './rare-states.ts'

const projection = projections.POSITION
const partition = { topic: 'credits', partition: 0 } as const
const operator = applicationOperator()
const administration = { auditLog: { write: () => {} }, permits: () => true }
/** Longer than the lease of a worker. */
const longPauseMs = 40_000

/** What a run reports to its caller. */
export interface PositionObserver {
  readonly step: (name: string) => void
  readonly reach: (state: RareState) => void
}

/** Runs the events of a history by position, and returns the rows that differ from the model. */
export async function runPositions(
  seed: number,
  { records, rows }: History,
  { step, reach }: PositionObserver,
): Promise<readonly Violation[]> {
  const virtual = createVirtualRuntime(seed ^ 0x51ed270b)
  const draw = new Draw(virtual.random)
  const { timers } = virtual
  const runtime = runtimeWith(virtual)
  const failureShare = [0, 0.01, 0.05][draw.integer(0, 2)] ?? 0
  let [end, committed, rebuilding, isCalm] = [draw.integer(0, 200), 0, draw.integer(1, 2), false]

  const pause = async (name: string): Promise<void> => {
    step(name)
    if (isCalm) return
    if (draw.chance(0.2)) await timers.sleep(draw.integer(0, 20))
    else for (let turns = draw.integer(0, 4); turns > 0; turns--) await Promise.resolve()
    if (draw.chance(0.001)) {
      reach('rebuild: a step takes longer than a lease')
      await timers.sleep(longPauseMs)
    }
    if (draw.chance(failureShare)) throw new SimulatedCrash(name)
  }
  const store: ProjectionStore & Pick<ReturnType<typeof createMemoryProjectionStore>, 'find'> =
    createMemoryProjectionStore({ clock: virtual.clock, pause })
  /** A broker, whose answers take time. */
  const answer = async <T>(value: T): Promise<T> => {
    await timers.sleep(draw.chance(0.1) ? draw.integer(0, 2_000) : draw.integer(0, 5))
    return value
  }
  const kafka = {
    admin: {
      describeTopics: () => answer([{ topic: partition.topic, outcome: 'DONE', partitions: [partition] }]),
      describeConfigs: () => answer([{ topic: partition.topic, outcome: 'DONE', configs: new Map() }]),
      listOffsets: (_: unknown, which: string) =>
        answer([{ ...partition, outcome: 'DONE', offset: which === 'EARLIEST' ? 0n : BigInt(end) }]),
    },
    reader: ([range]: readonly { readonly from: bigint; readonly until: bigint }[]) => {
      let at = Number(range?.from)
      return {
        next: async (most: number) => {
          const read = records.slice(at, Math.min(Number(range?.until), at + most))
          at += read.length
          return answer(read.length === 0 ? undefined : read)
        },
        close: async () => {},
      }
    },
  }

  const write = async (): Promise<void> => {
    for (; end < records.length; end = Math.min(records.length, end + draw.integer(1, 40)))
      await timers.sleep(draw.integer(0, 400))
  }
  const isOver = async (): Promise<boolean> => {
    if (end < records.length || rebuilding > 0) return false
    isCalm = true
    const live = (await store.builds(projection.name)).find(({ state }) => state === 'LIVE')
    const [position] = live === undefined ? [] : await store.positions(live)
    return position?.next === BigInt(records.length)
  }
  /** One assignment of the partition: reading begins at the lower one of both positions. */
  const own = async (): Promise<void> => {
    const projector = createProjector(projection, { store, runtime })
    const [stored] = await projector.startOffsets([partition])
    if (Number(stored?.offset) < committed) reach('positions: the group has committed more than the database')
    let next = Math.min(committed, Number(stored?.offset))
    for (let batches = draw.integer(1, 12); batches > 0; batches--) {
      const batch = records.slice(next, Math.min(end, next + draw.integer(1, 20)))
      if (batch.length === 0) return
      await deliver(projector, batch)
      next += batch.length
      if (draw.chance(0.7)) committed = next
      // As after a restore of the database.
      if (draw.chance(0.1)) committed = Math.min(end, next + draw.integer(1, 30))
    }
  }
  const consume = async (): Promise<void> => {
    while (!(await isOver().catch(crashed))) {
      await own().catch(crashed)
      await timers.sleep(draw.integer(1, 50))
    }
  }
  const rebuild = async (): Promise<void> => {
    const [workers, verify] = [draw.integer(1, 2), draw.chance(0.5) ? 'ALL' : 0] as const
    const options = { store, kafka: kafka as never, runtime, administration, workers, verify } as const
    const mostSeen = draw.chance(0.3) ? draw.integer(1, 12) : Number.POSITIVE_INFINITY
    let seen = 0
    for await (const { state } of createRebuild(projection, { ...options, again: true, switch: 'WHEN_READY' }).run(
      operator,
    )) {
      if (state === 'LIVE') {
        rebuilding--
        reach(end < records.length ? 'rebuild: it switches while events arrive' : 'rebuild: it switches')
        return
      }
      if (++seen >= mostSeen) {
        reach('rebuild: it is killed')
        return
      }
    }
  }
  const rebuildAll = async (): Promise<void> => {
    while (rebuilding > 0) {
      await rebuild().catch(crashed)
      await timers.sleep(draw.integer(1, 2_000))
    }
  }

  await virtual.run(() => Promise.all([write(), consume(), consume(), rebuildAll(), rebuildAll()]))
  step(virtual.traceHash)
  return [...rows].flatMap(([key, wanted]) => {
    const found = JSON.stringify(store.find(projection.name, key))
    return found === JSON.stringify(wanted) ? [] : [{ invariant: 'I8', what: `by position, ${key} is ${found}` }]
  })
}

/** @throws anything but a simulated failure */
function crashed(error: unknown): false {
  if (error instanceof SimulatedCrash) return false
  throw error
}
