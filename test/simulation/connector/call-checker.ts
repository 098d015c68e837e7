/**
 * Checks at the start of every handler call whether it may start now.
 *
 * I3: not in an assignment that is over. I7 and the order of lanes. I12: not before its delay. I16 and I15: not while
 * paused. I17: not too many. I18: not after a stop. L5: not too far ahead of the commit.
 */

import { isFiltered } from './binding-plan.ts'
import type { CommitChecker } from './commit-checker.ts'
import { type Derived, type Evidence, type Original, placeName } from './evidence.ts'
import { FinishedDeliveries } from './finished-deliveries.ts'
import type { Ground } from './ground.ts'
import { type Call, type CallWatch, type HandlerJournal, type HandlerProcess, isGivenUp } from './handler-journal.ts'
import type { MarkChecker } from './mark-checker.ts'
import type { MoveChecker } from './move-checker.ts'
import { isKeyed, placesOf, waitingTopicOf } from './places.ts'
import { isSource } from './source-topic.ts'
import { headerNumber } from './topic-log.ts'

/** The last record that a lane started, in one assignment. */
interface LaneEnd {
  readonly offset: bigint
  readonly id: string
  readonly place: string
}

/** Dependencies of the checker. */
type Known = Ground & {
  now(): number
  readonly evidence: Evidence
  readonly journal: Pick<HandlerJournal, 'running'>
  readonly commits: Pick<CommitChecker, 'highest' | 'isExcused' | 'isSpoilt'>
  readonly marks: Pick<MarkChecker, 'begunAt' | 'mayPassOver'>
  readonly moves: Pick<MoveChecker, 'isUnderWay'>
  readonly connectors: ReadonlyMap<string, Pick<HandlerProcess, 'consumerWatches'>>
}

/** See the file's comment. */
export class CallChecker implements CallWatch {
  readonly #world: Known
  readonly #lanes = new Map<string, LaneEnd>()
  /** Offsets that lanes of batches started and that are not committed. */
  readonly #ahead = new Map<string, ReadonlySet<bigint>>()
  readonly #finished = new FinishedDeliveries()
  /** Time of the last completed call, by process and binding. */
  readonly #endedAt = new Map<string, number>()

  constructor(world: Known) {
    this.#world = world
  }

  started(call: Call): void {
    const original = this.#world.evidence.originals.get(call.id)
    if (original === undefined) return this.#violate('I10', call, 'names no record that was ever written')
    for (const watch of call.process.consumerWatches) watch.started(call.record)
    this.#checkProcess(call)
    this.#checkOwner(call)
    if (!call.isContinued) this.#checkBreaker(call)
    this.#checkAttempt(call)
    this.#checkInFlight(call)
    this.#checkAhead(call)
    this.#checkDelay(call)
    this.#checkFinished(call)
    if (isKeyed(call.binding)) this.#checkKeyOrder(call, original)
    else this.#checkLane(call)
    this.#note(call)
  }

  ended({ process, binding }: Call): void {
    this.#endedAt.set(`${process.name} ${binding.name}`, this.#world.sinceStart())
  }

  failed(call: Call): void {
    this.#finished.failed(call)
  }

  succeeded({ id, binding, record }: Call): void {
    const { court, evidence } = this.#world
    const { successes, deadLetters } = evidence.fate(id, binding)
    if (successes.size > 1 || !successes.has(placeName(record)))
      court.reach('handler: a record is handled again after it succeeded')
    if (deadLetters.length > 0) court.reach('dead letter: of a record that was handled well elsewhere')
  }

  #violate(invariant: string, { process, binding, id, record }: Call, what: string): void {
    this.#world.court.violate(
      invariant,
      `${process.name} ${binding.name} starts ${id} of ${placeName(record)}: ${what}`,
    )
  }

  #checkProcess(call: Call): void {
    const { process, binding, attempt } = call
    const begunAt = this.#world.marks.begunAt(call)
    // A started record may be retried until its partition is released.
    if (process.isDrainingAt(begunAt) && attempt === 1 && !call.isContinued)
      this.#violate('I18', call, 'its connector stops')
    if (binding.isDynamic && !process.has(binding.name)) this.#violate('I18', call, 'its binding was removed')
    if (process.state === 'STOPPED') this.#violate('I18', call, 'the connector has stopped')
    // A call may have been made before the pause, with a decoding that completes now.
    const pausedAt = process.paused.get(binding.name)
    if (pausedAt !== undefined && !call.isContinued) this.#violate('I15', call, 'an operator has paused the binding')
  }

  /** I3: a call starts before the end of its assignment. */
  #checkOwner(call: Call): void {
    const { binding, process, record } = call
    const place = placesOf(binding).find(({ topic }) => topic === record.topic)
    const { partition, epoch } = record
    const source = place?.source ?? record.topic
    const topic = place?.kind === 'WAITING' ? source : record.topic
    const isOwned = process.consumerWatches.some(
      (watch) => watch.groupId === place?.groupId && watch.holds({ topic, partition }, epoch),
    )
    if (!isOwned) this.#violate('I3', call, `its assignment ${epoch} is over`)
    const id = `${waitingTopicOf(source, binding)}.${partition}`
    if (isKeyed(binding) && !process.epochs.isConfirmed(binding.groupId, id))
      this.#violate('I3', call, `its group has not confirmed the epoch of ${id}`)
  }

  #checkBreaker(call: Call): void {
    const { process, binding } = call
    const { program } = this.#world
    // A binding that looks up a mark first was admitted before that, and the circuit may open meanwhile.
    if (binding.options.circuitBreaker?.enabled !== true || binding.deduplicate !== undefined) return
    // An event is decoded after its call is admitted: a call that ends at that moment may open the circuit before it
    // starts.
    if (program.areEvents && this.#endedAt.get(`${process.name} ${binding.name}`) === this.#world.sinceStart()) return
    const view = process.connector.listBindings().find(({ name }) => name === binding.name)
    if (view?.breaker === 'OPEN') this.#violate('I16', call, 'the circuit is open')
  }

  #checkAttempt(call: Call): void {
    const { maxAttempts = 3 } = call.binding.options.retry?.tier0 ?? {}
    if (call.attempt > maxAttempts) this.#violate('I11', call, `attempt ${call.attempt} of ${maxAttempts}`)
  }

  #checkInFlight(call: Call): void {
    const { maxInFlight = 64, parallelism } = call.binding.options
    if (parallelism === 'PARTITION') return
    let count = 1
    for (const other of this.#world.journal.running)
      if (other.process === call.process && other.binding === call.binding && !isGivenUp(other)) count++
    if (count > maxInFlight) this.#violate('I17', call, `${count} run, and ${maxInFlight} are allowed`)
  }

  /** Returns true when the committed offset belongs to another log than the record. */
  #isAdrift({ process, binding, record }: Call): boolean {
    const { commits } = this.#world
    const { topic, partition } = record
    return (
      this.#world.isUnaware(process.name, binding.groupId, record) ||
      commits.isSpoilt(binding.groupId, topic, partition)
    )
  }

  /** Returns the committed offset that the owner of a call can know of. */
  #committedFor({ binding, process, record }: Call): bigint {
    const place = placesOf(binding).find(({ topic }) => topic === record.topic)
    const watch = process.consumerWatches.find(
      (one) => one.groupId === place?.groupId && one.holds(record, record.epoch),
    )
    return this.#world.commits.highest(binding, record, watch?.holdsSince(record) ?? this.#world.now())
  }

  #checkAhead(call: Call): void {
    const { binding, record } = call
    const { maxAhead = 1_000 } = binding.options
    if (this.#isAdrift(call)) return
    // An owner that was notified of a cut counts from what it had settled, whether that was committed or not.
    if (this.#world.logCuts.of(record) !== undefined) return
    if (!isSource(record.topic) && isKeyed(binding)) return
    const floor = this.#committedFor(call)
    if (record.offset >= floor + BigInt(maxAhead))
      this.#violate('L5', call, `committed is ${floor}, and ${maxAhead} may be ahead`)
  }

  #checkDelay(call: Call): void {
    const { evidence, runtime, jumps } = this.#world
    if (isSource(call.record.topic) || jumps > 0 || call.attempt > 1) return
    const derived = evidence.derivedAt(placeName(call.record))
    if (derived === undefined) return
    const tiers = call.binding.options.retry?.tiers ?? []
    const delayMs = tiers[derived.tier - 1]?.delayMs ?? 0
    const dueMs =
      derived.place.kind === 'TIER'
        ? headerNumber(derived.record, 'x-eventbus-retry-timestamp') + delayMs
        : headerNumber(derived.record, 'x-eventbus-waiting-due')
    const now = runtime.clock.now()
    if (derived.waitingKind !== 'REPLAY' && now < dueMs - 1)
      this.#violate('I12', call, `it is due in ${dueMs - now} ms`)
  }

  /** L5: a clean stop leaves no permanently failed record to the next owner. */
  #checkFinished(call: Call): void {
    const { program, evidence } = this.#world
    const isUndisturbed = program.isCalm && program.obstruction === undefined
    if (!isUndisturbed || program.chaos.some(({ kind }) => kind === 'RECREATE_SOURCE')) return
    const before = this.#finished.before(call)
    if (before !== undefined && !evidence.fate(call.id, call.binding).isRepeated)
      this.#violate('L5', call, `${before.process.name} made the last attempt at it`)
  }

  /** I7: checks the order of calls for each key. */
  #checkKeyOrder(call: Call, original: Original): void {
    const { evidence, journal } = this.#world
    const { key } = original.plan
    if (key === null || original.isGone) return
    const { topic, partition, offset } = original.record
    for (const earlier of evidence.originals.values()) {
      const { record } = earlier
      if (earlier.plan.key !== key || record.topic !== topic || record.partition !== partition) continue
      if (record.offset >= offset || earlier.isGone) continue
      if (!this.#isOutOfTheWay(call, earlier))
        this.#violate(
          'I7',
          call,
          `${earlier.plan.id} at ${earlier.record.offset} of its key ${key} is neither handled nor dead`,
        )
    }
    for (const other of journal.running)
      if (other.owner === call.owner && other.binding === call.binding && !isGivenUp(other)) {
        const at = evidence.originals.get(other.id)
        if (at?.plan.key === key && at.record.topic === topic && at.record.partition === partition)
          this.#violate('I7', call, `${other.id} of its key still runs`)
      }
  }

  /** Returns when the partition was assigned to another process, which its owner may not have been notified of. */
  #replacedAt({ process, binding }: Call, { record }: Original): number {
    const sinceOf = ({ consumerWatches }: Pick<HandlerProcess, 'consumerWatches'>): number[] =>
      consumerWatches.flatMap((watch) => (watch.groupId === binding.groupId ? (watch.holdsSince(record) ?? []) : []))
    const own = Math.max(...sinceOf(process))
    return Math.min(...[...this.#world.connectors.values()].flatMap(sinceOf).filter((since) => since > own))
  }

  #isOutOfTheWay(call: Call, earlier: Original): boolean {
    const { binding } = call
    const { commits, marks } = this.#world
    if (commits.isExcused(binding.groupId, earlier.record)) return true
    const { successes, deadLetters, releases, isPassedOver } = this.#world.evidence.fate(earlier.plan.id, binding)
    if (isPassedOver || isFiltered(binding, earlier.plan) || marks.mayPassOver(binding, earlier)) return true
    if (earlier.plan.content === 'UNHANDLED' || successes.size > 0) return true
    if (deadLetters.length === 0) return false
    if (binding.options.keyOrder?.onDeadKey !== 'BLOCK') return true
    const isReleased = (deaths: readonly Derived[]): boolean => {
      const died = Math.max(...deaths.map(({ replayCount }) => replayCount))
      return deaths.length > 0 && releases.some((count) => count >= died)
    }
    if (isReleased(deadLetters)) return true
    // An owner that was replaced may not know of a replay that died elsewhere since.
    const replacedAt = this.#replacedAt(call, earlier)
    return isReleased(deadLetters.filter(({ foundAt }) => foundAt <= replacedAt))
  }

  #checkLane(call: Call): void {
    const { binding, owner, process, record } = call
    const { parallelism, orderingMode, ackMode, listenerType } = binding.options
    const key = record.key?.toString()
    if (parallelism === 'UNORDERED' || (parallelism === 'KEY' && key === undefined)) return
    const { topic, partition, offset } = record
    const lane = `${owner} ${binding.name} ${topic}-${partition}${parallelism === 'KEY' ? ` ${key}` : ''}`
    for (const other of this.#world.journal.running)
      if (other.owner === owner && other.binding === binding && !isGivenUp(other))
        if (other.record.topic === topic && other.record.partition === partition)
          if (parallelism !== 'KEY' || other.record.key?.toString() === key)
            this.#violate('I7', call, `${other.id} of its lane still runs`)
    // A lookup pending when a move begins starts its call after that, and belongs to the state before the move.
    if (binding.deduplicate !== undefined && this.#world.moves.isUnderWay(process.name, topic)) return
    const last = this.#lanes.get(lane)
    this.#lanes.set(lane, { offset, id: call.id, place: placeName(record) })
    const isBatch = listenerType === 'BATCH' && isSource(topic)
    // A log that was cut is read again, as far as its records are left.
    if (this.#world.logCuts.of(record) !== undefined) return
    if (isBatch && !this.#isAdrift(call)) this.#checkBatch(call, lane)
    if (last === undefined || last.offset === offset) return
    if (last.offset > offset) this.#violate('I7', call, `${last.offset} of its lane was started before`)
    if (orderingMode === 'STRICT') this.#checkConfirmed(call, last)
    if (
      ackMode === 'MANUAL_IMMEDIATE' &&
      parallelism === 'PARTITION' &&
      !isBatch &&
      !this.#isAdrift(call) &&
      this.#committedFor(call) <= last.offset
    )
      this.#violate('C-28', call, `${last.offset} before it is not committed`)
  }

  /** L5: the records that run and are not committed fit in one batch. */
  #checkBatch(call: Call, lane: string): void {
    const { binding, record } = call
    const { maxPollRecords = 200 } = binding.options
    const committed = this.#committedFor(call)
    const ahead = new Set(this.#ahead.get(lane)).add(record.offset)
    for (const offset of ahead) if (offset < committed) ahead.delete(offset)
    this.#ahead.set(lane, ahead)
    if (ahead.size > 1) this.#world.court.reach('batch: more than one record of it is not committed')
    if (ahead.size > maxPollRecords)
      this.#violate('L5', call, `${ahead.size} of its partition are not committed, and a batch is ${maxPollRecords}`)
  }

  /** STRICT: every earlier record has its outcome, and that outcome is in a log. */
  #checkConfirmed(call: Call, last: LaneEnd): void {
    const { evidence, marks } = this.#world
    const { successes, deadLetters } = evidence.fate(last.id, call.binding)
    const original = evidence.originals.get(last.id)
    if (original !== undefined && marks.mayPassOver(call.binding, original)) return
    if (successes.has(last.place) || deadLetters.length > 0) return
    if (call.binding.options.failureProfile === 'BEST_EFFORT_SKIP') return
    this.#violate('I7', call, `${last.id} before it is neither handled nor a dead letter`)
  }

  #note(call: Call): void {
    const { court, journal, evidence } = this.#world
    for (const other of journal.running)
      if (other.id === call.id && other.binding === call.binding && other.process !== call.process) {
        court.reach('handler: a record is handled by two processes at once')
        if (isGivenUp(other)) court.reach('handler: it outlives its partition')
      }
    const derived = evidence.derivedAt(placeName(call.record))
    const { lateTopic, topics } = this.#world.program
    if (topics.indexOf(call.record.topic) > 0) court.reach('topic: a record of a second one is handled')
    if (call.record.topic === lateTopic?.topic) court.reach('topic: one that came late is read')
    const tiers = call.binding.options.retry?.tiers?.length ?? 0
    if (derived?.place.kind === 'TIER' && derived.tier === tiers && tiers > 1)
      court.reach('tier: a record comes to the last one')
    if ((derived?.replayCount ?? 0) > 0 && isKeyed(call.binding)) court.reach('waiting: a replay is delivered')
  }
}
