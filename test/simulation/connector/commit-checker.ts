/**
 * Looks at every commit the cluster accepts, at the moment it does.
 *
 * I1: every offset that it says is settled is so, by the journal of handlers and by the logs. I2: it does not move back but
 * for a late one of the same owner, and does not pass the end. I3: nobody else has been given the partition. I20: the sums of
 * the audit hold, and nothing is counted that there is not.
 */

import { decodeAssignment } from '@waybill/kafka/wire'
import type { AcceptedCommit, CommittedOffset } from '@waybill/sim'
import type { BindingPlan } from './binding-plan.ts'
import { type CommittedLedger, type CommittedState, imbalanceOf, isSettledIn, readState } from './committed-state.ts'
import { type Derived, type Evidence, type Fate, maySkip, placeName } from './evidence.ts'
import type { Ground } from './ground.ts'
import { isKeyed, type Place, placesOf } from './places.ts'
import { sourceTopic } from './program.ts'
import type { LogRecord, TopicLog } from './topic-log.ts'

/** What a group has committed of a partition. */
export interface LastCommit {
  readonly offset: bigint
  readonly memberId: string
  readonly generationId: number
  readonly state: CommittedState | undefined
}

/** How a record can be settled. */
interface Ways {
  readonly ok: boolean
  readonly retried: boolean
  readonly dead: boolean
  readonly skipped: boolean
}

/** What it looks at. */
type Known = Ground & { readonly evidence: Evidence }

/** See the file's comment. */
export class CommitChecker {
  readonly #world: Known
  readonly #places = new Map<string, Place>()
  readonly #last = new Map<string, LastCommit>()
  readonly #highest = new Map<string, bigint>()

  constructor(world: Known) {
    this.#world = world
    for (const binding of world.program.bindings)
      for (const place of placesOf(binding)) this.#places.set(`${place.groupId} ${place.topic}`, place)
  }

  last(groupId: string, topic: string, partition: number): LastCommit | undefined {
    return this.#last.get(`${groupId} ${topic}-${partition}`)
  }

  /** The highest offset ever accepted for the partition that a record lies in. */
  highest(binding: BindingPlan, { topic, partition }: { readonly topic: string; readonly partition: number }): bigint {
    const place = placesOf(binding).find((one) => one.topic === topic)
    return this.#highest.get(`${place?.groupId} ${topic}-${partition}`) ?? 0n
  }

  accepted(commit: AcceptedCommit): void {
    const { court, evidence, runtime } = this.#world
    this.#world.discover()
    evidence.update()
    this.#checkOwner(commit)
    for (const offset of commit.offsets) {
      const place = this.#places.get(`${commit.groupId} ${offset.topic}`)
      if (place === undefined) continue
      court.note(
        'cluster',
        () => `accepts ${placeName(offset)} of ${commit.groupId} from ${commit.client}: ${offset.metadata}`,
      )
      runtime.note(placeName(offset))
      this.#check(commit, offset, place)
    }
  }

  #check(commit: AcceptedCommit, committed: CommittedOffset, place: Place): void {
    const { court } = this.#world
    const { topic, partition, offset, metadata } = committed
    const name = `${commit.groupId} ${topic}-${partition}`
    const log = this.#world.log(topic, partition) as TopicLog
    if (offset > log.end) court.violate('I2', `${name} is committed up to ${offset}, behind its end`)
    const state = place.kind === 'WAITING' ? undefined : readState(offset, metadata)
    this.#noteOwner(commit, place, log)
    this.#checkOrder(commit, offset, name, state)
    if ((this.#highest.get(name) ?? 0n) < offset) this.#highest.set(name, offset)
    if (place.kind === 'WAITING') return
    if (state === undefined) return court.violate('I20', `${name} is committed with ${JSON.stringify(metadata)}`)
    const imbalance = imbalanceOf(state)
    if (imbalance !== undefined) court.violate('I20', `${name} at ${offset}: ${imbalance} (${metadata})`)
    this.#checkCounts(name, log, state.source, (record) => this.#ways(place, record, state))
    if (state.waiting !== undefined) this.#checkWaiting(place, partition, state.waiting)
  }

  /** Everything that is settled is settled in one way, and each way is counted at most as often as it was gone. */
  #checkCounts(name: string, log: TopicLog, ledger: CommittedLedger, waysOf: (record: LogRecord) => Ways): void {
    const { court } = this.#world
    const most = { ok: 0, retried: 0, dead: 0, skipped: 0 }
    for (const record of log.records) {
      if (!isSettledIn(ledger, record.offset)) continue
      const ways = waysOf(record)
      if (!ways.ok && !ways.retried && !ways.dead && !ways.skipped)
        return court.violate(
          'I1',
          `${name} is committed up to ${ledger.position}, but ${placeName(record)} is not settled`,
        )
      for (const way of ['ok', 'retried', 'dead', 'skipped'] as const) if (ways[way]) most[way]++
    }
    if (ledger.above.size > 0) court.reach('commit: offsets above it are settled')
    if (ledger.since !== 0n) court.violate('I20', `${name} forgets what was counted before ${ledger.since}`)
    if (ledger.holes > 0) court.violate('I20', `${name} counts ${ledger.holes} holes, and there is none`)
    for (const way of ['ok', 'retried', 'dead', 'skipped'] as const)
      if (ledger[way] > most[way])
        court.violate('I20', `${name} counts ${ledger[way]} ${way}, and there are at most ${most[way]}`)
  }

  #ways(place: Place, record: LogRecord, state: CommittedState): Ways {
    const { evidence } = this.#world
    const { binding } = place
    const original =
      place.kind === 'SOURCE' ? evidence.originalAt(record.partition, record.offset) : evidence.originalOf(record)
    const fate = original?.fates.get(binding.groupId)
    if (original === undefined || fate === undefined)
      return { ok: false, retried: false, dead: false, skipped: place.kind === 'TIER' }
    const derived = evidence.derivedAt(record)
    return {
      ok: fate.successes.has(placeName(record)),
      retried: isKeyed(binding)
        ? this.#isKept(fate, state, record, maySkip(binding, original, fate))
        : fate.hops.some((hop) => derived === undefined || isLater(hop, derived)),
      dead: fate.deadLetters.length > 0,
      skipped: maySkip(binding, original, fate),
    }
  }

  /** What left the source for the waiting topic succeeded there, died, or is there still and not settled. */
  #isKept(fate: Fate, { waiting }: CommittedState, record: LogRecord, isOver: boolean): boolean {
    const waited = fate.hops.some(({ record: copy }) => copy.partition === record.partition)
    if (!waited || waiting === undefined) return false
    if (isOver || fate.successes.size > 0 || fate.deadLetters.length > 0) return true
    return fate.hops.some(
      ({ waitingKind, record: copy }) => waitingKind === 'HELD' && !isSettledIn(waiting, copy.offset),
    )
  }

  #checkWaiting(place: Place, partition: number, waiting: NonNullable<CommittedState['waiting']>): void {
    const { court, evidence } = this.#world
    const topic = `${sourceTopic}.${place.binding.groupId}.waiting`
    const log = this.#world.log(topic, partition)
    const name = `${topic}-${partition}`
    if (log === undefined || waiting.position > log.end)
      return court.violate('I2', `${name} is settled up to ${waiting.position}, behind its end`)
    if (waiting.since !== 0n) court.violate('I20', `${name} forgets what was counted before ${waiting.since}`)
    if (waiting.holes > 0) court.violate('I20', `${name} counts ${waiting.holes} holes, and there is none`)
    for (const record of log.records) {
      if (!isSettledIn(waiting, record.offset)) continue
      const derived = evidence.derivedAt(record)
      if (derived?.waitingKind === 'REPLAY' && !this.#isReplayOver(derived, waiting))
        court.violate(
          'I1',
          `${name} is settled up to ${waiting.position}, but the replay at ${record.offset} is not over`,
        )
    }
  }

  #isReplayOver(replay: Derived, waiting: CommittedLedger): boolean {
    const { evidence } = this.#world
    const original = evidence.originalOf(replay.record)
    const fate = original?.fates.get(replay.place.binding.groupId)
    if (original === undefined || fate === undefined) return false
    if (fate.successes.size > 0 || maySkip(replay.place.binding, original, fate)) return true
    if (fate.deadLetters.some(({ replayCount }) => replayCount >= replay.replayCount)) return true
    if (fate.replays.some((count) => count > replay.replayCount)) return true
    // Of two with the same count one is a duplicate.
    if (fate.replays.filter((count) => count === replay.replayCount).length > 1) return true
    return fate.hops.some(
      ({ replayCount, record }) => replayCount >= replay.replayCount && !isSettledIn(waiting, record.offset),
    )
  }

  #checkOrder(commit: AcceptedCommit, offset: bigint, name: string, state: CommittedState | undefined): void {
    const { court } = this.#world
    const { memberId, generationId } = commit
    const last = this.#last.get(name)
    this.#last.set(name, { offset, memberId, generationId, state })
    if (last === undefined) return
    if (last.memberId !== memberId && (last.state?.source.above.size ?? 0) > 0)
      court.reach('commit: a new owner begins with offsets settled above it')
    if (last.memberId !== memberId && (last.state?.waiting?.waitingNow ?? 0) > 0)
      court.reach('waiting: a new owner finds records that wait')
    if (offset >= last.offset) return
    const isSameOwner = memberId === last.memberId && generationId === last.generationId
    if (isSameOwner) court.reach('commit: a late one moves an offset back')
    else court.violate('I2', `${memberId} moves ${name} back from ${last.offset} of ${last.memberId} to ${offset}`)
  }

  #noteOwner({ groupId, memberId }: AcceptedCommit, { kind }: Place, { topic, partition, end }: TopicLog): void {
    const last = this.last(groupId, topic, partition)
    if (kind === 'TIER' && last !== undefined && last.memberId !== memberId && last.offset < end)
      this.#world.court.reach('tier: a record waits in it through a change of owner')
  }

  #checkOwner({ groupId, memberId, offsets }: AcceptedCommit): void {
    const { court, cluster } = this.#world
    for (const other of cluster.group(groupId).members) {
      if (other.memberId === memberId || other.assignment.length === 0) continue
      for (const { topic, partitions } of decodeAssignment(other.assignment))
        for (const taken of offsets)
          if (taken.topic === topic && partitions.includes(taken.partition))
            court.violate('I3', `${memberId} commits ${topic}-${taken.partition}, which ${other.memberId} was given`)
    }
  }
}

/** Whether a retry record comes after another of the same original. */
function isLater(hop: Derived, than: Derived): boolean {
  return hop.tier > than.tier || (hop.tier === than.tier && hop.attempt > than.attempt)
}
