/**
 * Checks every commit at the moment when the cluster accepts it.
 *
 * I1: every offset that it declares settled is settled, by the journal of handlers and by the logs. I2: it does not
 * move back, except for a late commit of the same owner, and does not pass the end. I3: the partition has no newer
 * owner. I20: the sums of the audit hold, and every count has records behind it.
 */

import { decodeAssignment } from '@waybill/kafka/wire'
import type { AcceptedCommit, CommittedOffset } from '@waybill/sim/internal'
import type { BindingPlan } from './binding-plan.ts'
import { type CommittedLedger, type CommittedState, imbalanceOf, isSettledIn, readState } from './committed-state.ts'
import { type Derived, type Evidence, type Fate, maySkip, placeName } from './evidence.ts'
import type { Ground } from './ground.ts'
import { overtakenIn } from './key-prefix.ts'
import type { MarkChecker } from './mark-checker.ts'
import type { MoveChecker } from './move-checker.ts'
import { isKeyed, type Place, placesOf, waitingTopicOf } from './places.ts'
import { sourceTopic } from './source-topic.ts'
import type { LogRecord, TopicLog } from './topic-log.ts'

/** The last commit of a group for a partition. */
export interface LastCommit {
  readonly offset: bigint
  readonly memberId: string
  readonly generationId: number
  readonly state: CommittedState | undefined
}

/** The ways in which a record can be settled. */
interface Ways {
  readonly ok: boolean
  readonly retried: boolean
  readonly dead: boolean
  readonly skipped: boolean
  /** It is no longer in the log, or the group never was to see it. */
  readonly hole: boolean
}

const allWays = ['ok', 'retried', 'dead', 'skipped', 'hole'] as const
const everyWay: Ways = { ok: true, retried: true, dead: true, skipped: true, hole: true }

/** Offsets set by hand carry no evidence. */
const operatorName = 'operator'

/** Copies that operators, fences and handlers add to a waiting topic while its lowest copy is in flight. */
const spanSlack = 30

/** Dependencies of the checker. */
type Known = Ground & {
  readonly evidence: Evidence
  readonly moves: MoveChecker
  readonly marks: Pick<MarkChecker, 'mayPassOver' | 'mayBeDone'>
  now(): number
}

/** See the file's comment. */
export class CommitChecker {
  readonly #world: Known
  readonly #places = new Map<string, Place>()
  readonly #last = new Map<string, LastCommit>()
  readonly #highest = new Map<string, bigint>()
  /** What was highest before each move by an operator. */
  readonly #highestBefore = new Map<string, { readonly movedAt: number; readonly highest: bigint | undefined }[]>()
  /**
   * Partitions for which a commit of a former log was accepted: what the group has seen can no longer be determined.
   */
  readonly #spoilt = new Set<string>()
  /** Where counting began: initially, and currently. */
  readonly #began = new Map<string, { readonly first: bigint; readonly now: bigint }>()

  constructor(world: Known) {
    this.#world = world
    for (const binding of world.program.bindings)
      for (const place of placesOf(binding)) this.#places.set(`${place.groupId} ${place.topic}`, place)
  }

  last(groupId: string, topic: string, partition: number): LastCommit | undefined {
    return this.#last.get(`${groupId} ${topic}-${partition}`)
  }

  /**
   * Returns the highest offset that was accepted for a record's partition; without one, the start of the log. An operator
   * moves a group without members: an owner since before that was expelled, and knows only what was accepted by then.
   *
   * @param ownedSince - when its partition was assigned
   */
  highest(
    binding: BindingPlan,
    { topic, partition }: { readonly topic: string; readonly partition: number },
    ownedSince: number,
  ): bigint {
    const place = placesOf(binding).find((one) => one.topic === topic)
    const name = `${place?.groupId} ${topic}-${partition}`
    const later = this.#highestBefore.get(name)?.find(({ movedAt }) => movedAt > ownedSince)
    const highest = later === undefined ? this.#highest.get(name) : later.highest
    return highest ?? this.#world.losses.startOf(topic, partition)
  }

  /** Returns true when a partition can no longer be checked. */
  isSpoilt(groupId: string, topic: string, partition: number): boolean {
    return this.#spoilt.has(`${groupId} ${topic}-${partition}`)
  }

  /** Resets the state for a source that was replaced by another log: no earlier commit counts. */
  sourceReplaced(): void {
    for (const known of [this.#last, this.#highest, this.#highestBefore, this.#began])
      for (const name of known.keys()) if (name.includes(` ${sourceTopic}-`)) known.delete(name)
  }

  /** Returns true when a group needs no outcome for a record: it began behind it, or was notified of its loss. */
  isExcused(groupId: string, { topic, partition, offset }: Pick<LogRecord, 'topic' | 'partition' | 'offset'>): boolean {
    const { losses, logCuts } = this.#world
    if (this.isSpoilt(groupId, topic, partition)) return true
    // Before its first commit a group begins at the start of the log.
    const first = this.#began.get(`${groupId} ${topic}-${partition}`)?.first ?? losses.startOf(topic, partition)
    const isSettledBefore = logCuts.hasOutlived(groupId, { topic, partition, offset })
    return offset < first || isSettledBefore || losses.isReported(groupId, topic, partition, offset)
  }

  /** Returns true when the record at a place has a known outcome. */
  hasOutcome(place: Place, record: LogRecord): boolean {
    const last = this.last(place.groupId, record.topic, record.partition)
    const ways = this.#ways(place, record, last?.state)
    return allWays.some((way) => ways[way]) || this.#isCopied(place, record)
  }

  /**
   * Returns true when the record left the source for the waiting topic, even before a commit that says so is accepted.
   */
  #isCopied({ kind, binding }: Place, record: LogRecord): boolean {
    if (kind !== 'SOURCE' || !isKeyed(binding)) return false
    return (this.#world.evidence.originalIn(record)?.fates.get(binding.groupId)?.hops.length ?? 0) > 0
  }

  accepted(commit: AcceptedCommit): void {
    const { court, evidence, runtime } = this.#world
    if (commit.client === operatorName) return
    this.#world.discover()
    evidence.update()
    this.#checkOwner(commit)
    for (const offset of commit.offsets) {
      const place = this.#places.get(`${commit.groupId} ${offset.topic}`)
      if (place === undefined || this.#isSpoiltBy(commit, offset) || this.#isOfCutLog(commit, offset, place)) continue
      court.note(
        'cluster',
        () => `accepts ${placeName(offset)} of ${commit.groupId} from ${commit.client}: ${offset.metadata}`,
      )
      runtime.note(placeName(offset))
      this.#check(commit, offset, place)
    }
  }

  /** Detects a commit for a deleted topic: a broker knows topics by name, and applies it to the current one. */
  #isSpoiltBy({ client, groupId }: AcceptedCommit, offset: CommittedOffset): boolean {
    const { court } = this.#world
    const name = `${groupId} ${offset.topic}-${offset.partition}`
    if (this.#world.isUnaware(client, groupId, offset)) {
      court.note('cluster', () => `accepts ${placeName(offset)} of ${groupId} from ${client}, of a deleted log`)
      court.reach('commit: one of a deleted log is accepted')
      this.#spoilt.add(name)
    }
    return this.#spoilt.has(name)
  }

  /**
   * Detects a commit of an owner that has not been notified that its log was cut: it may describe records that are gone. It is
   * the group's position all the same.
   */
  #isOfCutLog(
    { client, groupId, memberId, generationId }: AcceptedCommit,
    offset: CommittedOffset,
    place: Place,
  ): boolean {
    const { court } = this.#world
    if (place.kind !== 'SOURCE' || memberId === '') return false
    const { logCuts } = this.#world
    const state = readState(offset.offset, offset.metadata)
    if (!this.#world.isUnawareOfCut(client, groupId, offset) && !this.#isLate(groupId, offset, state)) {
      logCuts.committed(groupId, offset, this.#world.now())
      if (this.#world.beginsAnew(client, groupId, offset)) court.reach('log: an owner is notified of a cut')
      return false
    }
    logCuts.outlived(groupId, offset, state)
    court.note('cluster', () => `accepts ${placeName(offset)} of ${groupId} from ${client}, before it knows of a cut`)
    court.reach('log: a commit from before a cut is accepted')
    const name = `${groupId} ${offset.topic}-${offset.partition}`
    if ((this.#highest.get(name) ?? 0n) < offset.offset) this.#highest.set(name, offset.offset)
    this.#last.set(name, {
      offset: offset.offset,
      memberId,
      generationId,
      state,
    })
    return true
  }

  /**
   * Returns true for a commit that was on its way when its owner was notified of the cut: it counts on from the one before,
   * or from where an earlier cut left the log longer.
   */
  #isLate(groupId: string, { topic, partition, offset }: CommittedOffset, state: CommittedState | undefined): boolean {
    const { logCuts } = this.#world
    const cut = logCuts.of({ topic, partition })
    const least = logCuts.leastSinceCommit(groupId, { topic, partition })
    if (cut === undefined || least === undefined) return false
    const before = this.last(groupId, topic, partition)?.state
    const reachesBeyond = offset > least || [...(state?.source.above ?? [])].some((above) => above >= least)
    const since = state?.source.since
    const countsOn = before === undefined || before.source.since === since || (since !== undefined && since > cut.end)
    return reachesBeyond && countsOn
  }

  #check(commit: AcceptedCommit, committed: CommittedOffset, place: Place): void {
    const { court } = this.#world
    const { topic, partition, offset, metadata } = committed
    const name = `${commit.groupId} ${topic}-${partition}`
    const log = this.#world.log(topic, partition) as TopicLog
    if (offset > log.end) court.violate('I2', `${name} is committed up to ${offset}, behind its end`)
    const state = place.kind === 'WAITING' ? undefined : readState(offset, metadata)
    if (commit.memberId === '') return this.#moved(commit, name, place, log, state)
    this.#noteOwner(commit, place, log)
    this.#checkOrder(commit, committed, name, state)
    if ((this.#highest.get(name) ?? 0n) < offset) this.#highest.set(name, offset)
    if (place.kind === 'WAITING') return
    if (state === undefined) return court.violate('I20', `${name} is committed with ${JSON.stringify(metadata)}`)
    const imbalance = imbalanceOf(state)
    if (imbalance !== undefined) court.violate('I20', `${name} at ${offset}: ${imbalance} (${metadata})`)
    this.#checkBeginning(name, place, log, state.source.since)
    this.#checkCounts(name, log, state.source, (record) => this.#ways(place, record, state))
    if (state.waiting === undefined) return
    this.#checkWaiting(place, name, partition, state.waiting)
    const isGone = (record: LogRecord): boolean =>
      this.isExcused(place.groupId, record) || this.#world.moves.passedOver.has(place, record)
    const overtaken = overtakenIn(log, state.source, this.#world.evidence, isGone)
    if (overtaken !== undefined) court.violate('I7', `${name} is committed at ${offset}: ${overtaken}`)
  }

  /** Records an offset that an operator sets from outside the group: knowledge of the partition restarts there. */
  #moved(commit: AcceptedCommit, name: string, place: Place, log: TopicLog, after: CommittedState | undefined): void {
    const { court, moves } = this.#world
    const imbalance = after === undefined ? 'it says nothing of what is settled' : imbalanceOf(after)
    if (after === undefined || imbalance !== undefined) return court.violate('I20', `${name} is moved: ${imbalance}`)
    const last = this.#last.get(name)
    // With ERROR the offset of a source is set by hand at the start; a tier has none before its first commit.
    const isSetByHand = place.kind === 'SOURCE' && place.binding.options.startFrom === 'ERROR'
    const isCommitted = last !== undefined || isSetByHand
    moves.accepted({ commit, name, place, log, before: last?.state, isCommitted, after })
    const { position, since } = after.source
    this.#last.set(name, { offset: position, memberId: '', generationId: commit.generationId, state: after })
    const before = { movedAt: this.#world.now(), highest: this.#highest.get(name) }
    this.#highestBefore.set(name, [...(this.#highestBefore.get(name) ?? []), before])
    this.#highest.set(name, position)
    const first = this.#began.get(name)?.first ?? since
    this.#began.set(name, { first: first < since ? first : since, now: since })
  }

  /**
   * Checks that counting begins at the start of the log, unless the group began elsewhere or had to continue
   * elsewhere.
   */
  #checkBeginning(name: string, { kind, groupId, binding }: Place, log: TopicLog, since: bigint): void {
    const { court, losses } = this.#world
    const { topic, partition } = log
    const began = this.#began.get(name)
    if (began?.now === since) return
    this.#began.set(name, { first: began?.first ?? since, now: since })
    if (since > 0n && began === undefined) court.reach('commit: a group begins behind the first record')
    // A log that was cut is counted anew from where it is read again.
    const isCut = since <= (this.#world.logCuts.of(log)?.end ?? -1n)
    const isExpected =
      began === undefined
        ? since <= losses.startOf(topic, partition) || (kind === 'SOURCE' && binding.options.startFrom === 'LATEST')
        : losses.continuesAt(groupId, topic, partition, since)
    if (!isExpected && !isCut) court.violate('I20', `${name} forgets what was counted before ${since}`)
  }

  /** Checks that every settled record is settled in one way, and that no way is counted more often than it occurred. */
  #checkCounts(name: string, log: TopicLog, ledger: CommittedLedger, waysOf: (record: LogRecord) => Ways): void {
    const { court } = this.#world
    const most = { ok: 0, retried: 0, dead: 0, skipped: 0, hole: 0 }
    for (const record of log.records) {
      if (record.offset < ledger.since || !isSettledIn(ledger, record.offset)) continue
      const ways = waysOf(record)
      let isSettled = false
      for (const way of allWays)
        if (ways[way]) {
          most[way]++
          isSettled = true
        }
      if (!isSettled)
        return court.violate('I1', `${name} is committed up to ${ledger.position}, but ${record.place} is not settled`)
    }
    if (ledger.above.size > 0) court.reach('commit: offsets above it are settled')
    if (ledger.holes > 0) court.reach('commit: records that were deleted before they were read are counted')
    const counts = { ...ledger, hole: ledger.holes }
    for (const way of allWays)
      if (counts[way] > most[way])
        court.violate('I20', `${name} counts ${counts[way]} ${way}, and there are at most ${most[way]}`)
  }

  #ways(place: Place, record: LogRecord, state: CommittedState | undefined): Ways {
    const { evidence, marks, logCuts } = this.#world
    const { binding } = place
    // Its outcome is that of a record that is gone.
    if (logCuts.hasOutlived(place.groupId, record)) return everyWay
    const original = place.kind === 'SOURCE' ? evidence.originalIn(record) : evidence.originalOf(record)
    const fate = original?.fates.get(binding.groupId)
    const hole = this.isExcused(place.groupId, record)
    if (original === undefined || fate === undefined)
      return { ok: false, retried: false, dead: false, skipped: place.kind === 'TIER', hole }
    const derived = evidence.derivedAt(record.place)
    const replayCount = derived?.replayCount ?? 0
    const { passedOver } = this.#world.moves
    const isSkipped = maySkip(binding, original, fate) || marks.mayPassOver(binding, original, replayCount)
    const isDone = marks.mayBeDone(binding, original, replayCount)
    const earlier = passedOver.earlierLifeOf(place, record)
    const hops = fate.hops.slice(earlier.hops)
    return {
      ok: isDone && (fate.successes.get(record.place) ?? 0) > earlier.successes,
      retried: isKeyed(binding)
        ? this.#isKept({ ...fate, hops }, state, record, isSkipped)
        : hops.some((hop) => derived === undefined || isLater(hop, derived)),
      dead: fate.deadLetters.length > earlier.deadLetters,
      skipped: isSkipped || passedOver.has(place, record),
      hole,
    }
  }

  /**
   * Returns true when a record that left the source for the waiting topic succeeded there, died, or is still there
   * unsettled.
   */
  #isKept(fate: Fate, state: CommittedState | undefined, record: LogRecord, isOver: boolean): boolean {
    const waiting = state?.waiting
    const waited = fate.hops.some(({ record: copy }) => copy.partition === record.partition)
    if (!waited || waiting === undefined) return false
    if (isOver || fate.successes.size > 0 || fate.deadLetters.length > 0) return true
    return fate.hops.some(
      ({ waitingKind, record: copy }) => waitingKind === 'HELD' && !isSettledIn(waiting, copy.offset),
    )
  }

  #checkWaiting(
    place: Place,
    source: string,
    partition: number,
    waiting: NonNullable<CommittedState['waiting']>,
  ): void {
    const { court, evidence, moves } = this.#world
    const topic = waitingTopicOf(place.source, place.binding)
    const log = this.#world.log(topic, partition)
    const name = `${topic}-${partition}`
    if (log === undefined || waiting.position > log.end)
      return court.violate('I2', `${name} is settled up to ${waiting.position}, behind its end`)
    this.#checkSpan(place, name, waiting)
    if (waiting.since !== moves.waitingSince(source))
      court.violate('I20', `${name} forgets what was counted before ${waiting.since}`)
    if (waiting.holes > 0) court.violate('I20', `${name} counts ${waiting.holes} holes, and there is none`)
    for (const record of log.records) {
      if (!isSettledIn(waiting, record.offset)) continue
      const derived = evidence.derivedAt(record.place)
      if (derived?.waitingKind === 'REPLAY' && !this.#isReplayOver(derived, waiting))
        court.violate(
          'I1',
          `${name} is settled up to ${waiting.position}, but the replay at ${record.offset} is not over`,
        )
    }
  }

  /** I17: the state in a commit does not grow with the waiting topic. */
  #checkSpan({ binding }: Place, name: string, { position, above }: CommittedLedger): void {
    const { keyOrder: { maxWaitingRecords = 1_000 } = {}, maxAhead = 1_000 } = binding.options
    // The lowest copy is written again when it is due, and copies in flight by then precede it.
    const most = 3 * (maxWaitingRecords + maxAhead) + spanSlack
    const highest = [...above].at(-1) ?? position
    if (Number(highest - position) > most)
      this.#world.court.violate(
        'I17',
        `${name} is tracked from ${position} to ${highest}, and ${most} offsets are allowed`,
      )
  }

  #isReplayOver(replay: Derived, waiting: CommittedLedger): boolean {
    const { evidence, marks } = this.#world
    const original = evidence.originalOf(replay.record)
    const fate = original?.fates.get(replay.place.binding.groupId)
    if (original === undefined || fate === undefined) return false
    if (fate.successes.size > 0 || maySkip(replay.place.binding, original, fate)) return true
    if (marks.mayPassOver(replay.place.binding, original, replay.replayCount)) return true
    if (fate.deadLetters.some(({ replayCount }) => replayCount >= replay.replayCount)) return true
    if (fate.replays.some((count) => count > replay.replayCount)) return true
    // Of several with the same count, all but one are duplicates.
    const log = this.#world.log(replay.record.topic, replay.record.partition) as TopicLog
    for (const record of log.records) {
      const other = evidence.derivedAt(record.place)
      if (other?.waitingKind !== 'REPLAY' || other.replayCount !== replay.replayCount) continue
      if (evidence.originalOf(record) === original && !isSettledIn(waiting, record.offset)) return true
    }
    return fate.hops.some(
      ({ replayCount, record }) => replayCount >= replay.replayCount && !isSettledIn(waiting, record.offset),
    )
  }

  #checkOrder(
    commit: AcceptedCommit,
    committed: CommittedOffset,
    name: string,
    state: CommittedState | undefined,
  ): void {
    const { court } = this.#world
    const { memberId, generationId, client, groupId } = commit
    const { offset } = committed
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
    // A member that discovers another log after it read the commit cannot tell which log the commit refers to.
    else if (this.#world.beginsAnew(client, groupId, committed))
      court.note('cluster', () => `lets ${client} begin ${name} anew`)
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
            court.violate(
              'I3',
              `${memberId} commits ${topic}-${taken.partition}, which is assigned to ${other.memberId}`,
            )
    }
  }
}

/** Returns true when a retry record comes after another of the same original. */
function isLater(hop: Derived, than: Derived): boolean {
  return hop.tier > than.tier || (hop.tier === than.tier && hop.attempt > than.attempt)
}
