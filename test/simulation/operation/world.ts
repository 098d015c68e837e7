/** The world of a seed: the cluster, its logs, the store of operations, and the checks on them. */

import { Buffer } from 'node:buffer'
import {
  createMemoryOperationStore,
  isFinal,
  type LogRangeJson,
  type OperationStore,
  rangeFromJson,
  type StoredOperation,
  type TakenOperation,
} from '@waybill/core/internal'
import type { VirtualRuntime } from '@waybill/sim'
import { headerText, type LogRecord, TopicLog } from '../connector/topic-log.ts'
import { ClusterWorld } from '../world/cluster-world.ts'
import type { Trace } from '../world/run-world.ts'
import {
  deadLetterTopic,
  groupId,
  isCalm,
  type LetterPlan,
  type OperationPlan,
  type Program,
  sourceTopic,
  tierTopic,
} from './program.ts'
import type { RareState } from './rare-states.ts'

/** An operation that was created. */
export interface CreatedOperation {
  readonly id: string
  readonly plan: OperationPlan
  /** The ends of the dead letter topic before it was created. */
  readonly before: readonly bigint[]
}

/** See the file's comment. */
export class World extends ClusterWorld<Program, RareState> {
  readonly store: OperationStore
  readonly operations: CreatedOperation[] = []
  /** False once all faults are over. */
  isStormy = true
  readonly #plans: ReadonlyMap<string, LetterPlan>
  readonly #letters: readonly TopicLog[]
  readonly #targets: readonly TopicLog[]

  constructor(runtime: VirtualRuntime, program: Program, trace: Trace | undefined) {
    super(runtime, program, trace)
    const { partitions } = program
    for (const topic of [sourceTopic, deadLetterTopic, tierTopic]) this.cluster.createTopic(topic, { partitions })
    const logsOf = (topic: string): TopicLog[] =>
      Array.from({ length: partitions }, (_, partition) => new TopicLog(this.cluster, topic, partition))
    this.#letters = logsOf(deadLetterTopic)
    this.#targets = [...logsOf(sourceTopic), ...logsOf(tierTopic)]
    this.#plans = new Map(program.letters.map((plan) => [plan.value, plan]))
    // Its clock is that of the database, whatever the clocks of the processes do.
    this.store = createMemoryOperationStore({ runtime })
  }

  /** Returns a dead letter as its engine would have written it. */
  recordOf(plan: LetterPlan): { key: null; value: Buffer; headers: (readonly [string, Buffer])[] } {
    const { kind, value, event } = plan
    const now = this.runtime.clock.now()
    const texts: (readonly [string, string])[] = [
      ['eventType', event],
      ['x-eventbus-original-topic', sourceTopic],
      ['x-eventbus-original-partition', '0'],
      ['x-eventbus-original-offset', '7'],
      ['x-eventbus-original-timestamp', String(now)],
      ['x-eventbus-consumer-group', kind === 'FOREIGN' ? 'others' : groupId],
      ...(kind === 'SPENT' ? [['x-eventbus-replay-count', String(this.program.maxReplays)] as const] : []),
      ['x-eventbus-dlt-reason', 'RETRIES_EXHAUSTED'],
      ['x-eventbus-dlt-timestamp', String(now)],
      ...(kind === 'DAMAGED' ? [['x-eventbus-dlt-format', 'ENVELOPE'] as const] : []),
    ]
    return { key: null, value: Buffer.from(value), headers: texts.map(([name, text]) => [name, Buffer.from(text)]) }
  }

  letterEnds(): readonly bigint[] {
    for (const log of this.#letters) log.readOn()
    return this.#letters.map(({ end }) => end)
  }

  created(operation: CreatedOperation): void {
    this.operations.push(operation)
  }

  /** Observes a process that takes an operation. */
  taken({ isTakeover, intended }: TakenOperation): void {
    if (!isTakeover) return
    this.court.reach(intended.length > 0 ? 'takeover: a batch is unsettled' : 'takeover: nothing is unsettled')
  }

  /** Checks every operation against the logs. */
  async judge(): Promise<void> {
    this.letterEnds()
    for (const log of this.#targets) log.readOn()
    const copies = this.#targets.flatMap(({ records }) => records)
    const known = new Set(this.operations.map(({ id }) => id))
    for (const copy of copies)
      if (!known.has(headerText(copy, 'x-eventbus-replay-operation') ?? ''))
        this.court.violate('I11', `${copy.place} is of no operation`)
    for (const created of this.operations) {
      const operation = await this.store.get(created.id)
      if (operation === undefined) this.court.violate('I11', `${created.id} is gone`)
      else {
        await this.#checkItems(operation)
        this.#judge(
          created,
          operation,
          copies.filter((copy) => isOf(copy, created.id)),
        )
      }
    }
  }

  protected override accepted(): void {}

  async #checkItems({ id, progress }: StoredOperation): Promise<void> {
    const { items } = await this.store.items(id, 'MAY_REPEAT', { limit: 10_000 })
    if (BigInt(items.length) > progress.mayBeRepeated)
      this.court.violate('I11', `${id} names ${items.length} of ${progress.mayBeRepeated} that may be repeated`)
    if (items.some(({ detail }) => !detail.startsWith('the runner before')))
      this.court.reach('copy: its outcome is unknown')
  }

  #judge({ plan, before }: CreatedOperation, operation: StoredOperation, copies: readonly LogRecord[]): void {
    const { court, program } = this
    const { id, state, progress } = operation
    if (!isFinal(state)) court.violate('L1', `${id} is ${state}`)
    if (state === 'FAILED') court.violate('L1', `${id} failed: ${operation.trouble?.message}`)
    if (state === 'CANCELLED') court.reach('operation: it is cancelled')
    const ranges = (operation.plan as { readonly ranges: readonly LogRangeJson[] }).ranges.map(rangeFromJson)
    const expected = new Map<string, number>()
    for (const { partition, end, records } of this.#letters) {
      const range = ranges.find((one) => one.partition === partition)
      const until = range?.until ?? 0n
      if ((range?.from ?? 0n) !== 0n || until < (before[partition] ?? 0n) || until > end)
        court.violate('I11', `${id} froze ${partition} until ${until}, and the log ended at ${before[partition]}`)
      for (const { offset, value } of records) {
        const letter = this.#plans.get(String(value))
        if (offset >= until) court.reach('letter: it comes after the operation')
        else if (letter?.kind === 'OWN' && (plan.event ?? letter.event) === letter.event)
          expected.set(letter.value, (expected.get(letter.value) ?? 0) + 1)
      }
    }
    const found = new Map<string, number>()
    for (const { value } of copies) found.set(String(value), (found.get(String(value)) ?? 0) + 1)
    let repeated = 0
    for (const [value, count] of found) {
      const most = expected.get(value)
      if (most === undefined) court.violate('I11', `${id} sent ${value}, which it does not hold`)
      else repeated += Math.max(0, count - most)
    }
    if (repeated > 0) court.reach('copy: it is repeated')
    if (BigInt(repeated) > progress.mayBeRepeated)
      court.violate('I11', `${id} sent ${repeated} again, and says ${progress.mayBeRepeated}`)
    if (isCalm(program) && (repeated > 0 || progress.mayBeRepeated > 0n))
      court.violate('I11', `${id} repeated ${repeated} and ${progress.mayBeRepeated} without a fault`)
    if (state !== 'DONE') return
    for (const [value, least] of expected)
      if ((found.get(value) ?? 0) < least) court.violate('I11', `${id} is DONE and did not send ${value}`)
    const sum = [...expected.values()].reduce((all, one) => all + one, 0)
    if (progress.sent !== BigInt(sum)) court.violate('I11', `${id} says ${progress.sent} of ${sum} sent`)
  }
}

function isOf(copy: LogRecord, id: string): boolean {
  return headerText(copy, 'x-eventbus-replay-operation') === id
}
