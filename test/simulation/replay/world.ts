/** The world of a seed: the cluster, its logs, the replaying processes, and the checks on them. */

import { Buffer } from 'node:buffer'
import type { VirtualRuntime } from '@waybill/sim'
import type { AcceptedCommit } from '@waybill/sim/internal'
import { headerNumber, headerText, type LogRecord, TopicLog } from '../connector/topic-log.ts'
import { ClusterWorld } from '../world/cluster-world.ts'
import type { Trace } from '../world/run-world.ts'
import {
  deadLetterTopic,
  groupId,
  isCalm,
  type LetterPlan,
  type Program,
  replayGroupId,
  sourceTopic,
  targetTopic,
  tierTopic,
} from './program.ts'
import type { RareState } from './rare-states.ts'

/** See the file's comment. */
export class World extends ClusterWorld<Program, RareState> {
  readonly #plans: ReadonlyMap<string, LetterPlan>
  readonly #letters: readonly TopicLog[]
  readonly #targets: readonly TopicLog[]
  /** Copies in the log, by the value of their dead letter. */
  readonly #copies = new Map<string, number>()
  readonly #committed = new Map<number, bigint>()
  #lastCommitter: string | undefined

  constructor(runtime: VirtualRuntime, program: Program, trace: Trace | undefined) {
    super(runtime, program, trace)
    const { partitions } = program
    for (const topic of [sourceTopic, deadLetterTopic, tierTopic]) this.cluster.createTopic(topic, { partitions })
    const logsOf = (topic: string): TopicLog[] =>
      Array.from({ length: partitions }, (_, partition) => new TopicLog(this.cluster, topic, partition))
    this.#letters = logsOf(deadLetterTopic)
    this.#targets = logsOf(targetTopic(program))
    this.#plans = new Map(program.letters.map((plan) => [plan.value, plan]))
  }

  /** Returns a dead letter as its engine would have written it. */
  recordOf(plan: LetterPlan): { key: null; value: Buffer; headers: (readonly [string, Buffer])[] } {
    const { kind, value, replayCount } = plan
    const now = this.runtime.clock.now()
    const texts: (readonly [string, string])[] = [
      ['x-eventbus-original-topic', sourceTopic],
      ['x-eventbus-original-partition', '0'],
      ['x-eventbus-original-offset', '7'],
      ['x-eventbus-original-timestamp', String(now)],
      ['x-eventbus-consumer-group', kind === 'FOREIGN' ? 'others' : groupId],
      ...(replayCount > 0 ? [['x-eventbus-replay-count', String(replayCount)] as const] : []),
      ['x-eventbus-dlt-reason', 'RETRIES_EXHAUSTED'],
      ['x-eventbus-dlt-timestamp', String(now)],
      ...(kind === 'DAMAGED' ? [['x-eventbus-dlt-format', 'ENVELOPE'] as const] : []),
    ]
    return { key: null, value: Buffer.from(value), headers: texts.map(([name, text]) => [name, Buffer.from(text)]) }
  }

  /** Reads the records written since the last call. */
  readOn(): void {
    for (const log of this.#letters) log.readOn()
    for (const log of this.#targets) for (const copy of log.readOn()) this.#checkCopy(copy)
  }

  /** Describes what is not replayed yet; undefined when everything is. */
  obstacle(): string | undefined {
    this.readOn()
    for (const { partition, end, records } of this.#letters)
      if ((this.#committed.get(partition) ?? 0n) < end)
        return `${partition}: ${this.#committed.get(partition)} of ${end}, ${records.length} dead letters`
    const written = this.#letters.reduce((sum, { records }) => sum + records.length, 0)
    return written < this.program.letters.length ? 'not all dead letters are written' : undefined
  }

  /** Checks that every replayable dead letter has a copy, and has two only after a fault. */
  judge(): void {
    this.readOn()
    for (const { value, kind } of this.program.letters) {
      const copies = this.#copies.get(value) ?? 0
      if (kind === 'OWN' && copies === 0) this.court.violate('I11', `${value} was never replayed`)
      if (copies > 1) this.court.reach('copy: it is repeated')
      if (copies > 1 && isCalm(this.program)) this.court.violate('I11', `${value} has ${copies} copies without a fault`)
      if (kind === 'FOREIGN') this.court.reach('skip: of another group')
      if (kind === 'SPENT') this.court.reach('skip: replayed too often')
      if (kind === 'DAMAGED') this.court.reach('skip: damaged')
    }
  }

  protected override accepted({ groupId: group, offsets, memberId }: AcceptedCommit): void {
    if (group !== replayGroupId) return
    this.readOn()
    if (this.#lastCommitter !== undefined && this.#lastCommitter !== memberId)
      this.court.reach('replay: two take turns')
    this.#lastCommitter = memberId
    for (const { topic, partition, offset } of offsets) {
      if (topic !== deadLetterTopic) continue
      const log = this.#letters[partition] as TopicLog
      if (offset > log.end)
        this.court.violate('I2', `${partition}: committed ${offset}, and the log ends at ${log.end}`)
      for (const letter of log.records) if (letter.offset < offset) this.#checkDecided(letter, offset)
      this.#committed.set(partition, offset)
    }
  }

  #checkDecided({ place, value }: LogRecord, committed: bigint): void {
    const plan = this.#plans.get(String(value))
    if (plan?.kind === 'OWN' && !this.#copies.has(plan.value))
      this.court.violate('I11', `${place} is below the position ${committed} and has no copy`)
  }

  #checkCopy(copy: LogRecord): void {
    const value = String(copy.value)
    const plan = this.#plans.get(value)
    const { court, program } = this
    if (plan === undefined) return court.violate('I11', `${copy.place} is a copy of nothing: ${value}`)
    this.#copies.set(value, (this.#copies.get(value) ?? 0) + 1)
    if (plan.kind !== 'OWN') court.violate('I11', `${copy.place} is a copy of ${value}, which is ${plan.kind}`)
    const count = headerNumber(copy, 'x-eventbus-replay-count')
    if (count !== plan.replayCount + 1)
      court.violate('I11', `${copy.place} has the replay count ${count} instead of ${plan.replayCount + 1}`)
    if (count > program.maxReplays) court.violate('I11', `${copy.place} is replayed for the ${count}th time`)
    if (headerText(copy, 'x-eventbus-consumer-group') !== groupId)
      court.violate('C-71', `${copy.place} names another group`)
    if (copy.headers.some(([name]) => name.startsWith('x-eventbus-dlt-')))
      court.violate('C-20', `${copy.place} is still a dead letter by its headers`)
    this.#checkAge(copy)
    return undefined
  }

  #checkAge(copy: LogRecord): void {
    const { by, cooldownMs } = this.program
    if (by !== 'SCHEDULES') return
    const letters = this.#letters.flatMap(({ records }) => records)
    const letter = letters.find(({ value }) => String(value) === String(copy.value))
    const ageMs = copy.timestamp - headerNumber(letter ?? copy, 'x-eventbus-dlt-timestamp')
    if (ageMs < cooldownMs) this.court.violate('S0-138', `${copy.place} is replayed after ${ageMs} of ${cooldownMs} ms`)
  }
}
