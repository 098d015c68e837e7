import { type Runtime, systemRuntime } from '@waybill/core'
import { durationMs, func, instance, integer, number, type Rule, resolveOptions } from '@waybill/core/option'
import type { AcceptedCommit } from './group-coordinator.ts'

/** How a simulated cluster is made. */
export interface SimClusterOptions {
  /**
   * How many nodes it has. Their addresses are `sim:1`, `sim:2` and so on.
   * @defaultValue 1
   */
  brokers?: number
  /**
   * Its time and chance. On a virtual runtime a run repeats exactly for the same seed.
   * @defaultValue the system's
   */
  runtime?: Runtime
  /**
   * Longest time a request, and then its answer, is on its way; each is drawn below it. The system's timers make at least
   * a millisecond of it.
   * @defaultValue 1
   */
  latencyMs?: number
  /**
   * How long after a transaction's end its markers are in the partitions. Until then the next transaction of its producer
   * is turned away.
   * @defaultValue 1
   */
  markerDelayMs?: number
  /** Is called for each accepted commit of offsets; for those of a transaction, when it commits. */
  onCommit?: (commit: AcceptedCommit) => void
  /** Is called whenever the log of a partition has changed: appended to, deleted from or compacted. */
  onLogChange?: (topic: string, partition: number) => void
}

/** {@link SimClusterOptions} with nothing left open. */
export type ResolvedSimClusterOptions = Readonly<Required<SimClusterOptions>>

const rules: { readonly [K in keyof SimClusterOptions]-?: Rule<Required<SimClusterOptions>[K]> } = {
  brokers: integer({ default: 1, min: 1, max: 100, because: 'most programs need one' }),
  runtime: instance<Runtime>('a Runtime', (value) => typeof value === 'object' && value !== null, {
    default: systemRuntime,
    because: 'a cluster for demos and tests runs in real time',
  }),
  latencyMs: number({
    default: 1,
    min: 0,
    because: 'what a local network takes; on a virtual clock it is also what lets time pass',
  }),
  markerDelayMs: durationMs({ default: 1, because: 'a program must cope with it, and a broker takes about as long' }),
  onCommit: func<(commit: AcceptedCommit) => void>({ default: () => {}, because: 'only simulations check commits' }),
  onLogChange: func<(topic: string, partition: number) => void>({
    default: () => {},
    because: 'only simulations read logs as they grow',
  }),
}

/** Applies defaults and checks. */
export function resolveSimClusterOptions(given: SimClusterOptions): ResolvedSimClusterOptions {
  return resolveOptions('Simulated cluster options', rules, given)
}
