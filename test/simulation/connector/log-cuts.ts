/**
 * Unclean elections of a seed, drawn from a stream of their own, and which owners know that their log was cut.
 *
 * A partition of the source loses its last records under a new leader. A group's commits no longer say what it had
 * read of them, until its owner has been notified of the cut.
 */

import { createSeededRandom } from '@waybill/core/internal'
import type { TopicPartition } from '@waybill/kafka'
import { Draw } from '../draw.ts'
import type { BindingPlan } from './binding-plan.ts'
import type { CommittedState } from './committed-state.ts'

/** One unclean election, of a log that is picked among those of the source by a number below 1. */
export interface LogCutPlan {
  readonly atMs: number
  readonly log: number
  /** The share of the log that is left. */
  readonly keeps: number
}

/** One cut of a log. */
export interface LogCut {
  readonly at: number
  /** The end of what is left. */
  readonly end: bigint
}

/** The parts of a program that decide about cuts. */
interface CutRange {
  readonly isCalm: boolean
  readonly areEvents: boolean
  readonly chaosMs: number
  readonly chaos: readonly { readonly kind: string }[]
  readonly bindings: readonly BindingPlan[]
}

const cutStream = 0xa54ff53a

/** Changes and options that leave nothing to check after a cut. */
const excluded: ReadonlySet<string> = new Set(['RECREATE_SOURCE', 'DELETE_RECORDS', 'SEEK', 'SKIP', 'RESET', 'REPLAY'])

/** Draws the cuts of a seed: most have none. */
export function drawLogCuts(seed: number, range: CutRange): LogCutPlan[] {
  const draw = new Draw(createSeededRandom(seed ^ cutStream))
  const isDrawn = draw.chance(0.25)
  const count = draw.pick([1, 1, 2, 3])
  const cuts = Array.from({ length: count }, () => ({
    atMs: draw.ms(200, range.chaosMs),
    log: draw.between(0, 1),
    keeps: draw.chance(0.5) ? draw.between(0.6, 1) : draw.between(0, 1),
  }))
  return isDrawn && isFit(range) ? cuts : []
}

function isFit({ isCalm, chaos, bindings, areEvents }: CutRange): boolean {
  if (isCalm || areEvents || chaos.some(({ kind }) => excluded.has(kind))) return false
  return bindings.every(isPlain)
}

/** With order per key, copies of records that the log lost wait until it is as long again. */
function isPlain({ options, deduplicate }: BindingPlan): boolean {
  return options.startFrom === 'EARLIEST' && options.orderingMode !== 'KEY' && deduplicate === undefined
}

/** When a member was assigned a partition, and when it was last notified that the log lacks its position. */
export interface CutWitness {
  readonly groupId: string
  holdsSince(partition: TopicPartition): number | undefined
  lostAt(partition: TopicPartition): number | undefined
}

/** The cuts so far. */
export class LogCuts {
  readonly #cuts = new Map<string, LogCut[]>()
  /** When a group first committed what a log is since its last cut. */
  readonly #committedAt = new Map<string, number>()
  readonly #outlived = new Set<string>()

  /** Records a cut. */
  note({ topic, partition }: TopicPartition, cut: LogCut): void {
    const name = `${topic}-${partition}`
    this.#cuts.set(name, [...(this.#cuts.get(name) ?? []), cut])
  }

  /** Returns the last cut of a log; undefined when it has all that was ever acknowledged. */
  of({ topic, partition }: TopicPartition): LogCut | undefined {
    return this.#cuts.get(`${topic}-${partition}`)?.at(-1)
  }

  /**
   * Returns the least that was left of a log by any cut since a group last committed what the log was; undefined when none
   * has followed. An owner that is notified after two cuts may have sent a commit that knows neither.
   */
  leastSinceCommit(groupId: string, partition: TopicPartition): bigint | undefined {
    const committedAt = this.#committedAt.get(nameOf(groupId, partition)) ?? 0
    const unseen = this.#cuts.get(`${partition.topic}-${partition.partition}`)?.filter(({ at }) => at >= committedAt)
    return unseen?.map(({ end }) => end).reduce<bigint | undefined>(lower, undefined)
  }

  /**
   * Records what a group had committed of a log that is cut. A commit whose position is left names no record that is gone,
   * so that nothing tells its reader of the cut: offsets that it says were settled above its position keep meaning so.
   */
  outlived(groupId: string, partition: TopicPartition, state: CommittedState | undefined): void {
    const end = this.of(partition)?.end ?? 0n
    if (state === undefined || state.source.position > end) return
    for (const offset of state.source.above)
      if (offset >= end) this.#outlived.add(`${nameOf(groupId, partition)}@${offset}`)
  }

  /** Returns true for a record at an offset that a group had settled before the cut. */
  hasOutlived(groupId: string, at: TopicPartition & { readonly offset: bigint }): boolean {
    return this.#outlived.has(`${nameOf(groupId, at)}@${at.offset}`)
  }

  /** Records that a group's commit describes what a log is since its last cut. */
  committed(groupId: string, partition: TopicPartition, at: number): void {
    const name = nameOf(groupId, partition)
    const cut = this.of(partition)
    if (cut !== undefined && (this.#committedAt.get(name) ?? 0) <= cut.at) this.#committedAt.set(name, at)
  }

  /**
   * Returns true while no member of a process was notified of the last cut, and none has begun after it where that says
   * nothing else.
   *
   * @param committed - the committed offset of the group
   */
  isUnknownTo(
    witnesses: readonly CutWitness[],
    groupId: string,
    partition: TopicPartition,
    committed: bigint,
  ): boolean {
    const cut = this.of(partition)
    if (cut === undefined) return false
    const committedAt = this.#committedAt.get(nameOf(groupId, partition)) ?? 0
    const isKnown = committedAt > cut.at
    return !witnesses.some((one) => {
      if (one.groupId !== groupId) return false
      const since = one.holdsSince(partition) ?? 0
      const hasBegun = isKnown ? since > committedAt : since > cut.at && committed <= cut.end
      return hasBegun || (one.lostAt(partition) ?? 0) > cut.at
    })
  }

  /** Returns true when a member of a process was notified that its log was cut, and reads it again. */
  isReadAgainBy(witnesses: readonly CutWitness[], groupId: string, partition: TopicPartition): boolean {
    const cut = this.of(partition)
    if (cut === undefined) return false
    return witnesses.some((one) => one.groupId === groupId && (one.lostAt(partition) ?? 0) > cut.at)
  }
}

function nameOf(groupId: string, { topic, partition }: TopicPartition): string {
  return `${groupId} ${topic}-${partition}`
}

function lower(one: bigint | undefined, other: bigint): bigint {
  return one === undefined || other < one ? other : one
}
